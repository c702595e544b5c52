//===- published.h - Rows of published training measurements ----------------===//
//
// Reads a CSV with the columns of test/data/published/measured_training.csv and
// turns a row into what the cost model takes.  What a row does not state gets a
// named default, or the row is left out with the reason.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/machine.h"
#include "compiler/cost/model_shape.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::calibrate {

struct Published {
  size_t line = 0;                               ///< in the file, the heading is 1
  std::string source;                            ///< as printed in the file
  std::string family;                            ///< short name, one per publisher and kind: "bloom"
  std::string name;                              ///< of the model
  std::string device, stack, attention, cluster; ///< names of records of constants
  std::string memoryStack;                       ///< likewise
  std::string group; ///< rows of one ranking: source, model, device, count, batch, precision
  cost::ModelShape model;
  cost::Workload work;
  cost::Tactics tactics;
  cost::Machine machine;
  double seconds = 0;
  double peakBytes = 0;        ///< most memory that a device used, as printed; 0: not printed
  bool outOfMemory = false;    ///< did not run for want of memory
  bool recomputeStated = true; ///< else `tactics` recomputes nothing by default
  bool fineTuning = false;
  std::vector<std::string> defaults; ///< names of the defaults that were used
  std::string unmapped;              ///< why not; "" if mapped
};

struct Table {
  std::vector<Published> rows;
  std::string error; ///< "" or what is wrong with the file
};

/// Of the file's text.
Table readPublished(std::string_view text);

/// What each named default stands for.
const std::map<std::string, std::string> &defaultsExplained();

} // namespace hocket::calibrate
