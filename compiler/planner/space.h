//===- space.h - Which strategies there are ---------------------------------===//
//
// Takes a model, a workload, devices and the values that each dimension may
// take; enumerates the legal strategies of every mesh in one fixed order.  A
// strategy that is not legal never becomes a candidate; `illegal` says why one
// is not, with the legal values.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/machine.h"
#include "compiler/cost/model_shape.h"
#include "compiler/cost/tactics.h"

#include <functional>
#include <string>

namespace hocket::planner {

struct Problem {
  cost::ModelShape model;
  cost::Workload work;
  int64_t devices = 1;
  int64_t devicesPerHost = 1;
};

/// Values that a search may choose, in the order in which equal costs are
/// decided.  Numbers left empty: every divisor that is legal.
struct Space {
  std::vector<int64_t> pipeline, data, context, tensor, expert, microBatch;
  std::vector<cost::ScheduleKind> schedules = {cost::ScheduleKind::OneFOneB};
  std::vector<int64_t> chunks = {1}; ///< of interleaved schedules
  std::vector<cost::Zero> zero = {cost::Zero::None};
  std::vector<cost::Recompute> recompute = {cost::Recompute::None};
  std::vector<bool> sequenceParallel = {false};
  std::vector<cost::ContextKind> contextKinds = {cost::ContextKind::Ring};
  std::vector<bool> offloadOptimizer = {false};
  std::vector<double> offloadActivations = {0}; ///< shares of the activations
  std::vector<cost::Precision> precision = {cost::Precision::F16};
  bool expertTensor = false; ///< experts may be sharded over tensor; else whole
  bool hybridShards = false; ///< shard groups of one host, beside all replicas
  bool gradientsF32 = true;
  /// How axes lie on the devices, outermost first.
  std::vector<std::array<cost::Axis, 4>> orders = {cost::Tactics().order};
  /// Layers counts of Recompute::Layers are these shares of a stage's layers.
  std::vector<double> recomputeShares = {0.25, 0.5, 0.75};

  /// What this compiler executes of a job of `precision`.
  static Space executable(cost::Precision precision);
  /// Everything that is priced.
  static Space whole(cost::Precision precision);
};

/// Why a strategy cannot be, and the nearest legal values; "" if it can.
std::string illegal(const Problem &problem, const cost::Tactics &tactics);

/// The mesh and the micro-batch: first choices, on which everything else hangs.
/// Only `pipeline`, `data`, `context`, `tensor`, `order`, `microBatch`, `precision` are set.
std::vector<cost::Tactics> meshes(const Problem &problem, const Space &space);

/// A schedule with its chunks.
struct ScheduleChoice {
  cost::ScheduleKind schedule;
  int64_t chunks;
};
/// Those that a mesh may have; with one stage all are the same, so one.
std::vector<ScheduleChoice> schedules(const Problem &problem, const Space &space, const cost::Tactics &mesh);
/// How parts of sequences may meet; with whole sequences one that says nothing.
std::vector<cost::ContextKind> contextKinds(const Problem &problem, const Space &space,
                                            const cost::Tactics &mesh);
/// The sizes of expert and expert-tensor groups.
std::vector<std::pair<int64_t, int64_t>> expertSizes(const Problem &problem, const Space &space,
                                                     const cost::Tactics &mesh);
/// Without sequence parallelism, with it, or both.
std::vector<bool> sequenceParallel(const Space &space, const cost::Tactics &mesh);

/// What is computed again, with the layers of a stage.
struct RecomputeChoice {
  cost::Recompute recompute;
  int64_t layers;
};
std::vector<RecomputeChoice> recomputes(const Problem &problem, const Space &space,
                                        const cost::Tactics &mesh);
/// Ranks that share one copy of the state, 0 for all.
std::vector<int64_t> shardGroups(const Problem &problem, const Space &space, const cost::Tactics &mesh);

/// Calls `visit` for every legal completion of a mesh, in order.  `visit`
/// returns whether to go on.  `enter`, if there is one, is called before those
/// that differ in zero, shardGroup, recompute and offload only, and returns
/// whether to visit them.
void completions(const Problem &problem, const Space &space, const cost::Tactics &mesh,
                 const std::function<bool(const cost::Tactics &)> &visit,
                 const std::function<bool(const cost::Tactics &)> &enter = {});

} // namespace hocket::planner
