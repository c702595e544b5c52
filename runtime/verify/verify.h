//===- verify.h - Proof that a plan may run ---------------------------------===//
//
// Takes a plan of any content, gives what is wrong with it; nothing found means
// that running it cannot touch memory outside the arena, read what was never
// written, race, mismatch or wait for ever, as far as index and instructions
// say (native code is not looked into).  Independent of the compiler: only the
// plan's own fields are used.  Run at load and by `hocket verify`; a finding is
// exit 1.
//
// Work is done per class, never per rank; time is near-linear in the unrolled
// lists of all classes (limits below) plus the number of ranks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::verify {

struct Finding {
  std::string className;    ///< empty: the plan as a whole
  std::string templateName; ///< empty: the class as a whole
  int64_t instr = -1;       ///< number in the class, -1: none
  std::string instrName;    ///< "send 'x'"
  std::string problem;      ///< what was found
  std::string legal;        ///< what would be legal

  /// "class s0, template F, instruction 3 (send 'x'): PROBLEM; legal: LEGAL"
  std::string str() const;
};

/// At most this many findings are returned, and one for each cause and place.
inline constexpr size_t kMaxFindings = 50;
/// Beyond these a plan is refused, so that no file can keep the verifier busy.
inline constexpr uint64_t kMaxRanks = uint64_t(1) << 20;
inline constexpr uint64_t kMaxUnrolled = uint64_t(1)
                                         << 26; ///< instructions and operands, all lists of all classes
inline constexpr uint64_t kMaxPieces = uint64_t(1) << 26; ///< ranges between accesses' ends, times streams
inline constexpr uint64_t kMaxRangeVisits = uint64_t(1) << 30;
inline constexpr uint32_t kMaxStreams = 64, kMaxEvents = 1 << 20;
inline constexpr uint64_t kMaxArenaBytes = uint64_t(1) << 62;

std::vector<Finding> verify(const format::Plan &plan);

/// Without the last part, exact.cpp: only what makes a run dangerous.
std::vector<Finding> verifySound(const format::Plan &plan);

} // namespace hocket::verify
