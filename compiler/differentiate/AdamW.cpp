#include "compiler/differentiate/AdamW.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket {

using B = ImplicitLocOpBuilder;

Term globalNorm(Build &build, ArrayRef<Updated> parameters) {
  SmallVector<Term> squares;
  for (const Updated &p : parameters)
    squares.push_back(build.dot(p.gradient, p.gradient, ""));
  // The sum alone is a map of its own: partial squares stay partial through it.
  Term sum = build.map(squares, "", [](B &b, ValueRange a) -> Scalars {
    Value total = a[0];
    for (Value v : a.drop_front())
      total = arith::AddFOp::create(b, total, v);
    return {total};
  });
  return build.map(sum, "", [](B &b, ValueRange a) -> Scalars { return {math::SqrtOp::create(b, a[0])}; });
}

Term clipFactor(Build &build, const Term &norm, double clip) {
  return build.map(norm, "", [&](B &b, ValueRange a) -> Scalars {
    Value limit = scalar(b, a[0].getType(), clip);
    return {arith::DivFOp::create(b, limit, arith::MaximumFOp::create(b, a[0], limit))};
  });
}

/// g' = factor g; m' = b1 m + (1 - b1) g'; v' = b2 v + (1 - b2) g'^2;
/// p' = p - lr (decay p + (m' / c1) / (sqrt(v' / c2) + eps))
void update(Build &build, const AdamW &options, Updated &p, std::optional<Term> factor, const Term &lr,
            const Term &c1, const Term &c2) {
  SmallVector<Term> inputs{p.parameter, p.gradient, p.m, p.v};
  if (factor)
    inputs.push_back(*factor);
  inputs.append({lr, c1, c2});
  std::string letters = p.parameter.letters;
  auto terms = build.mapN(inputs, letters, [&](B &b, ValueRange a) -> Scalars {
    Type t = a[0].getType();
    auto constant = [&](double value) { return scalar(b, t, value); };
    auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto div = [&](Value x, Value y) -> Value { return arith::DivFOp::create(b, x, y); };
    Value parameter = a[0], lr = a[a.size() - 3], c1 = a[a.size() - 2], c2 = a[a.size() - 1];
    Value g = factor ? mul(a[1], a[4]) : a[1];
    Value m = add(mul(constant(options.beta1), a[2]), mul(constant(1 - options.beta1), g));
    Value v = add(mul(constant(options.beta2), a[3]), mul(constant(1 - options.beta2), mul(g, g)));
    Value step = div(div(m, c1), add(math::SqrtOp::create(b, div(v, c2)), constant(options.eps)));
    if (p.decay && options.decay != 0)
      step = add(mul(constant(options.decay), parameter), step);
    return {arith::SubFOp::create(b, parameter, mul(lr, step)), m, v};
  });
  p.parameter = terms[0];
  p.m = terms[1];
  p.v = terms[2];
}

} // namespace hocket
