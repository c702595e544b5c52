//===- collective_fit.h - Fabric constants from measured collectives --------===//
//
// Reads a CSV with the columns of test/data/published/measured_collectives.csv,
// turns a row into a group on a fabric, and fits the six constants of a fabric.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/collective.h"

#include <string>
#include <string_view>
#include <vector>

namespace hocket::calibrate {

struct CollectiveRow {
  size_t line = 0;    ///< in the file, the heading is 1
  std::string table;  ///< rows of one sweep: source, system, op, algorithm, members
  std::string fabric; ///< sweeps of one kind of machine and network
  cost::Collective op = cost::Collective::AllReduce;
  cost::Group group;
  uint32_t algorithms = cost::kNccl;
  double bytes = 0, seconds = 0;
  bool knownGpu = false, measured = false; ///< what coverage counts
  std::string unmapped;                    ///< why not; "" if mapped
};

struct CollectiveRows {
  std::vector<CollectiveRow> rows;
  std::string error; ///< "" or what is wrong with the file
};

CollectiveRows readCollectives(std::string_view text);

/// Least squares of log ratios under a robust loss, with a prior for every constant; deterministic.
cost::FabricConstants fitFabric(const std::vector<const CollectiveRow *> &rows);

inline double predict(const CollectiveRow &row, const cost::FabricConstants &constants) {
  return cost::collectiveSeconds(row.op, row.bytes, row.group, constants, row.algorithms);
}

/// Mean and worst |predicted / measured - 1| from 1 MiB and below it.
struct CollectiveError {
  int above = 0, below = 0;
  double meanAbove = 0, worstAbove = 0, meanBelow = 0, worstBelow = 0;
};
CollectiveError errorOf(const std::vector<const CollectiveRow *> &rows,
                        const cost::FabricConstants &constants);

/// Rows of a table in order of size: every fourth, and the others.
void splitSizes(std::vector<const CollectiveRow *> table, std::vector<const CollectiveRow *> &fitted,
                std::vector<const CollectiveRow *> &tested);

} // namespace hocket::calibrate
