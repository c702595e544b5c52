//===- plan.h - The whole question and the whole answer ---------------------===//
//
// The best strategy of a job on a machine, the best one that this compiler
// executes, what comes next, the proof; or why there is none: what is nearest,
// by how much each term is too large, and which requirements cannot hold
// together.  Deterministic: a budget counts evaluations, never seconds.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/planner/evaluate.h"
#include "compiler/planner/require.h"

namespace hocket::planner {

struct Question {
  Facts facts;
  Space space; ///< `Space::whole` or `Space::executable`, or parts of them
  std::vector<Requirement> requirements;
  /// Whether a mesh with its micro-batch may be taken, whatever else is chosen; null: all.
  std::function<bool(const cost::Tactics &)> mesh;
  size_t others = 3;
  int64_t evaluations = int64_t(1) << 40;
};

/// A strategy that does not fit, and why.
struct Nearest {
  Priced priced;
  double over = 0;     ///< bytes a device beyond what may be used; <= 0: only the host's memory is short
  double overHost = 0; ///< bytes of a host, likewise
};

struct Plan {
  /// Empty when nothing that the requirements leave fits.
  std::optional<Priced> best;
  /// Of what this compiler executes today; may be `best` itself.
  std::optional<Priced> executable;
  /// Of other meshes than `best`, by time, each the best of its mesh.
  std::vector<Priced> others;
  Certificate certificate; ///< of `best`

  /// When nothing fits: of what the requirements leave, the one that lacks least; empty when they
  /// leave nothing that is legal.
  std::optional<Nearest> nearest;
  /// Indices of requirements that cannot hold together, none of them superfluous; empty when
  /// nothing would fit without any.
  std::vector<size_t> conflict;
};

Plan plan(const Question &question);

/// What of a space this compiler executes, by the table of dimensions.
Space executed(const Space &space);

} // namespace hocket::planner
