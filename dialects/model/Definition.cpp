#include "dialects/model/Definition.h"
#include "dialects/model/Build.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace hocket::model;

namespace {

using B = ImplicitLocOpBuilder;
using Values = SmallVector<Value>;

/// Takes the place of minus infinity: exp(kMasked - m) is 0 for every finite m
/// that occurs, and no infinity meets an infinity.
constexpr double kMasked = -1e30;

Value add(B &b, Value x, Value y) { return arith::AddFOp::create(b, x, y); }
Value sub(B &b, Value x, Value y) { return arith::SubFOp::create(b, x, y); }
Value mul(B &b, Value x, Value y) { return arith::MulFOp::create(b, x, y); }
Value div(B &b, Value x, Value y) { return arith::DivFOp::create(b, x, y); }
Value select(B &b, Value c, Value x, Value y) { return arith::SelectOp::create(b, c, x, y); }
Value compare(B &b, arith::CmpIPredicate p, Value x, Value y) { return arith::CmpIOp::create(b, p, x, y); }
using Cmp = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// 1 / sqrt(total / n + eps)
Term inverseRoot(Build &build, const Term &total, double n, double eps) {
  return build.map(total, total.letters, [&](B &b, ValueRange a) -> Scalars {
    Type t = a[0].getType();
    return {math::RsqrtOp::create(b, add(b, div(b, a[0], scalar(b, t, n)), scalar(b, t, eps)))};
  });
}

Term product(Build &build, const Term &x, const Term &y) {
  return build.map({x, y}, unite(x.letters, y.letters),
                   [](B &b, ValueRange a) -> Scalars { return {mul(b, a[0], a[1])}; });
}

Values rmsnorm(Build &build, RmsNormOp op) {
  Term x = operandTerm(op, 0), w = operandTerm(op, 1);
  std::string rows = minus(x.letters, w.letters);
  Term squares = build.map(x, x.letters, [](B &b, ValueRange a) -> Scalars { return {mul(b, a[0], a[0])}; });
  Term r =
      inverseRoot(build, build.reduce(squares, rows), x.extent(w.letters[0]), op.getEps().convertToDouble());
  Term y = build.map({x, r, w}, x.letters,
                     [](B &b, ValueRange a) -> Scalars { return {mul(b, mul(b, a[0], a[1]), a[2])}; });
  return {y.value, r.value};
}

/// With u = x r and g = dy w: dx = r (g - u mean(g u)), dw = sum dy u.
Values rmsnormGrad(Build &build, RmsNormGradOp op) {
  Term dy = operandTerm(op, 0), x = operandTerm(op, 1), r = operandTerm(op, 2), w = operandTerm(op, 3);
  std::string rows = r.letters;
  double n = double(x.extent(w.letters[0]));
  auto terms = build.mapN({dy, x, r, w}, x.letters, [](B &b, ValueRange a) -> Scalars {
    Value weight = mul(b, a[0], mul(b, a[1], a[2]));
    return {weight, mul(b, weight, a[3])};
  });
  Term total = build.reduce(terms[1], rows);
  Term dx = build.map({dy, x, r, w, total}, x.letters, [&](B &b, ValueRange a) -> Scalars {
    Value mean = div(b, a[4], scalar(b, a[4].getType(), n));
    return {mul(b, a[2], sub(b, mul(b, a[0], a[3]), mul(b, mul(b, a[1], a[2]), mean)))};
  });
  return {dx.value, build.reduce(terms[0], w.letters).value};
}

Values layernorm(Build &build, LayerNormOp op) {
  Term x = operandTerm(op, 0), w = operandTerm(op, 1), bias = operandTerm(op, 2);
  std::string rows = minus(x.letters, w.letters);
  double n = double(x.extent(w.letters[0]));
  Term mean = build.map(build.reduce(x, rows), rows, [&](B &b, ValueRange a) -> Scalars {
    return {div(b, a[0], scalar(b, a[0].getType(), n))};
  });
  Term squares = build.map({x, mean}, x.letters, [](B &b, ValueRange a) -> Scalars {
    Value centred = sub(b, a[0], a[1]);
    return {mul(b, centred, centred)};
  });
  Term r = inverseRoot(build, build.reduce(squares, rows), n, op.getEps().convertToDouble());
  Term y = build.map({x, mean, r, w, bias}, x.letters, [](B &b, ValueRange a) -> Scalars {
    return {add(b, mul(b, mul(b, sub(b, a[0], a[1]), a[2]), a[3]), a[4])};
  });
  return {y.value, mean.value, r.value};
}

/// With u = (x - mean) r and g = dy w: dx = r (g - mean(g) - u mean(g u)),
/// dw = sum dy u, db = sum dy.
Values layernormGrad(Build &build, LayerNormGradOp op) {
  Term dy = operandTerm(op, 0), x = operandTerm(op, 1), mean = operandTerm(op, 2), r = operandTerm(op, 3),
       w = operandTerm(op, 4);
  double n = double(x.extent(w.letters[0]));
  auto terms = build.mapN({dy, x, mean, r, w}, x.letters, [](B &b, ValueRange a) -> Scalars {
    Value u = mul(b, sub(b, a[1], a[2]), a[3]), weight = mul(b, a[0], u);
    return {weight, mul(b, a[0], a[4]), mul(b, weight, a[4])};
  });
  Term gSum = build.reduce(terms[1], r.letters), guSum = build.reduce(terms[2], r.letters);
  Term dx = build.map({dy, x, mean, r, w, gSum, guSum}, x.letters, [&](B &b, ValueRange a) -> Scalars {
    Value count = scalar(b, a[0].getType(), n);
    Value u = mul(b, sub(b, a[1], a[2]), a[3]), g = mul(b, a[0], a[4]);
    return {mul(b, a[3], sub(b, sub(b, g, div(b, a[5], count)), mul(b, u, div(b, a[6], count))))};
  });
  return {dx.value, build.reduce(terms[0], w.letters).value, build.reduce(dy, w.letters).value};
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

/// The frequency of pair `pair` (f64) of half = d/2 pairs; all in f64, since an
/// angle of 1e5 radians needs more than f32's digits.
Value frequency(B &b, RopeOp op, Value pair, double half) {
  Type f64 = b.getF64Type();
  Value freq =
      math::ExpOp::create(b, mul(b, pair, scalar(b, f64, -std::log(op.getTheta().convertToDouble()) / half)));
  auto scaling = op.getScaling();
  if (!scaling)
    return freq;
  double factor = (*scaling)[0], low = (*scaling)[1], high = (*scaling)[2], original = (*scaling)[3];
  // Turns within the original context: above `high` kept, below `low` divided
  // by the factor, linear between.
  Value turns = mul(b, freq, scalar(b, f64, original / (2 * std::numbers::pi)));
  Value smooth = div(b, sub(b, turns, scalar(b, f64, low)), scalar(b, f64, high - low));
  smooth = arith::MaximumFOp::create(b, smooth, scalar(b, f64, 0));
  smooth = arith::MinimumFOp::create(b, smooth, scalar(b, f64, 1));
  Value slow = mul(b, sub(b, scalar(b, f64, 1), smooth), div(b, freq, scalar(b, f64, factor)));
  return add(b, slow, mul(b, smooth, freq));
}

Value toFloat(B &b, Type type, Value x) {
  if (x.getType() == type)
    return x;
  if (cast<FloatType>(type).getWidth() > cast<FloatType>(x.getType()).getWidth())
    return arith::ExtFOp::create(b, type, x);
  return arith::TruncFOp::create(b, type, x);
}

/// The partner of element i is i + d/2 or i - d/2: a gather along the last letter.
Values rope(Build &build, RopeOp op) {
  Term x = operandTerm(op, 0), positions = operandTerm(op, 1);
  char d = x.letters.back(), partner = 'a';
  while (StringRef(x.letters).contains(partner))
    ++partner;
  int64_t extent = x.extent(d);
  double half = double(extent / 2);
  Term index = build.iota(d, extent);
  Term other = build.map(index, index.letters, [&](B &b, ValueRange a) -> Scalars {
    Value h = scalar(b, a[0].getType(), half);
    Value first = compare(b, Cmp::slt, a[0], h);
    return {select(b, first, arith::AddIOp::create(b, a[0], h), arith::SubIOp::create(b, a[0], h))};
  });
  std::string letters = StringRef(x.letters).drop_back().str() + partner;
  Term swapped = build.gather(x, other.renamed(d, partner), letters).renamed(partner, d);
  Term y = build.map({x, swapped, positions, index}, x.letters, [&](B &b, ValueRange a) -> Scalars {
    Type f64 = b.getF64Type(), t = a[0].getType();
    Value h = scalar(b, a[3].getType(), half);
    Value first = compare(b, Cmp::slt, a[3], h);
    Value pair = select(b, first, a[3], arith::SubIOp::create(b, a[3], h));
    Value freq = frequency(b, op, arith::SIToFPOp::create(b, f64, pair), half);
    Value angle = mul(b, arith::SIToFPOp::create(b, f64, a[2]), freq);
    Value cos = toFloat(b, t, math::CosOp::create(b, angle)),
          sin = toFloat(b, t, math::SinOp::create(b, angle));
    double sign = op.getInverse() ? 1 : -1; // of sin in the first half
    Value turn = mul(b, select(b, first, scalar(b, t, sign), scalar(b, t, -sign)), sin);
    return {add(b, mul(b, a[0], cos), mul(b, a[1], turn))};
  });
  return {y.value};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// scale q.k, kMasked where the key is after the query.
Term scores(Build &build, const Term &q, const Term &k, const Term &qpos, const Term &kpos,
            const std::string &rows, StringRef mask, double scale) {
  std::string letters = rows + kpos.letters;
  Term products = build.dot(q, k, letters);
  if (mask == "none")
    return build.map(products, letters, [&](B &b, ValueRange a) -> Scalars {
      return {mul(b, a[0], scalar(b, a[0].getType(), scale))};
    });
  return build.map({products, qpos, kpos}, letters, [&](B &b, ValueRange a) -> Scalars {
    Type t = a[0].getType();
    Value seen = compare(b, Cmp::sle, a[2], a[1]);
    return {select(b, seen, mul(b, a[0], scalar(b, t, scale)), scalar(b, t, kMasked))};
  });
}

Term expMinus(Build &build, const Term &x, const Term &m) {
  return build.map({x, m}, x.letters, [](B &b, ValueRange a) -> Scalars {
    return {math::ExpOp::create(b, sub(b, a[0], a[1]))};
  });
}

Term addLog(Build &build, const Term &m, const Term &sum) {
  return build.map({m, sum}, m.letters, [](B &b, ValueRange a) -> Scalars {
    return {add(b, a[0], math::LogOp::create(b, a[1]))};
  });
}

Values attention(Build &build, AttentionOp op) {
  Term q = operandTerm(op, 0), k = operandTerm(op, 1), v = operandTerm(op, 2), qpos = operandTerm(op, 3),
       kpos = operandTerm(op, 4);
  std::string rows = op.getLetters().results[1];
  Term s = scores(build, q, k, qpos, kpos, rows, op.getMask(), op.getScale().convertToDouble());
  Term m = build.reduce(s, rows, "max");
  Term e = addLog(build, m, build.reduce(expMinus(build, s, m), rows));
  Term o = build.dot(expMinus(build, s, e), v, q.letters);
  return {o.value, e.value};
}

/// p = exp(s - e), dp = do.v, ds = scale p (dp - do.o); dq = ds.k, dk = ds.q, dv = p.do.
Values attentionGrad(Build &build, AttentionGradOp op) {
  Term dout = operandTerm(op, 0), q = operandTerm(op, 1), k = operandTerm(op, 2), v = operandTerm(op, 3),
       o = operandTerm(op, 4), e = operandTerm(op, 5), qpos = operandTerm(op, 6), kpos = operandTerm(op, 7);
  double scale = op.getScale().convertToDouble();
  Term p = expMinus(build, scores(build, q, k, qpos, kpos, e.letters, op.getMask(), scale), e);
  Term dp = build.dot(dout, v, p.letters);
  Term delta = build.reduce(product(build, dout, o), e.letters);
  Term ds = build.map({p, dp, delta}, p.letters, [&](B &b, ValueRange a) -> Scalars {
    return {mul(b, mul(b, a[0], sub(b, a[1], a[2])), scalar(b, a[0].getType(), scale))};
  });
  return {build.dot(ds, k, q.letters).value, build.dot(ds, q, k.letters).value,
          build.dot(p, dout, k.letters).value};
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

Value zero(B &b, Value like) { return scalar(b, like.getType(), 0); }

Values xent(Build &build, XentOp op) {
  Term x = operandTerm(op, 0), labels = operandTerm(op, 1);
  std::string rows = labels.letters;
  char v = minus(x.letters, rows)[0];
  if (auto valid = op.getValid(); valid && int64_t(*valid) < x.extent(v))
    x = build.map({x, build.iota(v, x.extent(v))}, x.letters, [&](B &b, ValueRange a) -> Scalars {
      Value real = compare(b, Cmp::slt, a[1], scalar(b, a[1].getType(), double(*valid)));
      return {select(b, real, a[0], scalar(b, a[0].getType(), kMasked))};
    });
  Term m = build.reduce(x, rows, "max");
  Term lse = addLog(build, m, build.reduce(expMinus(build, x, m), rows));
  Term picked = build.gather(x, labels, rows);
  Term each = build.map({lse, picked, labels}, rows, [&](B &b, ValueRange a) -> Scalars {
    Value loss = mul(b, sub(b, a[0], a[1]), scalar(b, a[0].getType(), op.getScale().convertToDouble()));
    return {select(b, compare(b, Cmp::slt, a[2], zero(b, a[2])), zero(b, loss), loss)};
  });
  return {build.reduce(each, "").value, lse.value};
}

Values xentGrad(Build &build, XentGradOp op) {
  Term x = operandTerm(op, 0), labels = operandTerm(op, 1), lse = operandTerm(op, 2);
  char v = minus(x.letters, labels.letters)[0];
  int64_t classes = x.extent(v);
  Term dx =
      build.map({x, labels, lse, build.iota(v, classes)}, x.letters, [&](B &b, ValueRange a) -> Scalars {
        Type t = a[0].getType();
        Value p = math::ExpOp::create(b, sub(b, a[0], a[2]));
        Value hit = select(b, compare(b, Cmp::eq, a[1], a[3]), scalar(b, t, 1), scalar(b, t, 0));
        Value d = mul(b, sub(b, p, hit), scalar(b, t, op.getScale().convertToDouble()));
        Value none = compare(b, Cmp::slt, a[1], zero(b, a[1]));
        if (auto valid = op.getValid(); valid && int64_t(*valid) < classes)
          none = arith::OrIOp::create(b, none,
                                      compare(b, Cmp::sge, a[3], scalar(b, a[3].getType(), double(*valid))));
        return {select(b, none, scalar(b, t, 0), d)};
      });
  return {dx.value};
}

} // namespace

bool hocket::model::isFused(Operation *op) {
  return isa<RmsNormOp, RmsNormGradOp, LayerNormOp, LayerNormGradOp, RopeOp, AttentionOp, AttentionGradOp,
             XentOp, XentGradOp>(op);
}

Values hocket::model::buildDefinition(OpBuilder &builder, Operation *op) {
  Build build(builder, op->getLoc());
  return llvm::TypeSwitch<Operation *, Values>(op)
      .Case([&](RmsNormOp o) { return rmsnorm(build, o); })
      .Case([&](RmsNormGradOp o) { return rmsnormGrad(build, o); })
      .Case([&](LayerNormOp o) { return layernorm(build, o); })
      .Case([&](LayerNormGradOp o) { return layernormGrad(build, o); })
      .Case([&](RopeOp o) { return rope(build, o); })
      .Case([&](AttentionOp o) { return attention(build, o); })
      .Case([&](AttentionGradOp o) { return attentionGrad(build, o); })
      .Case([&](XentOp o) { return xent(build, o); })
      .Case([&](XentGradOp o) { return xentGrad(build, o); })
      .DefaultUnreachable("only fused ops have a definition");
}
