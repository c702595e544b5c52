//===- search.h - The best strategy, and the proof that it is ---------------===//
//
// Branch and bound over meshes in the order of their lower bounds.  The answer
// is the least cost of the whole space: a mesh is left out only when its bound
// exceeds what was found.  A budget counts evaluations, never seconds, so that
// the same inputs give the same answer on any machine; when it runs out the
// certificate says how far from optimal the answer can be.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/planner/space.h"

#include <optional>

namespace hocket::planner {

struct Evaluation {
  double seconds = 0; ///< what is minimised
  double bytes = 0;   ///< of the fullest device
  bool fits = false;
};

/// The cost model as the search sees it.
class Evaluator {
public:
  virtual ~Evaluator() = default;
  virtual Evaluation evaluate(const cost::Tactics &tactics) const = 0;
  /// At most the seconds of every completion of a mesh.
  virtual double bound(const cost::Tactics &mesh) const = 0;
};

struct Candidate {
  cost::Tactics tactics;
  Evaluation evaluation;
};

/// How good the best is, and how that is known.
struct Certificate {
  double bound = 0; ///< no strategy of the space takes less
  double gap = 0;   ///< best / bound - 1; 0 when the search was complete
  bool complete = true;
  int64_t meshes = 0;    ///< nodes of the tree
  int64_t bounded = 0;   ///< of these, left out by their bound
  int64_t evaluated = 0; ///< strategies whose time and memory were computed
};

struct Answer {
  std::optional<Candidate> best;
  /// Of other meshes, by cost, each the best of its mesh.
  std::vector<Candidate> others;
  /// Of least bytes, when nothing fits.
  std::optional<Candidate> closest;
  Certificate certificate;
};

struct Limits {
  size_t others = 3;
  int64_t evaluations = int64_t(1) << 40;
  /// Candidates that the user's requirements leave; null: all.
  std::function<bool(const cost::Tactics &)> allowed;
};

/// Of equal costs the candidate that `meshes` and `completions` name first wins.
Answer search(const Problem &problem, const Space &space, const Evaluator &evaluator,
              const Limits &limits = {});

} // namespace hocket::planner
