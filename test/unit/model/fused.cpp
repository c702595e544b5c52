//===- fused.cpp - Direct formulas of the fused ops -------------------------===//
//
// Written from the mathematics: a gradient is the product of the Jacobian with
// the adjoint, recomputed from the inputs and not from saved results.
//
//===----------------------------------------------------------------------===//
#include "interpreter.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace hocket::model;

namespace hocket::test {
namespace {

/// Loops of one frame: `row` over some letters, `over` over one letter.
struct Loops {
  Frame &f;
  void row(llvm::StringRef letters, const std::function<void()> &fn) {
    each(letters, f.extents, f.index, fn);
  }
  void over(char c, const std::function<void()> &fn) { each(std::string(1, c), f.extents, f.index, fn); }
  double sum(char c, const std::function<double()> &fn) {
    double total = 0;
    over(c, [&] { total += fn(); });
    return total;
  }
  double in(unsigned i) { return f.in(i).at(f.index); }
  double &out(unsigned i) { return f.out(i).at(f.index); }
  int64_t &at(char c) { return f.index[size_t(c)]; }
};

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

void rmsnorm(RmsNormOp op, Frame &f) {
  Loops l{f};
  char h = f.dims.operands[1][0];
  double n = double(f.extent(h)), eps = op.getEps().convertToDouble();
  l.row(f.dims.results[1], [&] {
    double r = 1 / std::sqrt(l.sum(h, [&] { return l.in(0) * l.in(0); }) / n + eps);
    l.out(1) = r;
    l.over(h, [&] { l.out(0) = l.in(0) * r * l.in(1); });
  });
}

/// dy_i/dx_j = w_i (r [i = j] - x_i x_j r^3 / n)
void rmsnormGrad(Frame &f) {
  Loops l{f};
  char h = f.dims.operands[3][0];
  double n = double(f.extent(h));
  l.row(f.dims.operands[2], [&] {
    double r = l.in(2), weighted = l.sum(h, [&] { return l.in(0) * l.in(3) * l.in(1); });
    l.over(h, [&] {
      l.out(0) = r * l.in(0) * l.in(3) - weighted * l.in(1) * r * r * r / n;
      l.out(1) += l.in(0) * l.in(1) * r;
    });
  });
}

void layernorm(LayerNormOp op, Frame &f) {
  Loops l{f};
  char h = f.dims.operands[1][0];
  double n = double(f.extent(h)), eps = op.getEps().convertToDouble();
  l.row(f.dims.results[1], [&] {
    double mean = l.sum(h, [&] { return l.in(0); }) / n;
    double var = l.sum(h, [&] { return (l.in(0) - mean) * (l.in(0) - mean); }) / n;
    double r = 1 / std::sqrt(var + eps);
    l.out(1) = mean;
    l.out(2) = r;
    l.over(h, [&] { l.out(0) = (l.in(0) - mean) * r * l.in(1) + l.in(2); });
  });
}

/// dy_i/dx_j = w_i r ([i = j] - 1/n - u_i u_j / n) with u = (x - mean) r
void layernormGrad(Frame &f) {
  Loops l{f};
  char h = f.dims.operands[4][0];
  double n = double(f.extent(h));
  l.row(f.dims.operands[2], [&] {
    double mean = l.in(2), r = l.in(3);
    auto u = [&] { return (l.in(1) - mean) * r; };
    double g = l.sum(h, [&] { return l.in(0) * l.in(4); }),
           gu = l.sum(h, [&] { return l.in(0) * l.in(4) * u(); });
    l.over(h, [&] {
      l.out(0) = r * (l.in(0) * l.in(4) - g / n - u() * gu / n);
      l.out(1) += l.in(0) * u();
      l.out(2) += l.in(0);
    });
  });
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

/// As transformers' modeling_rope_utils writes it, by wavelengths.
double frequency(RopeOp op, int64_t pair, int64_t d) {
  double freq = std::pow(op.getTheta().convertToDouble(), -2.0 * double(pair) / double(d));
  auto scaling = op.getScaling();
  if (!scaling)
    return freq;
  double factor = (*scaling)[0], low = (*scaling)[1], high = (*scaling)[2], original = (*scaling)[3];
  double wavelength = 2 * std::numbers::pi / freq;
  if (wavelength < original / high)
    return freq;
  if (wavelength > original / low)
    return freq / factor;
  double smooth = (original / wavelength - low) / (high - low);
  return (1 - smooth) * freq / factor + smooth * freq;
}

void rope(RopeOp op, Frame &f) {
  Loops l{f};
  std::string letters = f.dims.operands[0];
  char d = letters.back();
  int64_t half = f.extent(d) / 2;
  double direction = op.getInverse() ? -1 : 1;
  letters.pop_back();
  l.row(letters, [&] {
    for (int64_t i = 0; i < half; ++i) {
      double angle = direction * l.in(1) * frequency(op, i, 2 * half);
      l.at(d) = i;
      double a = l.in(0);
      l.at(d) = i + half;
      double b = l.in(0);
      l.out(0) = b * std::cos(angle) + a * std::sin(angle);
      l.at(d) = i;
      l.out(0) = a * std::cos(angle) - b * std::sin(angle);
    }
  });
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Softmax of one row over t, from q and k; gives the log-sum-exp.
double probabilities(Loops &l, unsigned q, unsigned k, unsigned qpos, unsigned kpos, char t, char d,
                     bool causal, double scale, std::vector<double> &p) {
  p.assign(size_t(l.f.extent(t)), 0.0);
  double largest = -HUGE_VAL, total = 0;
  auto seen = [&] { return !causal || l.in(kpos) <= l.in(qpos); };
  l.over(t, [&] {
    double score = scale * l.sum(d, [&] { return l.in(q)*l.in(k); });
    p[size_t(l.at(t))] = score;
    if (seen())
      largest = std::max(largest, score);
  });
  l.over(t, [&] {
    double &x = p[size_t(l.at(t))];
    x = seen() ? std::exp(x - largest) : 0.0;
    total += x;
  });
  for (double &x : p)
    x /= total;
  return largest + std::log(total);
}

void attention(AttentionOp op, Frame &f) {
  Loops l{f};
  char t = f.dims.operands[4][0], d = minus(f.dims.operands[0], f.dims.results[1])[0];
  std::vector<double> p;
  l.row(f.dims.results[1], [&] {
    l.out(1) =
        probabilities(l, 0, 1, 3, 4, t, d, op.getMask() == "causal", op.getScale().convertToDouble(), p);
    l.over(d, [&] { l.out(0) = l.sum(t, [&] { return p[size_t(l.at(t))] * l.in(2); }); });
  });
}

void attentionGrad(AttentionGradOp op, Frame &f) {
  Loops l{f};
  char t = f.dims.operands[7][0], d = minus(f.dims.operands[1], f.dims.operands[5])[0];
  double scale = op.getScale().convertToDouble();
  std::vector<double> p;
  l.row(f.dims.operands[5], [&] {
    probabilities(l, 1, 2, 6, 7, t, d, op.getMask() == "causal", scale, p);
    auto dp = [&] { return l.sum(d, [&] { return l.in(0) * l.in(3); }); }; // of one t
    double mean = l.sum(t, [&] { return p[size_t(l.at(t))] * dp(); });
    l.over(t, [&] {
      double probability = p[size_t(l.at(t))], ds = probability * (dp() - mean) * scale;
      l.over(d, [&] {
        l.out(0) += ds * l.in(2);
        l.out(1) += ds * l.in(1);
        l.out(2) += probability * l.in(0);
      });
    });
  });
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

double logSumExp(Loops &l, char v, int64_t valid) {
  double largest = -HUGE_VAL, total = 0;
  l.over(v, [&] { largest = l.at(v) < valid ? std::max(largest, l.in(0)) : largest; });
  l.over(v, [&] { total += l.at(v) < valid ? std::exp(l.in(0) - largest) : 0.0; });
  return largest + std::log(total);
}

void xent(XentOp op, Frame &f) {
  Loops l{f};
  char v = minus(f.dims.operands[0], f.dims.operands[1])[0];
  int64_t valid = op.getValid().value_or(uint64_t(f.extent(v)));
  l.row(f.dims.operands[1], [&] {
    double lse = l.out(1) = logSumExp(l, v, valid);
    int64_t label = int64_t(l.in(1));
    if (label < 0)
      return;
    l.at(v) = label;
    l.out(0) += op.getScale().convertToDouble() * (lse - l.in(0));
  });
}

void xentGrad(XentGradOp op, Frame &f) {
  Loops l{f};
  char v = minus(f.dims.operands[0], f.dims.operands[1])[0];
  int64_t valid = op.getValid().value_or(uint64_t(f.extent(v)));
  l.row(f.dims.operands[1], [&] {
    double lse = logSumExp(l, v, valid);
    l.over(v, [&] {
      bool counts = l.in(1) >= 0 && l.at(v) < valid;
      double hit = l.at(v) == int64_t(l.in(1)) ? 1 : 0;
      l.out(0) = counts ? op.getScale().convertToDouble() * (std::exp(l.in(0) - lse) - hit) : 0.0;
    });
  });
}

} // namespace

bool evaluateFused(Operation *op, Frame &f) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](RmsNormOp o) { return rmsnorm(o, f), true; })
      .Case([&](RmsNormGradOp) { return rmsnormGrad(f), true; })
      .Case([&](LayerNormOp o) { return layernorm(o, f), true; })
      .Case([&](LayerNormGradOp) { return layernormGrad(f), true; })
      .Case([&](RopeOp o) { return rope(o, f), true; })
      .Case([&](AttentionOp o) { return attention(o, f), true; })
      .Case([&](AttentionGradOp o) { return attentionGrad(o, f), true; })
      .Case([&](XentOp o) { return xent(o, f), true; })
      .Case([&](XentGradOp o) { return xentGrad(o, f), true; })
      .Default(false);
}

} // namespace hocket::test
