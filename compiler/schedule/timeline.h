//===- timeline.h - Levels of transfers and slots on one timeline -----------===//
//
// Takes each stage's list of tasks and the values that flow between tasks;
// runs the lists once in whole units and gives start and finish of every task,
// the level of every transfer (= finish of its producer) and a slot for every
// buffer that several micro-batches share.  Every rank issues its transfers by
// (level, flow, micro), equal levels as one group, before the first task that
// starts at or after the level.  No schedule of lists can then deadlock, by
// induction on time: whatever has time t waits only for tasks that finish at or
// before t and for transfers of a level at or before t.  Plain C++: no MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hocket::schedule {

/// A task for one micro-batch, in one stage's list.
struct Item {
  std::string task;
  int64_t micro = 0;
  int64_t units = 1;
  bool together = false; ///< ends with a collective over all stages: they end at once
  int64_t start = -1, finish = -1;
};

/// A value that goes from a task to others, once per micro-batch, or, with
/// `last`, once: after the producer's last run, to the consumers' first.
struct Flow {
  std::string from, to; ///< homes: "send x", "recv x"
  unsigned fromStage = 0, toStage = 0;
  std::string producer;
  std::vector<std::string> consumers; ///< tasks of toStage; may be empty (a copy that later steps read)
  bool last = false;
  bool slotted = true; ///< whether the homes have slots
};

struct Transfer {
  unsigned flow;
  int64_t micro, level;
  int64_t sendSlot = 0, recvSlot = 0;
};

/// What one stage issues: a task (index into its list) or a group of transfers.
struct Issue {
  int64_t item = -1;
  int64_t level = 0;
  std::vector<unsigned> transfers; ///< indices into Timeline::transfers
};

struct Timeline {
  std::vector<std::vector<Item>> stages;
  std::vector<Transfer> transfers; ///< by (level, flow, micro)
  std::vector<std::vector<Issue>> issue;
  /// Slot of (stage, home, micro): "stash" and the slotted homes of flows.
  std::map<std::pair<unsigned, std::string>, std::map<int64_t, int64_t>> slots;
};

/// None if the lists and the flows wait for each other in a circle, or a list
/// lacks a producer.  `kept`: tasks (first, last) between which a micro-batch's
/// "stash" slot is busy.
std::optional<Timeline> simulate(std::vector<std::vector<Item>> stages, const std::vector<Flow> &flows,
                                 const std::string &keptFrom, const std::string &keptTo);

/// A busy stretch [begin, end) of a buffer.
struct Interval {
  int64_t begin, end;
};
/// Smallest free slot for each interval, taken in the order of (begin, index).
std::vector<int64_t> colour(const std::vector<Interval> &intervals);

} // namespace hocket::schedule
