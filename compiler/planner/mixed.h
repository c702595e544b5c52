//===- mixed.h - One pipeline over unlike devices ---------------------------===//
//
// Each pool of a mixed cluster holds a run of stages with its own tensor and
// data sizes, recompute and ZeRO level; every stage may hold another number of
// layers.  1F1B: with m micro-batches, passes of f_s seconds on stage s and g_s
// seconds to sum its gradients and update its weights, a step takes
//
//   sum f_s  +  max ((m - 1) f_s + g_s)  +  transfers
//
// Exact over the choices of `MixedSpace`: branch and bound over the pools'
// sizes by a fluid bound, then the best cut under every stage's memory.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/planner/evaluate.h"

namespace hocket::planner {

struct MixedPool {
  cost::Machine machine;
  cost::Constants constants;
  cost::MemoryConstants memory;
};

struct MixedProblem {
  cost::ModelShape model; ///< its layers count as equal
  cost::Workload work;
  std::vector<MixedPool> pools; ///< at most kMostPools
  double headroom = 0.06;
  /// bytes/s between two pools, all devices together; 0: what their own links carry.
  double between = 0;

  static constexpr size_t kMostPools = 4;
};

struct MixedSpace {
  std::vector<cost::Recompute> recompute = {cost::Recompute::None, cost::Recompute::Full};
  std::vector<cost::Zero> zero = {cost::Zero::None, cost::Zero::Optimizer};
  cost::Precision precision = cost::Precision::F16;
};

/// Stages of one pool.  `tactics.pipeline` of them, micro-batches of `tactics.microBatch`
/// sequences a replica, so that data * microBatch is the same for all segments.
struct Segment {
  size_t pool = 0;
  cost::Tactics tactics;
  std::vector<int64_t> layers; ///< of each stage, at least one
  double bytes = 0;            ///< of its fullest device
};

struct MixedPlan {
  std::vector<Segment> segments; ///< in the order of the layers
  double seconds = 0;
};

struct MixedAnswer {
  std::optional<MixedPlan> best;
  Certificate certificate; ///< nodes are sizes of pools; an evaluation is one cut
};

MixedAnswer searchMixed(const MixedProblem &problem, const MixedSpace &space,
                        int64_t evaluations = int64_t(1) << 40);

/// Seconds of a step, and each segment's bytes into it.  Nothing if a stage does not fit.
std::optional<double> priceMixed(const MixedProblem &problem, MixedPlan &plan);

} // namespace hocket::planner
