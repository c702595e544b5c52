#include "compiler/planner/space.h"
#include "compiler/input/legal.h"

#include <algorithm>

namespace hocket::planner {

using namespace cost;

namespace {

std::string divides(const char *what, int64_t n, const char *axis, int64_t k) {
  if (k > 0 && n % k == 0)
    return "";
  return std::to_string(n) + " " + what + " are not divisible by " + axis + "=" + std::to_string(k) +
         "; nearest legal: " + nearestDivisors(n, k);
}

/// `listed` where the user or the target gave values, else all of `legal`.
std::vector<int64_t> allowed(const std::vector<int64_t> &listed, const std::vector<int64_t> &legal) {
  if (listed.empty())
    return legal;
  std::vector<int64_t> out;
  for (int64_t v : listed)
    if (std::find(legal.begin(), legal.end(), v) != legal.end())
      out.push_back(v);
  return out;
}

/// Whether axes of one device aside two orders are one.
bool samePlaces(const Tactics &t, const std::array<Axis, 4> &other) {
  auto wide = [&](Axis a) {
    return (a == Axis::Pipeline  ? t.pipeline
            : a == Axis::Data    ? t.data
            : a == Axis::Context ? t.context
                                 : t.tensor) > 1;
  };
  size_t j = 0;
  for (Axis a : t.order) {
    if (!wide(a))
      continue;
    while (!wide(other[j]))
      ++j;
    if (other[j++] != a)
      return false;
  }
  return true;
}

} // namespace

Space Space::executable(Precision precision) {
  Space s;
  s.context = {1}, s.expert = {1};
  s.schedules = {ScheduleKind::OneFOneB, ScheduleKind::GPipe};
  s.precision = {precision};
  return s;
}

Space Space::whole(Precision precision) {
  Space s;
  s.schedules = {ScheduleKind::OneFOneB,  ScheduleKind::Interleaved, ScheduleKind::ZbH1,
                 ScheduleKind::ZbH2,      ScheduleKind::ZbV,         ScheduleKind::VHalf,
                 ScheduleKind::DualPipeV, ScheduleKind::GPipe};
  s.chunks = {2, 3, 4, 5, 6, 8, 10, 12};
  s.zero = {Zero::None, Zero::Optimizer, Zero::Gradients, Zero::Parameters};
  s.recompute = {Recompute::None, Recompute::Selective, Recompute::Layers, Recompute::Full};
  s.sequenceParallel = {false, true};
  s.contextKinds = {ContextKind::Ring, ContextKind::AllGather, ContextKind::Ulysses};
  s.offloadOptimizer = {false, true};
  s.offloadActivations = {0, 0.5, 1};
  s.orders.push_back({Axis::Data, Axis::Pipeline, Axis::Context, Axis::Tensor});
  s.precision = {precision};
  s.expertTensor = s.hybridShards = true;
  return s;
}

std::string illegal(const Problem &problem, const Tactics &t) {
  const ModelShape &m = problem.model;
  auto first = [](std::initializer_list<std::string> reasons) {
    for (const std::string &r : reasons)
      if (!r.empty())
        return r;
    return std::string();
  };
  int64_t kv = std::max<int64_t>(m.kvHeads, 1);
  // Key and value heads are held twice where tensor is a multiple of them.
  bool kvFits = kv % t.tensor == 0 || t.tensor % kv == 0;
  std::string reason = first(
      {divides("heads", m.heads, "tensor", t.tensor),
       kvFits ? "" : divides("key/value heads", kv, "tensor", t.tensor),
       divides("tokens of a sequence", problem.work.sequence, "context", t.context),
       t.contextKind == ContextKind::Ulysses && t.context > 1
           ? divides("heads of a tensor shard", std::max<int64_t>(1, m.heads / t.tensor), "context",
                     t.context)
           : "",
       divides("sequences of the batch", problem.work.globalBatch, "data", t.data),
       t.data > 0 && problem.work.globalBatch % t.data == 0
           ? divides("sequences of a replica", problem.work.globalBatch / t.data, "micro_batch", t.microBatch)
           : ""});
  if (!reason.empty())
    return reason;
  if (t.devices() > problem.devices)
    return "the mesh has " + std::to_string(t.devices()) + " devices; there are " +
           std::to_string(problem.devices);
  if (m.layers < t.pipeline * t.chunks)
    return std::to_string(m.layers) + " layers are fewer than " + std::to_string(t.pipeline * t.chunks) +
           " stages; at most pipeline=" + std::to_string(std::max<int64_t>(1, m.layers / t.chunks));
  if (m.experts.count == 0 && (t.expert > 1 || t.expertTensor > 1))
    return "the model has no experts";
  if (m.experts.count > 0) {
    reason = first({divides("experts", m.experts.count, "expert", t.expert),
                    divides("devices of a layer", t.data * t.context * t.tensor, "expert x expert_tensor",
                            t.expert * t.expertTensor)});
    if (!reason.empty())
      return reason;
  }
  if (t.sequenceParallel && t.tensor == 1)
    return "sequence parallelism shards over tensor, which is 1";
  if (t.shardGroup > 0)
    if (std::string r = divides("replicas", t.data * t.context, "shard_group", t.shardGroup); !r.empty())
      return r;
  int64_t micro = problem.work.globalBatch / (t.data * t.microBatch);
  return pipeline::illegal({t.schedule, t.pipeline, t.chunks, micro});
}

std::vector<Tactics> meshes(const Problem &problem, const Space &space) {
  const ModelShape &m = problem.model;
  std::vector<Tactics> out;
  for (Precision precision : space.precision)
    for (int64_t tensor : allowed(space.tensor, divisors(problem.devices)))
      for (int64_t context : allowed(space.context, divisors(problem.devices / tensor)))
        for (int64_t pipe : allowed(space.pipeline, divisors(problem.devices / tensor / context))) {
          Tactics t;
          t.precision = precision, t.gradientsF32 = space.gradientsF32;
          t.tensor = tensor, t.context = context, t.pipeline = pipe;
          t.data = problem.devices / tensor / context / pipe;
          if (pipe > m.layers || !allowed(space.data, {t.data}).size() || !illegal(problem, t).empty())
            continue;
          for (int64_t micro : allowed(space.microBatch, divisors(problem.work.globalBatch / t.data))) {
            t.microBatch = micro;
            for (size_t i = 0; i < space.orders.size(); ++i) {
              t.order = space.orders[i];
              bool seen = std::any_of(space.orders.begin(), space.orders.begin() + std::ptrdiff_t(i),
                                      [&](const auto &before) { return samePlaces(t, before); });
              if (!seen)
                out.push_back(t);
            }
          }
        }
  return out;
}

std::vector<ScheduleChoice> schedules(const Problem &problem, const Space &space, const Tactics &mesh) {
  std::vector<ScheduleChoice> out;
  if (mesh.pipeline == 1) {
    if (space.schedules.empty())
      return {};
    ScheduleKind first = space.schedules.front();
    bool plain = first == ScheduleKind::GPipe;
    return {{plain ? first : ScheduleKind::OneFOneB, 1}};
  }
  int64_t micros = problem.work.globalBatch / (mesh.data * mesh.microBatch);
  for (ScheduleKind schedule : space.schedules) {
    std::vector<int64_t> chunks = {pipeline::isV(schedule) ? 2 : 1};
    if (schedule == ScheduleKind::Interleaved)
      chunks = space.chunks;
    for (int64_t c : chunks)
      if (problem.model.layers >= mesh.pipeline * c &&
          pipeline::illegal({schedule, mesh.pipeline, c, micros}).empty())
        out.push_back({schedule, c});
  }
  return out;
}

std::vector<ContextKind> contextKinds(const Problem &problem, const Space &space, const Tactics &mesh) {
  if (mesh.context == 1)
    return {ContextKind::Ring};
  std::vector<ContextKind> out = space.contextKinds;
  if (std::max<int64_t>(1, problem.model.heads / mesh.tensor) % mesh.context)
    std::erase(out, ContextKind::Ulysses);
  return out;
}

std::vector<std::pair<int64_t, int64_t>> expertSizes(const Problem &problem, const Space &space,
                                                     const Tactics &mesh) {
  const ModelShape &m = problem.model;
  if (m.experts.count == 0)
    return {{1, 1}};
  std::vector<std::pair<int64_t, int64_t>> out;
  int64_t devices = mesh.data * mesh.context * mesh.tensor;
  for (int64_t expert : allowed(space.expert, divisors(m.experts.count)))
    for (int64_t tensor : {int64_t(1), mesh.tensor})
      if (devices % (expert * tensor) == 0 && (tensor == 1 || space.expertTensor) &&
          (out.empty() || out.back() != std::pair(expert, tensor)))
        out.push_back({expert, tensor});
  return out;
}

std::vector<RecomputeChoice> recomputes(const Problem &problem, const Space &space, const Tactics &mesh) {
  std::vector<RecomputeChoice> out;
  int64_t stage = (problem.model.layers + mesh.pipeline - 1) / mesh.pipeline;
  for (Recompute r : space.recompute) {
    if (r != Recompute::Layers) {
      out.push_back({r, 0});
      continue;
    }
    for (double share : space.recomputeShares)
      if (int64_t n = int64_t(share * double(stage));
          n > 0 && n < stage && !(out.size() && out.back().recompute == r && out.back().layers == n))
        out.push_back({r, n});
  }
  return out;
}

std::vector<int64_t> shardGroups(const Problem &problem, const Space &space, const Tactics &mesh) {
  int64_t replicas = mesh.data * mesh.context, host = problem.devicesPerHost / mesh.tensor;
  if (space.hybridShards && replicas > problem.devicesPerHost && host > 1 &&
      problem.devicesPerHost % mesh.tensor == 0 && replicas % host == 0)
    return {0, host};
  return {0};
}

std::vector<bool> sequenceParallel(const Space &space, const Tactics &mesh) {
  std::vector<bool> out;
  for (bool sp : space.sequenceParallel)
    if (!sp || mesh.tensor > 1)
      out.push_back(sp);
  return out;
}

void completions(const Problem &problem, const Space &space, const Tactics &mesh,
                 const std::function<bool(const Tactics &)> &visit,
                 const std::function<bool(const Tactics &)> &enter) {
  int64_t replicas = mesh.data * mesh.context;
  std::vector<int64_t> groups = shardGroups(problem, space, mesh);
  std::vector<RecomputeChoice> again = recomputes(problem, space, mesh);
  Tactics t = mesh;
  auto withState = [&] {
    for (Zero zero : space.zero) {
      if (zero != Zero::None && replicas == 1 && space.zero.front() == Zero::None)
        continue; // the same as none
      t.zero = zero;
      for (int64_t group : groups) {
        if (zero == Zero::None && group)
          continue; // nothing is sharded: one candidate
        t.shardGroup = group;
        for (auto [recompute, layers] : again) {
          t.recompute = recompute, t.recomputeLayers = layers;
          for (bool optimizer : space.offloadOptimizer) {
            t.offloadOptimizer = optimizer;
            for (double activations : space.offloadActivations) {
              t.offloadActivations = activations;
              if (!visit(t))
                return false;
            }
          }
        }
      }
    }
    return true;
  };
  std::vector<ContextKind> kinds = contextKinds(problem, space, mesh);
  std::vector<std::pair<int64_t, int64_t>> experts = expertSizes(problem, space, mesh);
  std::vector<bool> sequence = sequenceParallel(space, mesh);
  for (auto [schedule, chunks] : schedules(problem, space, mesh)) {
    t.schedule = schedule, t.chunks = chunks;
    for (bool sp : sequence) {
      t.sequenceParallel = sp;
      for (ContextKind kind : kinds) {
        t.contextKind = kind;
        for (auto [expert, tensor] : experts) {
          t.expert = expert, t.expertTensor = tensor;
          if (enter) {
            Tactics first = t;
            first.zero = Zero::None, first.shardGroup = 0, first.recompute = Recompute::None;
            first.recomputeLayers = 0, first.offloadOptimizer = false, first.offloadActivations = 0;
            if (!enter(first))
              continue;
          }
          if (!withState())
            return;
        }
      }
    }
  }
}

} // namespace hocket::planner
