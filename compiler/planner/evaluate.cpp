#include "compiler/planner/evaluate.h"
#include "compiler/input/legal.h"

#include <algorithm>
#include <limits>

namespace hocket::planner {

using namespace cost;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Sums of the same terms in another order differ in their last bits.
constexpr double kRounding = 1 - 1e-12;
constexpr size_t kKinds = 3, kZeros = 4;

void lessen(double &least, double value) { least = std::min(least, value); }
void lessen(Piece &least, const Piece &p) {
  lessen(least.products, p.products), lessen(least.attention, p.attention), lessen(least.traffic, p.traffic);
  lessen(least.tensor, p.tensor), lessen(least.host, p.host);
}
void lessen(LayerTime &least, const LayerTime &time) {
  lessen(least.work, time.work), lessen(least.forward, time.forward);
  lessen(least.head, time.head), lessen(least.embedding, time.embedding);
}

bool fit(const Facts &facts, double bytes, double host) {
  return bytes <= facts.capacity() && host <= facts.hostCapacity();
}

} // namespace

double Facts::capacity() const {
  return machine.device.memory > 0 ? machine.device.memory * (1 - headroom) : kNever;
}
double Facts::hostCapacity() const {
  return machine.hostMemory > 0 ? machine.hostMemory * (1 - headroom) / double(machine.devicesPerHost)
                                : kNever;
}

StepEvaluator::Key StepEvaluator::key(const Tactics &t) const {
  std::array<PlacedAxis, 4> axes = placed(t);
  auto stride = [&](Axis a) { return int64_t(axes[size_t(a)].stride); };
  Key key = {t.tensor,
             t.context,
             t.microBatch,
             int64_t(t.precision),
             t.tensor > 1 ? stride(Axis::Tensor) : 0,
             t.context > 1 ? stride(Axis::Context) : 0};
  // Experts lie on the replicas too.
  if (facts.problem.model.experts.count > 0)
    key[6] = stride(Axis::Data), key[7] = t.data;
  return key;
}

size_t StepEvaluator::slot(const Tactics &t) const {
  size_t expert = size_t(std::lower_bound(experts.begin(), experts.end(), t.expert) - experts.begin());
  return ((expert * 2 + (t.expertTensor > 1)) * kKinds + size_t(t.contextKind)) * 2 + t.sequenceParallel;
}

size_t StepEvaluator::stateSlot(const Tactics &t) const {
  size_t expert = size_t(std::lower_bound(experts.begin(), experts.end(), t.expert) - experts.begin());
  return ((expert * 2 + (t.expertTensor > 1)) * kZeros + size_t(t.zero)) * 2 + (t.shardGroup > 0);
}

void StepEvaluator::fill(Layers &set, const Tactics &mesh) const {
  set.times.resize(experts.size() * 2 * kKinds * 2);
  bool any = false;
  Tactics t = mesh;
  std::vector<ContextKind> kinds = contextKinds(facts.problem, space, mesh);
  std::vector<bool> sequence = sequenceParallel(space, mesh);
  for (auto [expert, tensor] : expertSizes(facts.problem, space, mesh))
    for (ContextKind kind : kinds)
      for (bool sp : sequence) {
        t.expert = expert, t.expertTensor = tensor, t.contextKind = kind, t.sequenceParallel = sp;
        LayerTime &time = set.times[slot(t)] = model.layer(t);
        if (!any)
          set.least = time;
        lessen(set.least, time), any = true;
      }
}

StepEvaluator::StepEvaluator(const Facts &f, const Space &s)
    : facts(f), space(s), model(f.problem.model, f.problem.work, f.machine, f.constants) {
  const ModelShape &m = facts.problem.model;
  experts = {1};
  if (m.experts.count > 0)
    experts = divisors(m.experts.count);
  for (const Tactics &mesh : meshes(facts.problem, space)) {
    auto [it, fresh] = table.try_emplace(key(mesh));
    if (fresh)
      fill(it->second, mesh);
    Tactics t = mesh;
    for (auto [schedule, chunks] : schedules(facts.problem, space, mesh)) {
      t.schedule = schedule, t.chunks = chunks;
      auto [at, unseen] = positions.try_emplace({t.pipeline, chunks, int64_t(pipeline::isV(schedule))});
      if (unseen)
        at->second = fullestPositions(m, t);
    }
  }
}

StepEvaluator::~StepEvaluator() = default;

double StepEvaluator::bound(const Tactics &mesh) const {
  const Layers &set = table.at(key(mesh));
  StateTime least;
  least.gradients = least.optimizer = kNever;
  Tactics t = mesh;
  for (auto [expert, tensor] : expertSizes(facts.problem, space, mesh)) {
    t.expert = expert, t.expertTensor = tensor;
    for (Zero zero : space.zero) {
      t.zero = zero;
      StateTime state = model.state(t);
      // A group of shards shares less and sums as much: only the update is as short as over all.
      lessen(least.gradients, space.hybridShards && zero != Zero::None ? 0 : state.gradients);
      lessen(least.optimizer, state.optimizer);
    }
  }
  t = mesh;
  for (bool sp : sequenceParallel(space, mesh))
    t.sequenceParallel |= sp;
  double bound = kNever;
  for (auto [schedule, chunks] : schedules(facts.problem, space, mesh)) {
    t.schedule = schedule, t.chunks = chunks;
    lessen(bound, model.step(t, model.stages(t, set.least), least).total);
  }
  return bound * kRounding;
}

//===----------------------------------------------------------------------===//
// One mesh
//===----------------------------------------------------------------------===//

class StepEvaluator::Mesh final : public MeshCost {
public:
  Mesh(const StepEvaluator &of, const Tactics &mesh)
      : of(of), set(of.table.at(of.key(mesh))), states(of.stateSlots()), known(of.stateSlots()) {}

  Evaluation enter(const Tactics &first) override {
    const ModelShape &m = of.facts.problem.model;
    layer = &set.times[of.slot(first)];
    bytes = layerBytes(m, of.facts.problem.work, first, of.facts.memory);
    works.clear();
    const std::vector<Position> &kinds =
        of.positions.at({first.pipeline, first.chunks, int64_t(pipeline::isV(first.schedule))});
    fullest.assign(kinds.begin(), kinds.end());
    for (Position &p : fullest)
      p.parameters = stageParameters(m, first, p);
    // Without recompute and offload, under the cheapest exchange of state.
    StateTime least;
    least.gradients = least.optimizer = kNever;
    Tactics t = first;
    for (Zero zero : of.space.zero) {
      t.zero = zero;
      const StateTime &s = state(t);
      lessen(least.gradients, of.space.hybridShards && zero != Zero::None ? 0 : s.gradients);
      lessen(least.optimizer, s.optimizer);
    }
    Evaluation e;
    e.seconds = of.model.step(first, work(first), least).total * kRounding;
    e.bytes = leastBytes(first) * kRounding;
    e.fits = e.bytes <= of.facts.capacity();
    return e;
  }

  Evaluation evaluate(const Tactics &t) override {
    double offloaded = t.offloadActivations;
    if (offloaded > 0)
      offloaded *= keptBytes(of.facts.problem.model, t, bytes);
    Evaluation e;
    e.seconds = of.model.step(t, work(t), state(t), offloaded).total;
    double host = 0;
    for (const Position &p : fullest) {
      StageMemory memory =
          stageMemory(of.facts.problem.model, of.facts.problem.work, t, of.facts.memory, p, bytes);
      e.bytes = std::max(e.bytes, memory.total());
      host = std::max(host, memory.host);
    }
    e.fits = fit(of.facts, e.bytes, host);
    return e;
  }

private:
  struct Work {
    Recompute recompute;
    int64_t layers;
    StageWork work;
  };
  const StageWork &work(const Tactics &t) {
    for (const Work &w : works)
      if (w.recompute == t.recompute && w.layers == t.recomputeLayers)
        return w.work;
    return works.emplace_back(t.recompute, t.recomputeLayers, of.model.stages(t, *layer)).work;
  }
  StageMemory memory(const Tactics &t, const Position &p) const {
    return stageMemory(of.facts.problem.model, of.facts.problem.work, t, of.facts.memory, p, bytes);
  }
  /// The least of each term of the fullest position: state over ZeRO levels, activations over what is
  /// computed again.  A group of shards holds more than all replicas do, layers that are computed again
  /// need as much for a moment as all of them.
  double leastBytes(Tactics t) const {
    const Space &space = of.space;
    double most = 0;
    bool optimizer = std::find(space.offloadOptimizer.begin(), space.offloadOptimizer.end(), true) !=
                     space.offloadOptimizer.end();
    double activations = 0;
    for (double share : space.offloadActivations)
      activations = std::max(activations, share);
    for (const Position &p : fullest) {
      t.recompute = Recompute::None, t.offloadOptimizer = optimizer, t.offloadActivations = activations;
      StageMemory least;
      least.parameters = least.gradients = least.optimizer = least.gathered = least.activations = kNever;
      for (Zero zero : space.zero) {
        t.zero = zero;
        StageMemory m = memory(t, p);
        lessen(least.parameters, m.parameters), lessen(least.gradients, m.gradients);
        lessen(least.optimizer, m.optimizer), lessen(least.gathered, m.gathered);
      }
      for (Recompute recompute : space.recompute) {
        t.recompute = recompute == Recompute::Layers ? Recompute::Full : recompute;
        StageMemory m = memory(t, p);
        lessen(least.activations, m.activations + m.working);
        least.logits = m.logits, least.reserve = m.reserve;
      }
      most = std::max(most, least.total());
    }
    return most;
  }
  const StateTime &state(const Tactics &t) {
    size_t i = of.stateSlot(t);
    if (!known[i])
      states[i] = of.model.state(t), known[i] = true;
    return states[i];
  }

  const StepEvaluator &of;
  const Layers &set;
  const LayerTime *layer = nullptr;
  LayerBytes bytes;
  std::vector<Work> works;
  std::vector<Position> fullest;
  std::vector<StateTime> states;
  std::vector<uint8_t> known;
};

std::unique_ptr<MeshCost> StepEvaluator::open(const Tactics &mesh) const {
  return std::make_unique<Mesh>(*this, mesh);
}

Priced price(const Facts &facts, const Tactics &t) {
  const Problem &problem = facts.problem;
  StepModel model(problem.model, problem.work, facts.machine, facts.constants);
  LayerBytes bytes = layerBytes(problem.model, problem.work, t, facts.memory);
  Priced out;
  out.tactics = t;
  out.time = model.step(t, model.stages(t, model.layer(t)), model.state(t),
                        t.offloadActivations * keptBytes(problem.model, t, bytes));
  out.memory = fullest(problem.model, problem.work, t, facts.memory);
  for (int64_t k = 0; k < t.pipeline; ++k)
    out.host = std::max(out.host, stageMemory(problem.model, problem.work, t, facts.memory, k).host);
  out.fits = fit(facts, out.memory.memory.total(), out.host);
  return out;
}

} // namespace hocket::planner
