//===- search.h - The best strategy, and the proof that it is ---------------===//
//
// Branch and bound over meshes in the order of their lower bounds, and within
// one over schedules and how axes are used.  The answer is the least cost of the
// whole space: a node is left out only when its bound exceeds what was found.  A budget counts evaluations,
// never seconds, so that the same inputs give the same answer on any machine; when it runs out the
// certificate says how far from optimal the answer can be.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/planner/dimensions.h"
#include "compiler/planner/space.h"

#include <memory>
#include <optional>

namespace hocket::planner {

struct Evaluation {
  double seconds = 0; ///< what is minimised
  double bytes = 0;   ///< of the fullest device
  bool fits = false;
};

/// The costs of one mesh's strategies.
class MeshCost {
public:
  virtual ~MeshCost() = default;
  /// Begins the strategies that differ in zero, shardGroup, recompute and offload only; `first` is
  /// one with none of these.  At most the seconds of each of them that fits.  Unless these are more
  /// than `most`: whether one may fit, and if not, at most the bytes of each.
  virtual Evaluation enter(const cost::Tactics &first, double most) = 0;
  /// Of one of those begun last.
  virtual Evaluation evaluate(const cost::Tactics &tactics) = 0;
};

/// The cost model as the search sees it.
class Evaluator {
public:
  virtual ~Evaluator() = default;
  /// At most the seconds of every completion of a mesh.
  virtual double bound(const cost::Tactics &mesh) const = 0;
  virtual std::unique_ptr<MeshCost> open(const cost::Tactics &mesh) const = 0;
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
  int64_t meshes = 0;    ///< first nodes of the tree
  int64_t bounded = 0;   ///< nodes left out by their bound, meshes and what they were opened into
  int64_t evaluated = 0; ///< strategies whose time and memory were computed
  uint64_t checksum = 0; ///< over the bits of all evaluations, in order
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
  /// Whether requirements leave what is decided so far; null: all.
  std::function<bool(const cost::Tactics &, Decided)> allowed;
  /// Stops at the first that fits.
  bool any = false;
};

/// Of equal costs the candidate that `meshes` and `completions` name first wins.
Answer search(const Problem &problem, const Space &space, const Evaluator &evaluator,
              const Limits &limits = {});

} // namespace hocket::planner
