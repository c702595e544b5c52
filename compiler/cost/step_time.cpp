#include "compiler/cost/step_time.h"
#include "compiler/cost/step_memory.h"
#include "compiler/pipeline/theory.h"

#include <algorithm>
#include <cmath>

namespace hocket::cost {

namespace {

double d(int64_t n) { return static_cast<double>(n); }

/// Parameters of one device, for state traffic and reductions; elements.
struct Held {
  double dense = 0, experts = 0; ///< of one layer
  double table = 0;              ///< embedding or head
};

Held held(const ModelShape &m, const Tactics &x) {
  double t = d(x.tensor), h = d(m.hidden), a = d(m.heads) / t, f = d(m.ffn) / t;
  double q = a * d(m.headDim), kv = std::max(1.0, d(m.kvHeads) / t) * d(m.headDim);
  double matrices = m.gated ? 3 : 2, attention = h * (2 * q + 2 * kv);
  if (m.latent.kvRank)
    attention = h * d(m.latent.qRank + m.latent.kvRank + m.latent.ropeDim) +
                a * (d(m.latent.qRank) * d(m.latent.nopeDim + m.latent.ropeDim) +
                     d(m.latent.kvRank) * d(m.latent.nopeDim + m.latent.valueDim) + h * d(m.latent.valueDim));
  double routed = m.experts.count ? d(m.layers - m.experts.denseLayers) / d(m.layers) : 0;
  Held out;
  out.dense = attention + (1 - routed) * matrices * h * f +
              routed * matrices * h * d(m.experts.shared * m.experts.ffn) / t;
  out.experts = routed * 3 * h * d(m.experts.ffn) * d(m.experts.count) /
                (d(x.expert) * std::max(1.0, d(x.expertTensor)));
  out.table = d(m.vocab) * h / t;
  return out;
}

/// State over replicas: sharded within a group, held alike by `copies` of them.
struct ShardGroups {
  RingGroup shard, copies;
};

ShardGroups shardGroups(const Fabric &fabric, std::span<const PlacedAxis> axes, double skip, double replicas,
                        double group) {
  group = group > 0 ? std::min(group, replicas) : replicas;
  if (group == replicas)
    return {fabric.group(axes, skip, replicas), {}};
  return {fabric.group(axes, skip, group), fabric.group(axes, skip * group, replicas / group)};
}

} // namespace

PositionLayers positionLayers(const Tactics &x, int64_t layers) {
  int64_t p = x.pipeline;
  PositionLayers out{d(layersOf(x, layers, 0)), d(layersOf(x, layers, p - 1)), 0};
  // Even stages: position 1 holds as many as any between first and last.
  for (int64_t k = 1; k + 1 < (x.stageLayers.empty() ? std::min<int64_t>(p, 3) : p); ++k)
    out.middle = std::max(out.middle, d(layersOf(x, layers, k)));
  if (p <= 2)
    out.middle = std::max(out.front, out.tail);
  return out;
}

StepModel::StepModel(const ModelShape &model, const Workload &work, const Machine &machine,
                     const Constants &constants)
    : m(model), w(work), hardware(machine), c(constants), fabric(machine, constants.cluster) {}

Piece StepModel::passes(const Tactics &x, const LayerTime &layer) const {
  Piece one = layer.work;
  if (x.recompute == Recompute::Full) {
    one.add(layer.forward, 1);
  } else if (x.recompute == Recompute::Selective) {
    if (c.attention.scoreBytes > 0) {
      one.attention += layer.forward.attention;
    } else {
      // Without kept scores: every other product and what is memory-bound.
      one.products += 0.5 * layer.forward.products;
      one.traffic += layer.forward.traffic;
    }
  } else if (x.recompute == Recompute::Layers) {
    one.add(layer.forward, std::min(1.0, d(x.recomputeLayers) * d(x.pipeline) / d(m.layers)));
  }
  return one;
}

StageWork StepModel::stages(const Tactics &x, const LayerTime &layer) const {
  double p = d(x.pipeline), layers = d(m.layers + (m.experts.count ? m.predictedTokens : 0));
  PositionLayers at = positionLayers(x, int64_t(layers));
  Piece one = passes(x, layer);
  StageWork out;
  out.layers = p == 1 ? layers : at.middle;
  out.layer = one.seconds();
  // The slowest paces all of them, the others are waited for once.
  Piece front, tail, middle;
  front.add(one, at.front).add(layer.embedding, 1);
  (p == 1 || pipeline::isV(x.schedule) ? front : tail).add(layer.head, 1);
  out.pace = front;
  out.round = out.slowest = front.seconds();
  if (p == 1)
    return out;
  tail.add(one, at.tail);
  double tailSeconds = tail.seconds();
  if (tailSeconds >= out.slowest)
    out.pace = tail, out.slowest = tailSeconds;
  middle.add(one, at.middle);
  double middleSeconds = middle.seconds();
  if (p > 2 && middleSeconds > out.slowest)
    out.pace = middle, out.slowest = middleSeconds;
  out.round += std::max(0.0, p - 2) * middleSeconds + tailSeconds;
  return out;
}

StateTime StepModel::state(const Tactics &x) const {
  double t = d(x.tensor), cp = d(x.context), p = d(x.pipeline), dp = d(x.data);
  double e = elementBytes(x.precision), gradientBytes = e > 2 ? e : x.gradientsF32 ? 4 : 2;
  double layers = d(m.layers + (m.experts.count ? m.predictedTokens : 0));
  double memory = hardware.device.memoryRate * c.device.memory;
  std::array<PlacedAxis, 4> axes = placed(x);
  Held own = held(m, x);
  double table = own.table;
  double denseHere = own.dense * layers / p + (p > 1 ? table : (m.tied ? 1 : 2) * table);
  double expertsHere = own.experts * layers / p;

  // Replicas of a stage's weights, innermost first; experts have their own.
  std::array<PlacedAxis, 2> replicaAxes = {axes[size_t(Axis::Context)], axes[size_t(Axis::Data)]};
  if (replicaAxes[1].stride < replicaAxes[0].stride)
    std::swap(replicaAxes[0], replicaAxes[1]);
  double shards = dp * cp, group = x.zero == Zero::None ? 0 : d(x.shardGroup);
  double et = std::max(1.0, d(x.expertTensor));
  double expertShards = std::max(1.0, shards * t / (d(x.expert) * et));
  ShardGroups data = shardGroups(fabric, replicaAxes, 1, shards, group);
  ShardGroups expertData;
  if (expertsHere > 0)
    expertData = shardGroups(fabric, layerAxes(axes), et * d(x.expert), expertShards, group);

  StateTime r;
  double exposed = x.overlapGradients ? c.stack.gradientExposed : 1;
  // What a sharded gradient leaves to sum is summed by those that hold the same shard.
  auto across = [&](double elements, const ShardGroups &g) {
    return fabric.ring(elements / g.shard.size * gradientBytes, g.copies, 2);
  };
  double moved = across(denseHere, data) + across(expertsHere, expertData);
  if (x.zero == Zero::Parameters && shards > 1) {
    // Two gathers of parameters and a scatter of gradients a micro-batch.
    double bytes = own.dense + own.experts;
    r.layerMove = 2 * fabric.ring(bytes * e, data.shard) + fabric.ring(bytes * gradientBytes, data.shard);
    r.tableMove = 3 * fabric.ring(table * e, data.shard);
  } else if (shards > 1) {
    double reduce = fabric.ring(denseHere * gradientBytes, data.shard, 1) +
                    fabric.ring(expertsHere * gradientBytes, expertData.shard, 1);
    double gather = fabric.ring(denseHere * e, data.shard) + fabric.ring(expertsHere * e, expertData.shard);
    if (x.zero == Zero::None)
      gather = gather * gradientBytes / e;
    if (x.bucketBytes > 0)
      reduce += std::max(0.0, std::ceil(denseHere * gradientBytes / d(x.bucketBytes)) - 1) *
                fabric.latency(data.shard);
    // A shard of gradients is all there is room for: every micro-batch's are scattered.
    if (x.zero == Zero::Gradients)
      reduce *= d(w.globalBatch) / (dp * d(x.microBatch));
    moved += reduce + gather;
  }
  r.gradients = moved * exposed;
  if (p > 1)
    r.gradients += 0.5 * fabric.ring(table * gradientBytes,
                                     fabric.group({2, (p - 1) * axes[size_t(Axis::Pipeline)].stride}), 2);
  double state = x.zero == Zero::None ? denseHere + expertsHere
                                      : denseHere / data.shard.size + expertsHere / expertData.shard.size;
  r.optimizer = c.stack.step + 34 * state / memory;
  // Moments and master weights come to the device for the update and go back, both ways at once.
  r.offload = (e > 2 ? 2 * e : 12) * state / hardware.device.hostRate;
  return r;
}

StepTime StepModel::step(const Tactics &x, const StageWork &work, const StateTime &state,
                         double offloaded) const {
  double t = d(x.tensor), cp = d(x.context), p = d(x.pipeline);
  double micros = d(w.globalBatch) / (d(x.data) * d(x.microBatch));
  StepTime r;
  double slow = work.slowest + c.stack.micro;
  r.products = micros * work.pace.products, r.attention = micros * work.pace.attention,
  r.traffic = micros * work.pace.traffic;
  r.tensor = micros * work.pace.tensor;
  r.host = micros * (slow - work.pace.device());
  if (p > 1) {
    pipeline::Shape shape{x.schedule, x.pipeline, x.chunks, w.globalBatch / (x.data * x.microBatch)};
    r.bubble =
        std::max(0.0, work.round - slow + (p - 1) * c.stack.micro) * pipeline::idleMicros(shape) / (p - 1);
    double stride = 1;
    for (size_t i = x.order.size(); x.order[--i] != Axis::Pipeline;)
      stride *= x.order[i] == Axis::Data ? d(x.data) : x.order[i] == Axis::Context ? cp : t;
    double bytes = d(x.microBatch) * d(w.sequence) / cp * d(m.hidden) * elementBytes(x.precision) /
                   (x.sequenceParallel ? t : 1);
    double hop = 2 * fabric.transfer(bytes, stride) * std::max(1.0, d(x.chunks));
    r.stages = (micros * c.stack.stageExposed + (p - 1)) * hop;
  }
  r.gradients = state.gradients;
  if (state.layerMove > 0) {
    // Under the layers' work.
    double hidden = x.overlapParameters ? c.stack.gatherExposed : 1;
    double left = std::max(0.0, beside(work.layer, state.layerMove) - work.layer);
    r.gradients += micros * ((left + hidden * std::min(state.layerMove, work.layer)) * work.layers +
                             hidden * state.tableMove);
  }
  if (offloaded > 0) {
    // Out after the forward pass, in before the backward pass, beside a micro-batch's work.
    double move = 2 * offloaded / hardware.device.hostRate;
    r.offload = micros * work.layers * std::max(0.0, beside(work.layer, move) - work.layer);
  }
  if (x.offloadOptimizer)
    r.offload += state.offload;
  r.optimizer = state.optimizer;

  double site = c.cluster.site;
  for (double *term : {&r.products, &r.attention, &r.traffic, &r.host, &r.tensor, &r.bubble, &r.stages,
                       &r.gradients, &r.offload, &r.optimizer}) {
    *term *= site;
    r.total += *term;
  }
  return r;
}

double stepFlops(const ModelShape &m, const Workload &w, Recompute recompute, bool causalHalf) {
  double h = d(m.hidden), s = d(w.sequence), q = d(m.heads * m.headDim), kv = d(m.kvHeads * m.headDim);
  double scores = 4 * s * q * (causalHalf ? 0.5 : 1);
  double attention = 2 * h * (2 * q + 2 * kv);
  if (m.latent.kvRank) {
    const LatentShape &l = m.latent;
    double a = d(m.heads), qk = d(l.nopeDim + l.ropeDim), v = d(l.valueDim);
    scores = 2 * s * a * (qk + v) * (causalHalf ? 0.5 : 1);
    attention = 2 * (h * d(l.qRank) + d(l.qRank) * a * qk + h * d(l.kvRank + l.ropeDim) +
                     d(l.kvRank) * a * (d(l.nopeDim) + v) + a * v * h);
  }
  double matrices = m.gated ? 6 : 4, dense = matrices * h * d(m.ffn), l = d(m.layers);
  double feed = l * dense;
  if (m.experts.count) {
    double routed = l - d(m.experts.denseLayers);
    double visited =
        matrices * h * d(m.experts.ffn) * d(m.experts.topk + m.experts.shared) + 2 * h * d(m.experts.count);
    feed = d(m.experts.denseLayers) * dense + routed * visited;
  }
  double layers = l * (attention + scores) + feed;
  double passes = recompute == Recompute::Full ? 4 : 3;
  double again = recompute == Recompute::Selective ? l * scores : 0;
  double head = 2 * h * d(m.vocab) * (1 + d(m.predictedTokens));
  return d(w.globalBatch) * s * (passes * layers + again + 3 * head);
}

StepTime stepTime(const ModelShape &model, const Workload &work, const Machine &machine,
                  const Constants &constants, const Tactics &tactics) {
  StepModel step(model, work, machine, constants);
  double offloaded = 0;
  if (tactics.offloadActivations > 0)
    offloaded = tactics.offloadActivations * keptBytes(model, tactics, layerBytes(model, work, tactics, {}));
  return step.step(tactics, step.stages(tactics, step.layer(tactics)), step.state(tactics), offloaded);
}

} // namespace hocket::cost
