#include "compiler/cost/step_memory.h"
#include "compiler/pipeline/theory.h"

#include <algorithm>

namespace hocket::cost {

namespace {

double d(int64_t n) { return double(n); }
int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Moments and, when parameters are 16-bit, a master copy in f32.
double optimizerBytes(Precision p) { return p == Precision::F64 ? 16 : p == Precision::F32 ? 8 : 12; }

double gradientBytes(const Tactics &t) {
  return t.gradientsF32 && elementBytes(t.precision) < 4 ? 4 : elementBytes(t.precision);
}

/// Heads of keys and values on one device: fewer heads than devices are held twice.
double kvHeadsHere(const ModelShape &m, int64_t tensor) {
  return d(ceilDiv(std::max<int64_t>(m.kvHeads, 1), tensor));
}

double attentionParameters(const ModelShape &m, int64_t tensor) {
  double h = d(m.hidden), t = d(tensor);
  if (m.latent.kvRank > 0) {
    const LatentShape &l = m.latent;
    double heads = d(m.heads) / t, q = d(l.nopeDim + l.ropeDim);
    double query = l.qRank ? h * d(l.qRank) + d(l.qRank) * (heads * q + 1) : h * heads * q;
    return query + h * d(l.kvRank + l.ropeDim) + d(l.kvRank) * (heads * d(l.nopeDim + l.valueDim) + 1) +
           heads * d(l.valueDim) * h;
  }
  double q = d(m.heads) * d(m.headDim) / t, kv = kvHeadsHere(m, tensor) * d(m.headDim);
  return 2 * h * q + 2 * h * kv + (m.biased ? q + 2 * kv + h : 0);
}

double denseFeedForward(const ModelShape &m, int64_t width, int64_t tensor) {
  double h = d(m.hidden), f = d(width) / d(tensor);
  return (m.gated ? 3 : 2) * h * f + (m.biased ? f + h : 0);
}

double normParameters(const ModelShape &m) { return (m.biased ? 4 : 2) * d(m.hidden); }

/// The positions of the first and of the last virtual stage.
int64_t lastPosition(const Tactics &t) { return pipeline::isV(t.schedule) ? 0 : t.pipeline - 1; }

/// Layers of a position that keep the dense feed-forward of a model with experts.
int64_t denseLayersHere(const ModelShape &m, const Tactics &t, int64_t device) {
  if (m.experts.count == 0)
    return layersOf(t, m.layers, device);
  int64_t before = 0; // the first layers lie on the first positions
  for (int64_t k = 0; k < device; ++k)
    before += layersOf(t, m.layers, k);
  return std::clamp<int64_t>(m.experts.denseLayers - before, 0, layersOf(t, m.layers, device));
}

/// Tokens of one micro-batch on one device.
double tokens(const Workload &w, const Tactics &t) { return d(t.microBatch) * d(w.sequence) / d(t.context); }

} // namespace

LayerBytes layerBytes(const ModelShape &m, const Workload &w, const Tactics &t, const MemoryConstants &c) {
  double n = tokens(w, t), e = elementBytes(t.precision), h = d(m.hidden), tensor = d(t.tensor);
  double whole = t.sequenceParallel ? tensor : 1, heads = d(m.heads) / tensor;
  LayerBytes out;
  out.input = n * e * h / whole;
  // Outputs of products, operands of the attention core and its output with log-sums.
  double norms = 4 * e * h / whole, operands, core;
  if (const LatentShape &l = m.latent; l.kvRank > 0) {
    core = e * heads * d(l.valueDim) + 4 * heads;
    operands = e * (heads * d(2 * (l.nopeDim + l.ropeDim) + l.valueDim) + d(l.qRank + l.kvRank + l.ropeDim));
  } else {
    core = e * heads * d(m.headDim) + 4 * heads;
    operands = e * (heads * d(m.headDim) + 2 * kvHeadsHere(m, t.tensor) * d(m.headDim));
  }
  double tensors = m.gated ? 3 : 2, feed = e * tensors * d(m.ffn) / tensor;
  double feedProducts = feed * (tensors - 1) / tensors;
  if (const ExpertShape &x = m.experts; x.count > 0) {
    // Balanced routing: as many tokens arrive as leave, whatever `expert` is.
    double routed = d(x.topk) / (t.sequenceParallel ? tensor : 1);
    double inside = e * tensors * (routed * d(x.ffn) / d(t.expertTensor) + d(x.shared) * d(x.ffn) / tensor);
    feed = inside + e * routed * h + 4 * d(x.count) / whole;
    feedProducts = inside * (tensors - 1) / tensors + 2 * e * routed * h;
  }
  out.kept = n * (norms + operands + core + feed);
  double reach = d(m.window > 0 ? std::min(m.window, w.sequence) : w.sequence);
  out.scores = n * c.scoreBytes * heads * reach;
  if (c.scoreBytes > 0)
    out.selective = out.kept;
  else // input, core and every other product; two of them are as wide as the residual
    out.selective = out.input + n * (core + (operands + feedProducts + 2 * e * h / whole) / 2);
  return out;
}

int64_t layersOf(const Tactics &t, int64_t layers, int64_t device) {
  if (!t.stageLayers.empty()) {
    int64_t sum = 0;
    pipeline::Shape shape{t.schedule, t.pipeline, t.chunks, 1};
    for (int64_t c = 0; c < t.chunks; ++c)
      sum += t.stageLayers[size_t(pipeline::stageOf(shape, device, c))];
    return sum;
  }
  // What is left over goes to the middle, then to the first position, then to the last one, which has
  // the head; in a V position 0 has both.
  int64_t p = t.pipeline, stages = p * t.chunks, over = layers % stages;
  int64_t rank = p == 1 ? 0 : device == lastPosition(t) ? p - 1 : device == 0 ? p - 2 : device - 1;
  return layers / stages * t.chunks + over / p + (rank < over % p);
}

std::vector<int64_t> evenStages(const Tactics &t, int64_t layers) {
  int64_t stages = t.pipeline * t.chunks, each = layers / stages;
  std::vector<int64_t> out(size_t(stages), each);
  pipeline::Shape shape{t.schedule, t.pipeline, t.chunks, 1};
  Tactics even = t;
  even.stageLayers.clear();
  for (int64_t device = 0; device < t.pipeline; ++device) {
    int64_t over = layersOf(even, layers, device) - each * t.chunks;
    for (int64_t c = 0; c < over; ++c)
      ++out[size_t(pipeline::stageOf(shape, device, c))];
  }
  return out;
}

StageParameters stageParameters(const ModelShape &m, const Tactics &t, int64_t device) {
  return position(m, t, device).parameters;
}

StageParameters stageParameters(const ModelShape &m, const Tactics &t, const Position &position) {
  double h = d(m.hidden), layers = d(position.layers), dense = d(position.dense), routed = layers - dense;
  StageParameters out;
  out.dense = layers * (attentionParameters(m, t.tensor) + normParameters(m)) +
              dense * denseFeedForward(m, m.ffn, t.tensor);
  if (routed > 0) {
    const ExpertShape &x = m.experts;
    out.dense += routed * (h * d(x.count) + d(x.shared) * denseFeedForward(m, x.ffn, t.tensor));
    out.experts = routed * d(ceilDiv(x.count, t.expert)) * denseFeedForward(m, x.ffn, t.expertTensor);
  }
  double table = d(ceilDiv(m.vocab, t.tensor)) * h;
  bool first = position.device == 0, last = position.last;
  out.tables = (first ? table + d(m.learnedPositions) * h : 0) + (last && !(first && m.tied) ? table : 0);
  out.dense += out.tables + (last ? normParameters(m) / 2 : 0);
  return out;
}

double layerActivations(const ModelShape &m, const Workload &w, const Tactics &t, const MemoryConstants &c) {
  LayerBytes b = layerBytes(m, w, t, c);
  return b.kept + b.scores;
}

double keptBytes(const ModelShape &m, const Tactics &t, const LayerBytes &layer) {
  switch (t.recompute) {
  case Recompute::None:
    break;
  case Recompute::Selective:
    return layer.selective;
  case Recompute::Layers: {
    double full = std::min(1.0, d(t.recomputeLayers) * d(t.pipeline) / d(m.layers));
    return full * layer.input + (1 - full) * (layer.kept + layer.scores);
  }
  case Recompute::Full:
    return layer.input;
  }
  return layer.kept + layer.scores;
}

Position position(const ModelShape &m, const Tactics &t, int64_t device) {
  Position out{
      device, layersOf(t, m.layers, device), denseLayersHere(m, t, device), device == lastPosition(t), {}};
  out.parameters = stageParameters(m, t, out);
  return out;
}

std::vector<Position> fullestPositions(const ModelShape &m, const Tactics &t) {
  std::vector<Position> out;
  int64_t denseLeft = m.experts.count ? m.experts.denseLayers : m.layers;
  for (int64_t k = 0; k < t.pipeline; ++k) {
    Position p{k, layersOf(t, m.layers, k), 0, k == lastPosition(t), {}};
    p.dense = std::min(denseLeft, p.layers), denseLeft -= p.dense;
    bool seen = std::any_of(out.begin(), out.end(), [&](const Position &o) {
      return o.device > 0 && o.layers == p.layers && o.dense == p.dense && o.last == p.last;
    });
    if (!seen)
      out.push_back(p);
  }
  return out;
}

StageMemory stageMemory(const ModelShape &m, const Workload &w, const Tactics &t, const MemoryConstants &c,
                        int64_t device) {
  return stageMemory(m, w, t, c, position(m, t, device), layerBytes(m, w, t, c));
}

StageMemory stageMemory(const ModelShape &m, const Workload &w, const Tactics &t, const MemoryConstants &c,
                        const Position &position, const LayerBytes &layer) {
  StageMemory out;
  const StageParameters &params = position.parameters;
  double replicas = d(t.data * t.context);
  double group = t.shardGroup > 0 ? d(t.shardGroup) : replicas;
  double expertReplicas = std::max(1.0, replicas * d(t.tensor) / d(t.expert * t.expertTensor));
  double expertGroup = std::min(group, expertReplicas);
  auto sharded = [&](Zero level, double bytes) {
    return t.zero >= level ? params.dense * bytes / group + params.experts * bytes / expertGroup
                           : (params.dense + params.experts) * bytes;
  };
  double e = elementBytes(t.precision), g = gradientBytes(t);
  out.parameters = sharded(Zero::Parameters, e);
  out.gradients = sharded(Zero::Gradients, g);
  if (t.gradientsF32 && e < 4 && c.accumulationCopy > 0) {
    // 16-bit gradients of a whole backward pass are widened one tensor at a time.
    double widest = std::max(params.tables > 0 ? d(ceilDiv(m.vocab, t.tensor)) : 0, d(m.ffn) / d(t.tensor));
    out.gradients += sharded(Zero::Gradients, c.accumulationCopy) + 4 * widest * d(m.hidden);
  }
  double moments = sharded(Zero::Optimizer, optimizerBytes(t.precision));
  (t.offloadOptimizer ? out.host : out.optimizer) = moments;
  out.optimizer += sharded(Zero::Optimizer, c.optimizerScratch);

  int64_t layers = position.layers;
  double full = d(layers), selective = 0, none = 0; // layers by what they keep
  switch (t.recompute) {
  case Recompute::None:
    none = full, full = 0;
    break;
  case Recompute::Selective:
    selective = full, full = 0;
    break;
  case Recompute::Layers:
    full = d(std::min(t.recomputeLayers, layers));
    none = d(layers) - full;
    break;
  case Recompute::Full:
    break;
  }
  int64_t micros = std::max<int64_t>(1, w.globalBatch / (t.data * t.microBatch));
  pipeline::Shape shape{t.schedule, t.pipeline, t.chunks, micros};
  double inFlight = pipeline::peakMicros(shape, position.device);
  double kept = full * layer.input + selective * layer.selective + none * (layer.kept + layer.scores);
  if (t.pipeline > 1)
    kept += c.stageTensors * layer.input;
  double activations = c.activationFactor * inFlight * kept;
  out.activations = activations * (1 - t.offloadActivations);
  out.host += activations * t.offloadActivations;
  // A layer that is computed again is whole for a moment.
  out.working = c.activationFactor * (full > 0        ? layer.kept + layer.scores
                                      : selective > 0 ? layer.kept + layer.scores - layer.selective
                                                      : layer.input);
  if (c.workTensors > 0) {
    double n = tokens(w, t), heads = d(m.headDim) * (d(m.heads) / d(t.tensor) + 2 * kvHeadsHere(m, t.tensor));
    double beside = heads + 2 * d(m.ffn) / d(t.tensor);
    if (position.last) {
      beside = std::max(beside, d(ceilDiv(m.vocab, t.tensor)));
      out.activations += inFlight * c.endTensors * layer.input;
    }
    out.working = (c.workTensors + position.last) * layer.input + n * e * beside;
    if (position.device == 0) // the embedding's gradient before it is added
      out.working = std::max(out.working, e * d(ceilDiv(m.vocab, t.tensor)) * d(m.hidden));
    // Sent and received, forward and backward: an end of the pipeline has one neighbour.
    if (t.pipeline > 1)
      out.working += (position.device == 0 || position.last ? 2 : 4) * layer.input;
  }
  if (t.sequenceParallel && t.tensor > 1) // a product's gathered input and the gradient to scatter
    out.working += c.activationFactor * 2 * layer.input * d(t.tensor);
  if (position.last)
    out.logits = c.logitBytes * tokens(w, t) * d(ceilDiv(m.vocab, t.tensor)) * (1 + d(m.predictedTokens));
  if (t.zero == Zero::Parameters && layers > 0) {
    // The layer that runs and the one ahead, and the gradients of one; embedding and head stay gathered.
    double one = (params.dense - params.tables + params.experts) / d(layers);
    out.gathered =
        params.tables * e + std::max((t.overlapParameters ? 2 : 1) * one * e + one * g, params.tables * g);
  }
  out.reserve = c.reserve;
  return out;
}

MemoryVerdict fullest(const ModelShape &m, const Workload &w, const Tactics &t, const MemoryConstants &c) {
  MemoryVerdict best{0, stageMemory(m, w, t, c, 0)};
  for (int64_t k = 1; k < t.pipeline; ++k)
    if (StageMemory memory = stageMemory(m, w, t, c, k); memory.total() > best.memory.total())
      best = {k, memory};
  return best;
}

Fit fitOf(double bytes, double capacity) {
  return bytes > kLimitTo * capacity     ? Fit::TooLarge
         : bytes > kLimitFrom * capacity ? Fit::AtLimit
                                         : Fit::Fits;
}

} // namespace hocket::cost
