//===- memory_fit.h - What stacks add to memory, from stated peaks ----------===//
//
// What an optimizer and a framework keep is counted from their sources; what
// contexts, communicators and the allocator take is fitted on printed peaks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/calibrate/evaluate.h"
#include "compiler/cost/step_memory.h"

namespace hocket::calibrate {

/// Records of memory constants by name of the stack.
struct MemoryRecords {
  std::map<std::string, cost::MemoryConstants> stack;
  std::map<std::string, double> spread; ///< per family of sources: standard deviation of log ratios

  /// With the scores that the row's attention kernel keeps.
  cost::MemoryConstants of(const Published &row) const;
};

/// Before any measurement: a record for every stack in `rows`.
MemoryRecords memoryPriors(const std::vector<Published> &rows);

/// Fitted on the rows with these indices, which state a peak.
MemoryRecords fitMemory(const std::vector<Published> &rows, const std::vector<size_t> &chosen);

/// Of the fullest pipeline position.
cost::MemoryVerdict predictMemory(const MemoryRecords &records, const Published &row);

/// Whether the row should run. One that does not say what it recomputes is judged with full recompute: it
/// could have.
cost::Fit verdictOf(const MemoryRecords &records, const Published &row);
double judgedBytes(const MemoryRecords &records, const Published &row); ///< what that is decided by

/// Rows that can be mapped and state a peak, fine-tuning apart, by family of sources.
Families withPeak(const std::vector<Published> &rows);

/// Errors of peaks; shares in percent.
struct MemorySummary {
  Summary errors;
  double asymmetric = 0; ///< within -5 % and +12 %
  double near = 0;       ///< within 15 %
};
MemorySummary memoryErrors(const std::vector<Published> &rows, const std::vector<size_t> &members,
                           const MemoryRecords &records);

/// Rows of a family that ran, and rows of it that ran out of memory, by what was predicted.
struct Verdicts {
  size_t ran = 0, falseAlarms = 0, ranAtLimit = 0; ///< false alarm: "too large", but ran
  size_t ranOver = 0;                              ///< predicted above the device's memory, by however little
  size_t outOfMemory = 0, found = 0, foundAtLimit = 0;
};
std::map<std::string, Verdicts> verdicts(const std::vector<Published> &rows, const MemoryRecords &records);

/// Constants from a tenth of each family under `seed`, at least three rows; errors on the others.
struct MemoryInSource {
  MemoryRecords records;
  std::map<std::string, MemorySummary> errors;
};
MemoryInSource memoryInSource(const std::vector<Published> &rows, uint64_t seed);

} // namespace hocket::calibrate
