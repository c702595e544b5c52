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
  // Experts lie on the replicas too; on as many of them as there are, if these are outermost.
  if (facts.problem.model.experts.count > 0) {
    key[6] = stride(Axis::Data);
    key[7] = stride(Axis::Data) < std::max(stride(Axis::Tensor), stride(Axis::Context)) ? t.data : 0;
  }
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
  bool first = set.times.empty();
  if (first)
    set.times.resize(experts.size() * 2 * kKinds * 2), set.known.resize(set.times.size());
  std::vector<ContextKind> kinds = contextKinds(facts.problem, space, mesh);
  std::vector<bool> sequence = sequenceParallel(space, mesh);
  std::array<LayerTime, 2> shared;
  std::array<LayerTime, kKinds> context;
  bool ready = false;
  Tactics t = mesh;
  for (auto [expert, tensor] : expertSizes(facts.problem, space, mesh)) {
    t.expert = expert, t.expertTensor = tensor, t.contextKind = ContextKind::Ring, t.sequenceParallel = false;
    // Experts are legal by the number of replicas, all else by what meshes of one key share.
    if (kinds.empty() || sequence.empty() ||
        set.known[slot(t) + (size_t(kinds.front()) * 2 + sequence.front())])
      continue;
    if (!ready) {
      for (bool sp : sequence)
        t.sequenceParallel = sp, shared[sp] = model.shared(t);
      for (ContextKind kind : kinds)
        t.contextKind = kind, context[size_t(kind)] = model.context(t);
      ready = true;
    }
    LayerTime routed = model.experts(t);
    for (ContextKind kind : kinds)
      for (bool sp : sequence) {
        t.contextKind = kind, t.sequenceParallel = sp;
        set.known[slot(t)] = true;
        LayerTime &time = set.times[slot(t)] = shared[sp];
        time.add(routed).add(context[size_t(kind)]);
        if (first)
          set.least = time, first = false;
        lessen(set.least, time);
      }
  }
}

StepEvaluator::StepEvaluator(const Facts &f, const Space &s)
    : facts(f), space(s), model(f.problem.model, f.problem.work, f.machine, f.constants) {
  const ModelShape &m = facts.problem.model;
  experts = {1};
  if (m.experts.count > 0)
    experts = divisors(m.experts.count);
  for (const Tactics &mesh : meshes(facts.problem, space)) {
    fill(table[key(mesh)], mesh);
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
      : of(of), set(of.table.at(of.key(mesh))), again(recomputes(of.facts.problem, of.space, mesh)),
        groups(planner::shardGroups(of.facts.problem, of.space, mesh).size()), states(of.stateSlots()),
        known(of.stateSlots()), works(again.size()) {}

  Evaluation enter(const Tactics &first, double most) override {
    layer = &set.times[of.slot(first)];
    for (Work &w : works)
      w.known = false;
    // The cheapest exchange of state.
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
    e.fits = true;
    e.seconds = of.model.step(first, of.model.stages(first, *layer), least).total * kRounding;
    if (e.seconds > most)
      return e;
    remember(first);
    // With what must be computed again or moved away to fit.
    double seconds = kNever, fewest = kNever;
    for (size_t r = 0; r < again.size(); ++r)
      for (double share : of.space.offloadActivations) {
        double here = leastBytes(r, share) * kRounding;
        lessen(fewest, here);
        if (here > of.facts.capacity())
          continue;
        t = first, t.recompute = again[r].recompute, t.recomputeLayers = again[r].layers;
        if (t.recompute == Recompute::None && share == 0)
          return e;
        lessen(seconds, of.model.step(t, work(t, r), least, share * works[r].kept).total * kRounding);
      }
    e.bytes = fewest;
    e.fits = seconds < kNever;
    if (e.fits)
      e.seconds = std::max(e.seconds, seconds);
    return e;
  }

  Evaluation evaluate(const Tactics &t) override {
    size_t r = recomputeSlot(t), s = zeroSlot(t);
    const StageWork &stages = work(t, r);
    Evaluation e;
    e.seconds = of.model.step(t, stages, state(t), t.offloadActivations * works[r].kept).total;
    double host = 0, here = 1 - t.offloadActivations;
    for (const Held &p : fullest) {
      const Bytes &a = p.activations[r], &b = p.state[s];
      double moments = t.offloadOptimizer ? b.moved : 0;
      e.bytes = std::max(e.bytes, p.always + (b.stays + b.moved - moments) + (a.stays + a.moved * here));
      host = std::max(host, moments + a.moved * t.offloadActivations);
    }
    e.fits = fit(of.facts, e.bytes, host);
    return e;
  }

private:
  struct Work {
    bool known = false;
    StageWork work;
    double kept = 0; ///< bytes of activations of a layer
  };
  /// What may be moved to the host's memory, and what may not.
  struct Bytes {
    double stays = 0, moved = 0;
  };
  /// Bytes of a position: of the state by zeroSlot, of activations by what is computed again.
  struct Held {
    double always = 0;
    std::array<Bytes, kZeros * 2> state;
    std::vector<Bytes> activations;
  };

  static size_t zeroSlot(const Tactics &t) { return size_t(t.zero) * 2 + (t.shardGroup > 0); }
  size_t recomputeSlot(const Tactics &t) const {
    size_t r = 0;
    while (again[r].recompute != t.recompute || again[r].layers != t.recomputeLayers)
      ++r;
    return r;
  }

  const StageWork &work(const Tactics &t, size_t r) {
    if (!works[r].known)
      works[r].known = true, works[r].work = of.model.stages(t, *layer);
    return works[r].work;
  }

  const StateTime &state(const Tactics &t) {
    size_t i = of.stateSlot(t);
    if (!known[i])
      states[i] = of.model.state(t), known[i] = true;
    return states[i];
  }

  /// The bytes of the positions.
  void remember(const Tactics &first) {
    const Problem &problem = of.facts.problem;
    LayerBytes bytes = layerBytes(problem.model, problem.work, first, of.facts.memory);
    const std::vector<Position> &kinds =
        of.positions.at({first.pipeline, first.chunks, int64_t(pipeline::isV(first.schedule))});
    fullest.resize(kinds.size());
    for (size_t k = 0; k < kinds.size(); ++k) {
      Position p = kinds[k];
      p.parameters = stageParameters(problem.model, first, p);
      auto memory = [&](const Tactics &t) {
        return stageMemory(problem.model, problem.work, t, of.facts.memory, p, bytes);
      };
      Held &held = fullest[k];
      Tactics t = first;
      for (size_t r = 0; r < again.size(); ++r) {
        t.recompute = again[r].recompute, t.recomputeLayers = again[r].layers;
        t.offloadActivations = 1;
        StageMemory away = memory(t);
        t.offloadActivations = 0;
        StageMemory m = memory(t);
        if (held.activations.size() <= r)
          held.activations.resize(again.size());
        held.activations[r] = {m.working + away.activations, m.activations - away.activations};
        held.always = m.logits + m.reserve;
        works[r].kept = keptBytes(problem.model, t, bytes);
      }
      t = first, t.offloadOptimizer = true;
      for (Zero zero : of.space.zero)
        for (size_t group = 0; group < groups; ++group) {
          t.zero = zero, t.shardGroup = group ? problem.devicesPerHost / first.tensor : 0;
          StageMemory m = memory(t);
          held.state[zeroSlot(t)] = {m.parameters + m.gradients + m.gathered + m.optimizer, m.host};
        }
    }
  }

  /// Under the least state: of ZeRO levels over all replicas, since a group holds more.
  double leastBytes(size_t r, double share) const {
    bool offload = std::find(of.space.offloadOptimizer.begin(), of.space.offloadOptimizer.end(), true) !=
                   of.space.offloadOptimizer.end();
    double most = 0;
    for (const Held &p : fullest) {
      double state = kNever;
      for (Zero zero : of.space.zero) {
        const Bytes &b = p.state[size_t(zero) * 2];
        lessen(state, b.stays + (offload ? 0 : b.moved));
      }
      most =
          std::max(most, p.always + state + (p.activations[r].stays + p.activations[r].moved * (1 - share)));
    }
    return most;
  }

  const StepEvaluator &of;
  const Layers &set;
  const LayerTime *layer = nullptr;
  std::vector<RecomputeChoice> again;
  size_t groups;
  std::vector<StateTime> states; ///< by stateSlot, where `known`
  std::vector<uint8_t> known;
  std::vector<Work> works; ///< by what is computed again
  std::vector<Held> fullest;
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
  if (problem.model.layers % (t.pipeline * t.chunks) && t.stageLayers.empty())
    out.tactics.stageLayers = evenStages(t, problem.model.layers);
  return out;
}

} // namespace hocket::planner
