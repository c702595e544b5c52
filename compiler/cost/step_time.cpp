#include "compiler/cost/step_time.h"

#include <algorithm>
#include <cmath>

namespace hocket::cost {

namespace {

double d(int64_t n) { return static_cast<double>(n); }

/// The longer of two that mostly run beside each other.
double beside(double a, double b) {
  double x = a * a, y = b * b;
  return std::sqrt(std::sqrt(x * x + y * y));
}

struct Group {
  double size = 1;
  double inside = 1;     ///< members within one island of level 0
  double neighbours = 1; ///< groups that share an island's links to the outside
};

/// Ring over a group: per direction each member passes (n-1)/n of the bytes once
/// (gather, scatter) or twice (all-reduce).
class Fabric {
public:
  Fabric(const Machine &machine, const ClusterConstants &c) : c(c) {
    if (!machine.levels.empty()) {
      const FabricLevel &first = machine.levels.front();
      island = d(first.count), inner = first.rate * c.inner;
      const FabricLevel &next = machine.levels[std::min<size_t>(1, machine.levels.size() - 1)];
      outer = next.rate / next.oversubscription;
    }
  }

  /// Members `stride` devices apart.
  Group group(double size, double stride) const {
    double inside = std::clamp(island / stride, 1.0, size);
    return {size, inside, std::max(1.0, std::min(stride, island))};
  }

  /// All-gather or reduce-scatter of `bytes` (gathered size); `passes` 2 for an all-reduce.
  double ring(double bytes, const Group &g, double passes = 1) const {
    if (g.size <= 1)
      return 0;
    double hosts = g.size / g.inside;
    double share = passes * (g.size - 1) / g.size * bytes;
    if (hosts <= 1)
      return share / inner + c.innerLatency * passes * (1 + 0.1 * (g.size - 1));
    // The island's links serve one ring per neighbouring group.
    double rate = std::min(inner, outer * g.inside * c.outer);
    return share / rate + c.outerLatency * passes * (1 + 0.3 * (hosts - 1));
  }

  /// Every member sends its bytes in equal parts to every other; `copies` of one
  /// element in them cross to an island once and are spread there.
  double allToAll(double bytes, const Group &g, double copies) const {
    if (g.size <= 1)
      return 0;
    double hosts = g.size / g.inside;
    if (hosts <= 1)
      return bytes * (g.size - 1) / g.size / inner + c.innerLatency;
    double reached = hosts * (1 - std::pow(1 - 1 / hosts, copies)); // islands that one element goes to
    double away = bytes / copies * reached * (hosts - 1) / hosts;
    return beside(bytes * (g.inside - 1) / g.size / inner, away / (outer * c.outer)) + c.outerLatency;
  }

  double transfer(double bytes, double stride) const {
    return stride < island ? bytes / inner + c.innerLatency : bytes / (outer * c.transfer) + c.outerLatency;
  }

private:
  const ClusterConstants &c;
  double island = 1, inner = 1e12, outer = 1e12;
};

/// Seconds on one device of a piece of the model.
struct Piece {
  double products = 0, attention = 0, traffic = 0, tensor = 0, host = 0;
  Piece &add(const Piece &o, double k) {
    products += k * o.products, attention += k * o.attention, traffic += k * o.traffic;
    tensor += k * o.tensor, host += k * o.host;
    return *this;
  }
  double device() const { return products + attention + traffic + tensor; }
  /// The host runs ahead unless its launches take longer.
  double seconds() const { return beside(device(), host); }
};

class Model {
public:
  Model(const ModelShape &m, const Workload &w, const Machine &machine, const Constants &c, const Tactics &x)
      : m(m), w(w), machine(machine), c(c), x(x), fabric(machine, c.cluster) {
    t = d(x.tensor), cp = d(x.context), p = d(x.pipeline), dp = d(x.data);
    n = d(x.microBatch) * d(w.sequence) / cp;
    nSeq = x.sequenceParallel ? n / t : n;
    h = d(m.hidden), a = d(m.heads) / t, dh = d(m.headDim), f = d(m.ffn) / t;
    g = std::max(1.0, d(m.kvHeads) / t);
    memory = machine.device.memoryRate * c.device.memory;
    peak16 = machine.device.peak[static_cast<size_t>(Precision::F16)];
    rate16 = peak16 * c.device.f16;
    rate = rateOf(x.precision);
    tensorGroup = fabric.group(t, 1);
  }

  StepTime step() const;

private:
  const ModelShape &m;
  const Workload &w;
  const Machine &machine;
  const Constants &c;
  const Tactics &x;
  Fabric fabric;
  double t, cp, p, dp, n, nSeq, h, a, dh, f, g, memory, peak16, rate16, rate;
  Group tensorGroup;

  double rateOf(Precision precision) const {
    double peak = machine.device.peak[static_cast<size_t>(precision)];
    switch (precision) {
    case Precision::Fp8:
      return peak * c.device.fp8;
    case Precision::MxFp8:
      return peak * c.device.mxfp8;
    case Precision::NvFp4:
      return peak * c.device.nvfp4;
    default:
      return peak * c.device.f16;
    }
  }

  /// Tiles of 128 x 128 in waves over the device's units: the last wave is not full.
  double waves(double rows, double columns) const {
    double tiles = std::ceil(rows / 128) * std::ceil(columns / 128), units = d(machine.device.units);
    if (units <= 0)
      return 1;
    double turns = std::ceil(tiles / units);
    double lost = turns * units / tiles - 1;
    return 1 + c.device.wave * std::min(lost, 1.0);
  }

  /// rows x inner by inner x columns: arithmetic, the operands that it does not hide, and a start.
  double product(double rows, double columns, double inner, double at, double count = 1) const {
    double misaligned = std::fmod(columns, 8) != 0 || std::fmod(inner, 8) != 0 ? c.device.misaligned : 1;
    double arithmetic = 2 * rows * columns * inner / at * waves(rows * count, columns) * misaligned;
    double operands = 2 * (rows * columns + columns * inner + rows * inner) / memory;
    return count * (arithmetic + c.device.operands * operands) + c.device.kernel;
  }
  /// Forward once, and twice backward (by inputs, by weights).
  void linear(Piece &forward, Piece &backward, double rows, double columns, double inner,
              double count = 1) const {
    forward.products += product(rows, columns, inner, rate, count);
    backward.products +=
        product(rows, inner, columns, rate, count) + product(inner, columns, rows, rate, count);
    if (x.precision == Precision::Fp8 || x.precision == Precision::MxFp8 || x.precision == Precision::NvFp4) {
      // Casts: read 16 bits, write 8, of both operands, transposes too.
      double cast = count * 3 * rows * (inner + columns) / memory * c.stack.traffic;
      forward.traffic += 0.5 * cast, backward.traffic += 0.5 * cast;
    }
  }
  void stream(Piece &forward, Piece &backward, double bytes) const {
    forward.traffic += bytes * c.stack.traffic / memory;
    backward.traffic += 1.8 * bytes * c.stack.traffic / memory;
  }

  void core(Piece &forward, Piece &backward) const;
  void experts(Piece &forward, Piece &backward) const;
  void layer(bool routed, Piece &forward, Piece &backward) const;
  Piece both(bool routed) const;
  Piece head() const;
  Piece embedding() const;
};

void Model::core(Piece &forward, Piece &backward) const {
  double s = d(w.sequence), window = m.window ? std::min<double>(d(m.window), s) : s;
  bool kept = c.attention.scoreBytes > 0;
  double qk = m.latent.kvRank ? d(m.latent.nopeDim + m.latent.ropeDim) : dh;
  double v = m.latent.kvRank ? d(m.latent.valueDim) : dh;
  // A fused kernel skips what the causal mask hides.
  double scores = n * a * (w.causal && !kept ? 0.5 : 1) * window;
  double odd = std::fmod(dh, 8) != 0 ? c.attention.misaligned : 1;
  forward.attention += odd * 2 * scores * (qk + v) / (peak16 * c.attention.forward);
  // A fused backward pass computes scores again: 5 products for 2.
  backward.attention += odd * (kept ? 4 : 5) * scores * (qk + v) / (peak16 * c.attention.backward);
  forward.attention += scores * c.attention.scoreBytes / memory;
  backward.attention += scores * c.attention.scoreBytes * 1.2 / memory;
}

void Model::experts(Piece &forward, Piece &backward) const {
  double e = d(x.expert), et = std::max(1.0, d(x.expertTensor)), fe = d(m.experts.ffn), k = d(m.experts.topk);
  double local = std::max(1.0, d(m.experts.count) / e);
  double own = n / t;                 // tokens of this rank
  double rows = own * k * et / local; // of one local expert, evenly loaded
  double matrices = m.gated ? 2 : 1;
  linear(forward, backward, rows, matrices * fe / et, h, local);
  linear(forward, backward, rows, h, fe / et, local);
  double shared = d(m.experts.shared) * fe;
  if (shared > 0) {
    linear(forward, backward, n, matrices * shared / t, h);
    linear(forward, backward, n, h, shared / t);
  }
  // Permute in and out, activation, router.
  stream(forward, backward, own * k * (8 * h + (m.gated ? 6 : 4) * fe) + n * 4 * h / t);
  Group group = fabric.group(e, 1);
  double bytes = own * k * h * 2;
  double move = 2 * fabric.allToAll(bytes, group, k) * c.stack.tensorExposed;
  forward.tensor += move, backward.tensor += move;
}

void Model::layer(bool routed, Piece &forward, Piece &backward) const {
  double q = a * dh, kv = g * dh;
  if (m.latent.kvRank) {
    const LatentShape &l = m.latent;
    double qr = d(l.qRank), kr = d(l.kvRank), rope = d(l.ropeDim);
    linear(forward, backward, n, qr, h);
    linear(forward, backward, n, a * d(l.nopeDim + l.ropeDim), qr);
    linear(forward, backward, n, kr + rope, h);
    linear(forward, backward, n, a * d(l.nopeDim + l.valueDim), kr);
    linear(forward, backward, n, h, a * d(l.valueDim));
    stream(forward, backward, n * (4 * (qr + kr) + 8 * a * d(l.nopeDim + l.ropeDim)));
  } else {
    linear(forward, backward, n, q + 2 * kv, h);
    linear(forward, backward, n, h, q);
    if (m.gated)
      stream(forward, backward, n * 4 * (q + kv)); // rotary embedding
  }
  core(forward, backward);
  // Two norms (read, write) and two residual sums with dropout or bias.
  stream(forward, backward, nSeq * h * (m.gated ? 18 : 22));
  if (routed) {
    experts(forward, backward);
  } else {
    linear(forward, backward, n, m.gated ? 2 * f : f, h);
    linear(forward, backward, n, h, f);
    stream(forward, backward, n * f * (m.gated ? 6 : 4));
  }
  if (t > 1) {
    double one = fabric.ring(n * h * 2, tensorGroup, 2) * c.stack.tensorExposed;
    forward.tensor += 2 * one, backward.tensor += 2 * one;
  }
  if (cp > 1) {
    Group group = fabric.group(cp, t);
    double bytes = n * cp * 2 * g * dh * 2;
    double attention = forward.attention;
    double move = fabric.ring(bytes, group);
    double left = std::max(0.0, move - 0.8 * attention) + 0.15 * move;
    forward.tensor += left, backward.tensor += 2 * left;
  }
  // Two collectives take the host two launches each (the event that is waited for, the call), and where
  // all ranks of a host take part they wait for the latest of them.
  double calls = t > 1 ? std::min(16.0, std::max(4.0, t * t / 4)) : 0;
  forward.host = c.stack.launch * ((routed ? 50 : 22) + calls),
  backward.host = c.stack.launch * ((routed ? 80 : 36) + calls);
}

/// Forward, backward and what is computed again, of one layer and micro-batch.
Piece Model::both(bool routed) const {
  Piece forward, backward;
  layer(routed, forward, backward);
  backward.add(forward, 1);
  if (x.recompute == Recompute::Full) {
    backward.add(forward, 1);
  } else if (x.recompute == Recompute::Selective) {
    if (c.attention.scoreBytes > 0) {
      backward.attention += forward.attention;
    } else {
      // Without kept scores: every other product and what is memory-bound.
      backward.products += 0.5 * forward.products;
      backward.traffic += forward.traffic;
    }
  } else if (x.recompute == Recompute::Layers) {
    double share = d(x.recomputeLayers) * p / d(m.layers);
    backward.add(forward, std::min(1.0, share));
  }
  return backward;
}

Piece Model::head() const {
  Piece out;
  double v = std::ceil(d(m.vocab) / t);
  out.products = product(n, v, h, rate16) + product(n, h, v, rate16) + product(h, v, n, rate16);
  // 16-bit logits to f32, maximum, exponentials, sum, gradient.
  out.traffic = n * v * 22 * c.stack.traffic / memory;
  if (t > 1)
    out.tensor = fabric.ring(n * h * 2, tensorGroup, 2) * c.stack.tensorExposed;
  out.host = c.stack.launch * 40;
  return out;
}

Piece Model::embedding() const {
  Piece out;
  out.traffic = n * h * 12 * c.stack.traffic / memory;
  if (t > 1)
    out.tensor = fabric.ring(n * h * 2, tensorGroup, 2) * c.stack.tensorExposed;
  out.host = c.stack.launch * 12;
  return out;
}

StepTime Model::step() const {
  double micros = d(w.globalBatch) / (dp * d(x.microBatch));
  double layers = d(m.layers + (m.experts.count ? m.predictedTokens : 0));
  double chunks = std::max<double>(1, d(x.chunks));
  // Layers of the first, the last and the fullest other position.  A remainder goes to the middle.
  double each = std::floor(layers / (p * chunks)) * chunks, over = layers - each * p;
  double frontLayers = each, tailLayers = each, midLayers = over > 0 ? each + chunks : each;
  if (over > p - 2)
    frontLayers += chunks;
  if (over > p - 1)
    tailLayers += chunks;
  if (!x.stageLayers.empty()) {
    frontLayers = tailLayers = midLayers = 0;
    size_t positions = static_cast<size_t>(x.pipeline);
    for (size_t i = 0; i < x.stageLayers.size(); i += positions)
      frontLayers += d(x.stageLayers[i]);
    for (size_t k = 0; k < positions; ++k) {
      double sum = 0;
      for (size_t i = k; i < x.stageLayers.size(); i += positions)
        sum += d(x.stageLayers[i]);
      midLayers = std::max(midLayers, sum), tailLayers = sum;
    }
  }
  double perStage = p == 1 ? layers : midLayers;
  double routed = m.experts.count ? d(m.layers - m.experts.denseLayers) / d(m.layers) : 0;

  Piece one;
  if (routed > 0)
    one.add(both(true), routed);
  if (routed < 1)
    one.add(both(false), 1 - routed);
  Piece last = head(), first = embedding();

  // Parameters of one device, for state traffic and reductions.
  double q = a * dh, kv = g * dh, matrices = m.gated ? 3 : 2;
  double attention = h * (2 * q + 2 * kv);
  if (m.latent.kvRank)
    attention = h * d(m.latent.qRank + m.latent.kvRank + m.latent.ropeDim) +
                a * (d(m.latent.qRank) * d(m.latent.nopeDim + m.latent.ropeDim) +
                     d(m.latent.kvRank) * d(m.latent.nopeDim + m.latent.valueDim) + h * d(m.latent.valueDim));
  double dense = attention + (1 - routed) * matrices * h * f +
                 routed * matrices * h * d(m.experts.shared * m.experts.ffn) / t;
  double expert = routed * 3 * h * d(m.experts.ffn) * d(m.experts.count) /
                  (d(x.expert) * std::max(1.0, d(x.expertTensor)));
  double table = d(m.vocab) * h / t;
  double denseHere = dense * layers / p + (p > 1 ? table : (m.tied ? 1 : 2) * table);
  double expertsHere = expert * layers / p;

  double shards = dp * cp;
  Group data = fabric.group(shards, t);
  double expertShards = std::max(1.0, shards * t / (d(x.expert) * std::max(1.0, d(x.expertTensor))));
  Group expertData = fabric.group(expertShards, d(x.expert));
  double gradientBytes = x.gradientsF32 ? 4 : 2;

  StepTime r;
  double gatherPerMicro = 0;
  if (x.zero == Zero::Parameters && shards > 1) {
    // Two gathers of 16-bit parameters and a scatter of gradients a micro-batch, under the layers' work.
    double bytes = dense + expert;
    double move = 2 * fabric.ring(bytes * 2, data) + fabric.ring(bytes * gradientBytes, data);
    double work = one.seconds();
    double left = std::max(0.0, beside(work, move) - work);
    gatherPerMicro = (left + c.stack.gatherExposed * std::min(move, work)) * perStage;
    gatherPerMicro += c.stack.gatherExposed * 3 * fabric.ring(table * 2, data);
  }

  // Stages: the slowest paces all of them, the others are waited for once.
  Piece middle;
  middle.add(one, perStage);
  double stageMid = middle.seconds();
  Piece tail;
  tail.add(one, p == 1 ? layers : tailLayers).add(last, 1);
  if (p == 1)
    tail.add(first, 1);
  Piece front;
  front.add(one, frontLayers).add(first, 1);
  const Piece *slowest = &tail;
  if (p > 1 && front.seconds() > slowest->seconds())
    slowest = &front;
  if (p > 2 && stageMid > slowest->seconds())
    slowest = &middle;
  const Piece &pace = *slowest;
  double slow = pace.seconds() + c.stack.micro;
  double round = p == 1 ? slow : std::max(0.0, p - 2) * stageMid + tail.seconds() + front.seconds();
  r.products = micros * pace.products, r.attention = micros * pace.attention,
  r.traffic = micros * pace.traffic;
  r.tensor = micros * pace.tensor;
  r.host = micros * (slow - pace.device());
  if (p > 1) {
    double even = round / p, fwd = even / 3,
           share = bubblePerStage(x.schedule, x.chunks, fwd, fwd, fwd) / even;
    r.bubble = std::max(0.0, round - slow + (p - 1) * c.stack.micro) * share;
    double bytes = n * h * 2 / (x.sequenceParallel ? t : 1);
    double hop = 2 * fabric.transfer(bytes, dp * cp * t) * chunks;
    r.stages = (micros * c.stack.stageExposed + (p - 1)) * hop;
  }
  r.gradients = micros * gatherPerMicro;
  if (x.zero != Zero::Parameters && shards > 1) {
    double reduce = fabric.ring(denseHere * gradientBytes, data, 1) +
                    fabric.ring(expertsHere * gradientBytes, expertData, 1);
    double gather = fabric.ring(denseHere * 2, data) + fabric.ring(expertsHere * 2, expertData);
    if (x.zero == Zero::None)
      gather = gather * gradientBytes / 2;
    r.gradients += (reduce + gather) * c.stack.gradientExposed;
  }
  if (p > 1)
    r.gradients += 0.5 * fabric.ring(table * gradientBytes, fabric.group(2, dp * cp * t * (p - 1)), 2);
  double state =
      x.zero == Zero::None ? denseHere + expertsHere : denseHere / shards + expertsHere / expertShards;
  r.optimizer = c.stack.step + 34 * state / memory;

  double site = c.cluster.site;
  for (double *term : {&r.products, &r.attention, &r.traffic, &r.host, &r.tensor, &r.bubble, &r.stages,
                       &r.gradients, &r.optimizer}) {
    *term *= site;
    r.total += *term;
  }
  return r;
}

} // namespace

double bubblePerStage(ScheduleKind schedule, int64_t chunks, double f, double b, double w) {
  switch (schedule) {
  case ScheduleKind::GPipe:
  case ScheduleKind::OneFOneB:
    return f + b + w;
  case ScheduleKind::Interleaved:
    return (f + b + w) / std::max<double>(1, d(chunks));
  case ScheduleKind::ZbH1:
    return std::max(0.0, f + b - w);
  case ScheduleKind::ZbH2:
  case ScheduleKind::ZbV:
    return std::max(0.0, f + b - 2 * w);
  case ScheduleKind::VHalf:
    return (f + b + w) / 2;
  case ScheduleKind::DualPipeV:
    return std::max(0.0, f + 2 * b - w) / 2;
  }
  return f + b + w;
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
  return Model(model, work, machine, constants, tactics).step();
}

} // namespace hocket::cost
