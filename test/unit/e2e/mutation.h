//===- mutation.h - Changes of a compiled plan, and who notices them --------===//
//
// Takes a plan that holds, gives every deletion of a wait, collective, send or
// receive, and every exchange of two operations of one communicator, in all
// ranks of a class or in one of them; and judges a changed plan: `verify`
// refuses it, its numbers differ, or it is equivalent.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::test {

struct Mutation {
  enum Kind { None, DeleteWait, DeleteOperation, SwapOperations } kind = None;
  uint32_t cls = 0;
  uint32_t a = 0, b = 0; ///< instructions of the class
  int64_t rank = -1;     ///< the one rank that changes; -1: all ranks of the class
};

/// All mutations of a plan. Exchanges that change no address, peer or payload in any list are none.
std::vector<Mutation> mutationsOf(const format::Plan &plan);

/// "s0.F[12] all_reduce 'x' <-> s0.F[15] all_reduce 'y' in rank 2".
std::string describe(const format::Plan &plan, const Mutation &m);

/// Why nobody needs to notice the mutation; empty if somebody should.
std::string reasonOf(const format::Plan &plan, const Mutation &m);

format::Plan apply(const format::Plan &plan, const Mutation &m);

/// Gives `rank` a class of its own with the same program; its number.
uint32_t splitOff(format::Plan &plan, uint32_t rank);

/// What a run computed: metrics of two steps and of evaluations around them, and
/// every rank's parameters as they lie in its arena.
struct Outcome {
  std::map<std::string, std::vector<double>> metrics;
  std::vector<std::vector<double>> parameters; ///< by rank
  std::string error;                           ///< the run ended with this instead
};

/// Initialises by the seed, evaluates, trains two steps and evaluates; f64 plans.
Outcome outcomeOf(const format::Plan &plan, const std::string &text, double deadlineSeconds);

/// Largest |a - b| / max(1, |b|); infinite if one of them is not finite.
double difference(const Outcome &a, const Outcome &b);

enum class Verdict { Verify, Equality, Error, Equivalent };

/// Runs the changed plan only if `verify` finds it sound. (That a deleted instruction leaves a gap between
/// operands, which `verify` refuses too, would say nothing about synchronisation.)
Verdict judge(const format::Plan &mutant, const Outcome &expected, const std::string &text, std::string &why);

struct Counts {
  int total = 0, verify = 0, equality = 0, error = 0, equivalent = 0;
};

} // namespace hocket::test
