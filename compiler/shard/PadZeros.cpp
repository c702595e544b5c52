//===- PadZeros.cpp - Which ops keep the zeros of a padded letter ------------===//
//
// Pads hold zeros: then a sum over them is the true one, and gradients and moments
// of pads stay zero. Every op that has a padded letter must give zeros in the
// pads of its results for zeros in those of its operands. Sums of products do;
// a map does if its region gives zero, which is found by folding it with what is
// known: gelu(0 + 0) = 0 keeps zeros, a + rows or exp(a) do not.
//
//===----------------------------------------------------------------------===//
#include "compiler/shard/Steps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace hocket;

/// The value of a scalar where it is known.
using Known = std::optional<double>;

static Known fold(Operation &op, ArrayRef<Known> in) {
  using Unary = double (*)(double);
  auto unary = [&](Unary f) { return in[0] ? Known(f(*in[0])) : Known(); };
  auto both = [&](double (*f)(double, double)) {
    return in[0] && in[1] ? Known(f(*in[0], *in[1])) : Known();
  };
  return llvm::TypeSwitch<Operation *, Known>(&op)
      .Case([&](arith::ConstantOp c) {
        auto value = dyn_cast<FloatAttr>(c.getValue());
        return value ? Known(value.getValueAsDouble()) : Known();
      })
      .Case([&](arith::AddFOp) { return both([](double a, double b) { return a + b; }); })
      .Case([&](arith::SubFOp) { return both([](double a, double b) { return a - b; }); })
      .Case([&](arith::MulFOp) {
        // Finite factors: 0 x = 0.
        if (in[0] == Known(0.0) || in[1] == Known(0.0))
          return Known(0.0);
        return both([](double a, double b) { return a * b; });
      })
      .Case([&](arith::DivFOp) {
        if (in[0] == Known(0.0) && in[1] != Known(0.0))
          return Known(0.0);
        return both([](double a, double b) { return a / b; });
      })
      .Case([&](arith::MaximumFOp) { return both([](double a, double b) { return std::fmax(a, b); }); })
      .Case([&](arith::MinimumFOp) { return both([](double a, double b) { return std::fmin(a, b); }); })
      .Case([&](arith::SelectOp) { return in[1] == in[2] ? in[1] : Known(); })
      .Case([&](arith::NegFOp) { return unary([](double a) { return -a; }); })
      .Case([&](math::TanhOp) { return unary([](double a) { return std::tanh(a); }); })
      .Case([&](math::ErfOp) { return unary([](double a) { return std::erf(a); }); })
      .Case([&](math::SinOp) { return unary([](double a) { return std::sin(a); }); })
      .Case([&](math::CosOp) { return unary([](double a) { return std::cos(a); }); })
      .Case([&](math::ExpOp) { return unary([](double a) { return std::exp(a); }); })
      .Case([&](math::SqrtOp) { return unary([](double a) { return std::sqrt(a); }); })
      .Default(Known());
}

static bool mapKeepsZeros(model::MapOp map, char letter) {
  model::Dims dims = map.getLetters();
  llvm::DenseMap<Value, Known> known; // looked up, never iterated
  Block &body = map.getBody().front();
  for (auto [argument, letters] : llvm::zip(body.getArguments(), dims.operands))
    known[argument] =
        isa<FloatType>(argument.getType()) && StringRef(letters).contains(letter) ? Known(0.0) : Known();
  for (Operation &op : body.without_terminator()) {
    SmallVector<Known> in;
    for (Value operand : op.getOperands())
      in.push_back(known.lookup(operand));
    for (Value result : op.getResults())
      known[result] = fold(op, in);
  }
  return llvm::all_of(body.getTerminator()->getOperands(),
                      [&](Value v) { return known.lookup(v) == Known(0.0); });
}

bool shard::keepsZeros(Operation *op, char letter) {
  if (auto map = dyn_cast<model::MapOp>(op))
    return mapKeepsZeros(map, letter);
  if (auto reduce = dyn_cast<model::ReduceOp>(op))
    return reduce.getKind() == "sum" || reduce.getLetters().results[0].find(letter) != std::string::npos;
  // Pads of indices would be index 0.
  if (isa<model::GatherOp, model::ScatterAddOp>(op))
    return cast<model::LetterOp>(op).getLetters().operands[1].find(letter) == std::string::npos;
  // Cross-entropy masks the pads of its classes by `valid`; other fused ops count them in.
  if (isa<model::XentOp, model::XentGradOp>(op))
    return cast<model::LetterOp>(op).getLetters().operands[1].find(letter) == std::string::npos;
  if (auto constant = dyn_cast<model::ConstantOp>(op)) {
    auto value = dyn_cast<FloatAttr>(constant.getValue());
    return value && value.getValueAsDouble() == 0;
  }
  return isa<model::DotOp>(op);
}
