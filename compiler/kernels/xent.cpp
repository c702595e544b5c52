//===- xent.cpp - Cross-entropy of rows of logits ---------------------------===//
//
// A label outside [0, valid) is ignored. The loss is one sum in row order (f64
// inside), so its kernel has one unit of work; the gradient's unit is a row.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

static LogicalResult checkXent(Operation *op) {
  model::Dims letters = cast<model::LetterOp>(op).getLetters();
  StringRef logits = letters.operands[0];
  if (logits.empty() || letters.operands[1] != logits.drop_back())
    return op->emitError("the kernel takes classes as the last letter of \"")
           << logits << "\" and one label a row";
  return success();
}

static X isClass(Code &c, X label, int64_t valid) {
  return c.wrap(arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::ult, label.v, c.index(valid).v));
}

FailureOr<Recipe> xentRecipe(model::XentOp op) {
  if (failed(checkXent(op)))
    return failure();
  Recipe recipe;
  recipe.type = elementOf(op.getLogits());
  int64_t v = shapeOf(op.getLogits()).back(), valid = op.getValid().value_or(v);
  int64_t rows = elements(op.getLogits().getType()) / v;
  double scale = op.getScale().convertToDouble();
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value logits = args[0];
    Type wide = c.b.getF64Type();
    X lo = c.index(0);
    X hi = c.index(rows);
    X zero = c.real(0, wide);
    X total = c.loop(lo, hi, 1, {zero}, [&](X row, ArrayRef<X> acc) {
      X at = row * v;
      X top = c.fold(valid, {Code::Max}, [&](X i, int64_t w) { return Xs{c.load(logits, at + i, w)}; })[0];
      X sum = c.fold(valid, {Code::Sum},
                     [&](X i, int64_t w) { return Xs{exp(c.load(logits, at + i, w) - top)}; })[0];
      X lse = log(sum) + top;
      c.store(lse, args[3], row);
      X label = c.toIndex(c.load(args[1], row));
      X loss = c.choose(
          isClass(c, label, valid), [&] { return c.cast(lse - c.load(logits, at + label), wide); },
          [&] { return c.real(0, wide); });
      return Xs{acc[0] + loss};
    })[0];
    X loss = c.cast(total * scale, c.type);
    c.store(loss, args[2], lo);
  };
  return recipe;
}

FailureOr<Recipe> xentGradRecipe(model::XentGradOp op) {
  if (failed(checkXent(op)))
    return failure();
  Recipe recipe;
  recipe.type = elementOf(op.getLogits());
  int64_t v = shapeOf(op.getLogits()).back(), valid = op.getValid().value_or(v);
  recipe.work = elements(op.getLogits().getType()) / v;
  double scale = op.getScale().convertToDouble();
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value logits = args[0], out = args[3];
    c.loop(begin, end, 1, [&](X row) {
      X at = row * v;
      X label = c.toIndex(c.load(args[1], row));
      X lse = c.load(args[2], row);
      auto zero = [&](int64_t from, int64_t n) {
        X start = at + from;
        c.lanes(n, [&](X i, int64_t w) { c.store(c.real(0), out, start + i, w); });
      };
      c.when(
          isClass(c, label, valid),
          [&] {
            c.lanes(valid, [&](X i, int64_t w) {
              X p = exp(c.load(logits, at + i, w) - lse) * scale;
              c.store(p, out, at + i);
            });
            X hit = c.load(out, at + label) - scale;
            c.store(hit, out, at + label);
            zero(valid, v - valid);
          },
          [&] { zero(0, v); });
    });
  };
  return recipe;
}

} // namespace hocket::kernels
