//===- tables.h - Who goes when: the order tables of a pipeline -------------===//
//
// Takes the name of a schedule that is executed, stages and micro-batches; gives
// each stage's list of (task, micro-batch), which is that of compiler/pipeline in
// the tasks of phase place.  Plain C++: no MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket::schedule {

struct Entry {
  char task; ///< 'F' or 'B'
  int64_t micro;
};
using Table = std::vector<Entry>; ///< of one stage

/// "gpipe": all F, then all B.  "1f1b": stage i runs min(micro, stages - 1 - i)
/// F ahead, then F and B in turn.  B always in micro-batch order, so that sums
/// over micro-batches are the same bits under both.  None for another name.
std::optional<std::vector<Table>> orderTables(const std::string &schedule, int64_t stages, int64_t micro);

} // namespace hocket::schedule
