#include "compiler/cost/step_time.h"

#include <algorithm>
#include <cmath>

namespace hocket::cost {

namespace {

double d(int64_t n) { return static_cast<double>(n); }

/// Whether an extent is no multiple of 8.
bool odd(double extent) {
  double eighth = extent / 8;
  return double(int64_t(eighth)) != eighth;
}

/// One layer, the head and the embedding, term by term.
class LayerModel {
public:
  LayerModel(const ModelShape &m, const Workload &w, const Machine &machine, const Constants &c,
             const Fabric &fabric, const Tactics &x)
      : m(m), w(w), machine(machine), c(c), x(x), fabric(fabric), axes(placed(x)) {
    t = d(x.tensor), cp = d(x.context);
    n = d(x.microBatch) * d(w.sequence) / cp;
    nSeq = x.sequenceParallel ? n / t : n;
    h = d(m.hidden), a = d(m.heads) / t, dh = d(m.headDim), f = d(m.ffn) / t;
    g = std::max(1.0, d(m.kvHeads) / t);
    memory = machine.device.memoryRate * c.device.memory;
    // Attention and the head stay in 16 bits where products are narrower, and wide where they are wide.
    peak16 = machine.device
                 .peak[static_cast<size_t>(elementBytes(x.precision) > 2 ? x.precision : Precision::F16)];
    rate16 = peak16 * c.device.f16;
    rate = rateOf(x.precision);
    e = elementBytes(x.precision);
    tensorGroup = fabric.group(axes[size_t(Axis::Tensor)]);
  }

  LayerTime shared() const;
  LayerTime experts() const;
  LayerTime context() const;

private:
  const ModelShape &m;
  const Workload &w;
  const Machine &machine;
  const Constants &c;
  const Tactics &x;
  const Fabric &fabric;
  std::array<PlacedAxis, 4> axes;
  double t, cp, n, nSeq, h, a, dh, f, g, e, memory, peak16, rate16, rate;
  RingGroup tensorGroup;

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
    double misaligned = odd(columns) || odd(inner) ? c.device.misaligned : 1;
    double arithmetic = 2 * rows * columns * inner / at * waves(rows * count, columns) * misaligned;
    double operands = e * (rows * columns + columns * inner + rows * inner) / memory;
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

  /// Of the layers, those with experts.
  double routed() const { return m.experts.count ? d(m.layers - m.experts.denseLayers) / d(m.layers) : 0; }
  /// `share` of a layer's passes.
  static void add(LayerTime &out, const Piece &forward, Piece backward, double share) {
    out.forward.add(forward, share);
    out.work.add(backward.add(forward, 1), share);
  }
  void core(Piece &forward, Piece &backward) const;
  Piece head() const;
  Piece embedding() const;
};

void LayerModel::core(Piece &forward, Piece &backward) const {
  double s = d(w.sequence), window = m.window ? std::min<double>(d(m.window), s) : s;
  bool kept = c.attention.scoreBytes > 0;
  double qk = m.latent.kvRank ? d(m.latent.nopeDim + m.latent.ropeDim) : dh;
  double v = m.latent.kvRank ? d(m.latent.valueDim) : dh;
  // A fused kernel skips what the causal mask hides.
  double scores = n * a * (w.causal && !kept ? 0.5 : 1) * window;
  double misaligned = odd(dh) ? c.attention.misaligned : 1;
  forward.attention += misaligned * 2 * scores * (qk + v) / (peak16 * c.attention.forward);
  // A fused backward pass computes scores again: 5 products for 2.
  backward.attention += misaligned * (kept ? 4 : 5) * scores * (qk + v) / (peak16 * c.attention.backward);
  forward.attention += scores * c.attention.scoreBytes / memory;
  backward.attention += scores * c.attention.scoreBytes * 1.2 / memory;
}

LayerTime LayerModel::experts() const {
  LayerTime out;
  if (routed() <= 0)
    return out;
  Piece forward, backward;
  double et = std::max(1.0, d(x.expertTensor)), fe = d(m.experts.ffn), k = d(m.experts.topk);
  double local = std::max(1.0, d(m.experts.count) / d(x.expert));
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
  double bytes = own * k * h * e;
  double move = 2 * fabric.allToAll(bytes, expertGroups(fabric, x, axes).experts, k) * c.stack.tensorExposed;
  forward.tensor += move, backward.tensor += move;
  add(out, forward, backward, routed());
  return out;
}

/// All but routed experts and what joins the parts of a sequence.
LayerTime LayerModel::shared() const {
  Piece forward, backward;
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
  if (t > 1) {
    double one = fabric.ring(n * h * e, tensorGroup, 2) * c.stack.tensorExposed;
    forward.tensor += 2 * one, backward.tensor += 2 * one;
  }
  // Two collectives take the host two launches each (the event that is waited for, the call), and where
  // all ranks of a host take part they wait for the latest of them.
  double calls = t > 1 ? std::min(16.0, std::max(4.0, t * t / 4)) : 0;
  forward.host = c.stack.launch * (22 + calls), backward.host = c.stack.launch * (36 + calls);
  LayerTime out;
  add(out, forward, backward, 1);

  Piece dense[2], launches[2];
  linear(dense[0], dense[1], n, m.gated ? 2 * f : f, h);
  linear(dense[0], dense[1], n, h, f);
  stream(dense[0], dense[1], n * f * (m.gated ? 6 : 4));
  add(out, dense[0], dense[1], 1 - routed());
  // Experts launch 50 and 80 kernels in all.
  launches[0].host = c.stack.launch * (50 - 22), launches[1].host = c.stack.launch * (80 - 36);
  add(out, launches[0], launches[1], routed());
  out.head = head(), out.embedding = embedding();
  return out;
}

/// How the parts of a sequence meet.
LayerTime LayerModel::context() const {
  LayerTime out;
  if (cp <= 1)
    return out;
  Piece forward, backward, attention, behind;
  core(attention, behind);
  RingGroup group = fabric.group(axes[size_t(Axis::Context)]);
  double keys = n * 2 * g * dh * e; // of this device's tokens
  switch (x.contextKind) {
  case ContextKind::Ring: {
    // Keys and values go around beside the attention of those that are here.
    double move = fabric.ring(keys * cp, group);
    double left = std::min(move, std::max(0.0, move - 0.8 * attention.attention) + 0.15 * move);
    forward.tensor += left, backward.tensor += 2 * left;
    break;
  }
  case ContextKind::AllGather: {
    // Before attention, nothing to hide behind; backward again, and the sum of their gradients.
    double move = fabric.ring(keys * cp, group) * c.stack.tensorExposed;
    forward.tensor += move, backward.tensor += 2 * move;
    break;
  }
  case ContextKind::Ulysses: {
    // Queries and outputs, keys and values change from parts of the sequence to heads; fewer key heads
    // than devices are held several times.
    double move = 2 * fabric.allToAll(n * a * dh * e, group, 1) +
                  2 * fabric.allToAll(keys / 2 * std::max(1.0, cp / g), group, 1);
    move *= c.stack.tensorExposed;
    forward.tensor += move, backward.tensor += move;
    break;
  }
  }
  add(out, forward, backward, 1);
  return out;
}

Piece LayerModel::head() const {
  Piece out;
  double v = std::ceil(d(m.vocab) / t);
  out.products = product(n, v, h, rate16) + product(n, h, v, rate16) + product(h, v, n, rate16);
  // 16-bit logits to f32, maximum, exponentials, sum, gradient.
  out.traffic = n * v * 22 * c.stack.traffic / memory;
  if (t > 1)
    out.tensor = fabric.ring(n * h * e, tensorGroup, 2) * c.stack.tensorExposed;
  out.host = c.stack.launch * 40;
  return out;
}

Piece LayerModel::embedding() const {
  Piece out;
  out.traffic = n * h * 12 * c.stack.traffic / memory;
  if (t > 1)
    out.tensor = fabric.ring(n * h * e, tensorGroup, 2) * c.stack.tensorExposed;
  out.host = c.stack.launch * 12;
  return out;
}

} // namespace

LayerTime StepModel::shared(const Tactics &tactics) const {
  return LayerModel(m, w, hardware, c, fabric, tactics).shared();
}
LayerTime StepModel::experts(const Tactics &tactics) const {
  return LayerModel(m, w, hardware, c, fabric, tactics).experts();
}
LayerTime StepModel::context(const Tactics &tactics) const {
  return LayerModel(m, w, hardware, c, fabric, tactics).context();
}
LayerTime StepModel::layer(const Tactics &tactics) const {
  LayerModel model(m, w, hardware, c, fabric, tactics);
  return model.shared().add(model.experts()).add(model.context());
}

} // namespace hocket::cost
