//===- rope.cpp - Rotary position embedding ---------------------------------===//
//
// Work: positions. The cosines and sines of one position are computed once, in
// f64, for all heads and sequences.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"
#include <cmath>

using namespace mlir;

namespace hocket::kernels {

/// theta^(-2i/d), scaled as llama3 does. In long double, so that rounding to
/// double hides differences between the hosts' pow.
static std::vector<double> frequencies(int64_t d, double theta, std::optional<ArrayRef<double>> scaling) {
  std::vector<double> result;
  const long double pi = 3.14159265358979323846264338327950288L;
  for (int64_t i = 0; i < d / 2; ++i) {
    long double f = powl(theta, -2.0L * i / d);
    if (scaling) {
      long double factor = (*scaling)[0], low = (*scaling)[1], high = (*scaling)[2], original = (*scaling)[3];
      long double wave = 2 * pi / f;
      if (wave > original / low)
        f /= factor;
      else if (wave >= original / high) {
        long double smooth = (original / wave - low) / (high - low);
        f = (1 - smooth) * f / factor + smooth * f;
      }
    }
    result.push_back(double(f));
  }
  return result;
}

/// sin and cos of f64 values below 2^20 pi/2, to about 1 ulp: Cody and Waite's
/// reduction by pi/2 in three parts, then fdlibm's kernel polynomials.
static std::pair<X, X> sinCos(Code &c, X angle) {
  X n = c.wrap(math::RoundEvenOp::create(c.b, c.loc, (angle * 0.63661977236758134308).v));
  X minus = -n;
  X r = fma(minus, c.real(1.57079632673412561417e+00, n.element()), angle);
  r = fma(minus, c.real(6.07710050630396597660e-11, n.element()), r);
  r = fma(minus, c.real(2.02226624879595063154e-21, n.element()), r);
  X z = r * r;
  auto horner = [&](std::initializer_list<double> k) {
    X sum = c.splat(c.real(*k.begin(), z.element()), z.width());
    for (const double *p = k.begin() + 1; p != k.end(); ++p)
      sum = fma(sum, z, c.real(*p, z.element()));
    return sum;
  };
  X s = horner({1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01});
  s = fma(s * z, r, r);
  X k = horner({-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  k = fma(k * z, z, 1.0 - z * 0.5);
  X quadrant = c.cast(n, c.b.getI32Type());
  X odd = equal(quadrant & 1, c.integer(1, quadrant.element()));
  X zero = c.integer(0, quadrant.element());
  X sine = select(odd, k, s);
  X cosine = select(odd, s, k);
  X below = equal(quadrant & 2, zero);
  X left = equal((quadrant + 1) & 2, zero);
  sine = select(below, sine, -sine);
  cosine = select(left, cosine, -cosine);
  return {sine, cosine};
}

FailureOr<Recipe> ropeRecipe(model::RopeOp op) {
  model::Dims letters = op.getLetters();
  std::string x = letters.operands[0], p = letters.operands[1];
  int64_t d = shapeOf(op.getX()).back(); // even
  Recipe recipe;
  recipe.type = elementOf(op.getX());
  auto extents = model::extents(op, letters);
  recipe.work = extents[p[0]];
  auto strides = stridesOf(x, shapeOf(op.getX()));
  std::string others;
  for (char l : x)
    if (l != p[0] && l != x.back())
      others += l;
  std::vector<Dim> dims = coalesce(others, extents, {strides});
  int64_t stride = strides[p[0]];
  bool inverse = op.getInverse();
  std::vector<double> freq = frequencies(d, op.getTheta().convertToDouble(), op.getScaling());
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    int64_t half = d / 2;
    Value cosines = c.stack(half), sines = c.stack(half);
    c.loop(begin, end, 1, [&](X s) {
      X position = c.cast(c.load(args[1], s), c.b.getF64Type());
      for (int64_t i = 0; i < half; i += 8) {
        int64_t w = std::min<int64_t>(8, half - i);
        X f;
        if (w == 1)
          f = c.real(freq[i], c.b.getF64Type());
        else
          f = c.wrap(arith::ConstantOp::create(c.b, c.loc,
                                               DenseElementsAttr::get(VectorType::get({w}, c.b.getF64Type()),
                                                                      ArrayRef<double>(freq).slice(i, w))));
        auto [sine, cosine] = sinCos(c, f * position);
        if (inverse)
          sine = -sine;
        X at = c.index(i);
        c.store(c.cast(cosine, c.type), cosines, at);
        c.store(c.cast(sine, c.type), sines, at);
      }
      SmallVector<int64_t> loops;
      for (const Dim &dim : dims)
        loops.push_back(dim.extent);
      c.nest(loops, [&](ArrayRef<X> indices) {
        X low = offsetAt(c, dims, indices, 0) + s * stride;
        X high = low + half;
        c.lanes(half, [&](X i, int64_t w) {
          X a = c.load(args[0], low + i, w);
          X b = c.load(args[0], high + i, w);
          X cosine = c.load(cosines, i, w);
          X sine = c.load(sines, i, w);
          X first = a * cosine - b * sine;
          X second = b * cosine + a * sine;
          c.store(first, args[2], low + i);
          c.store(second, args[2], high + i);
        });
      });
    });
  };
  return recipe;
}

} // namespace hocket::kernels
