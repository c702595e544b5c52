//===- training.h - The run itself, from a verified plan to a result --------===//
#pragma once

#include "runtime/format/plan.h"
#include "tools/hocket-run/options.h"

namespace hocket::run {

struct Result {
  uint64_t steps = 0;
  double validationBefore = 0, validationAfter = 0; ///< nan: not evaluated
  double trainLoss = 0;                             ///< of the last step
  double medianStep = 0, tokensPerSecond = 0;       ///< over all steps but the first
  uint64_t arenaBytes = 0, peakResident = 0;
  int64_t residentBeside = 0;                          ///< peak resident minus resident arenas and the data
  bool counted = false;                                ///< whether allocations were counted
  uint64_t ourAllocations = 0, libraryAllocations = 0; ///< in all steps but the first
  bool saved = false;                                  ///< weights were written to --save
  int signal = 0;
};

/// Trains; progress and notes go to stderr.  Throws Error.
Result train(format::Plan plan, const Options &options);

/// The result on stdout, as text or JSON.
void print(const format::Plan &plan, const Options &options, const Result &result);

/// "12,345,678"
std::string grouped(uint64_t n);

} // namespace hocket::run
