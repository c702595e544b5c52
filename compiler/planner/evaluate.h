//===- evaluate.h - The cost model behind the search ------------------------===//
//
// Seconds by cost/step_time, bytes by cost/step_memory.  What a layer, a stage
// or sharded state takes hangs on a few choices each, so these are computed once
// and looked up: what is left for a strategy is a few dozen operations.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/step_memory.h"
#include "compiler/cost/step_time.h"
#include "compiler/planner/search.h"

#include <map>

namespace hocket::planner {

/// What strategies are judged by.
struct Facts {
  Problem problem; ///< its devices are the machine's
  cost::Machine machine;
  cost::Constants constants;
  cost::MemoryConstants memory;
  double headroom = 0.06; ///< of a device's memory, to be left free

  /// Bytes that a device may hold; without a known memory, any number.
  double capacity() const;
  /// Bytes of host memory that a device may hold, an equal part of its host's.
  double hostCapacity() const;
};

class StepEvaluator final : public Evaluator {
public:
  /// Of the meshes of `space`; nothing is computed twice for them.
  StepEvaluator(const Facts &facts, const Space &space);
  ~StepEvaluator() override;

  /// Products, attention, memory-bound work and collectives of the cheapest layer without recompute,
  /// each term the least over sequence parallelism, context kinds and experts; the least bubble of the
  /// schedules; the least exchange of state over ZeRO levels.  A step is a sum of products of
  /// non-negative terms, of which each is non-decreasing in these, so no completion takes less.
  double bound(const cost::Tactics &mesh) const override;
  std::unique_ptr<MeshCost> open(const cost::Tactics &mesh) const override;

private:
  class Mesh;
  /// Layer times of what uses the axes of a mesh in the same way: by sequence parallelism, context
  /// kind, expert and expert-tensor size; and the least of each term.
  struct Layers {
    std::vector<cost::LayerTime> times; ///< by slot, where `known`
    std::vector<uint8_t> known;
    cost::LayerTime least;
  };
  using Key = std::array<int64_t, 8>;
  Key key(const cost::Tactics &mesh) const;
  size_t slot(const cost::Tactics &first) const;
  void fill(Layers &set, const cost::Tactics &mesh) const;
  /// The index of a strategy's state among those of its mesh, and how many there are.
  size_t stateSlot(const cost::Tactics &tactics) const;
  size_t stateSlots() const { return experts.size() * 2 * 4 * 2; }

  Facts facts;
  Space space;
  cost::StepModel model;
  std::vector<int64_t> experts; ///< sizes, ascending
  std::map<Key, Layers> table;
  /// By pipeline, chunks and whether the schedule is a V.
  std::map<std::array<int64_t, 3>, std::vector<cost::Position>> positions;
};

/// Of one strategy, as `StepEvaluator` computes it, term by term.  Stages that cannot be even are
/// spelled out in its tactics.
struct Priced {
  cost::Tactics tactics;
  cost::StepTime time;
  cost::MemoryVerdict memory; ///< of the fullest position
  double host = 0;            ///< most bytes in host memory that belong to one device
  bool fits = false;
};
Priced price(const Facts &facts, const cost::Tactics &tactics);

} // namespace hocket::planner
