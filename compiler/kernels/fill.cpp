//===- fill.cpp - Constants and counters ------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

static constexpr int64_t kChunk = 4096;

/// body(i, w) over the elements of [begin, end) chunks.
static void chunks(Code &c, int64_t n, X begin, X end, llvm::function_ref<void(X, int64_t)> body) {
  X limit = c.index(n);
  X lo = begin * kChunk;
  X hi = end * kChunk;
  c.lanes(lo, select(hi < limit, hi, limit), n, body);
}

FailureOr<Recipe> iotaRecipe(model::IotaOp op) {
  Recipe recipe;
  recipe.type = elementOf(op.getResult());
  int64_t n = elements(op.getType());
  bool hasOffset = bool(op.getOffset());
  recipe.work = ceilDiv(n, kChunk);
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    X first = c.index(0);
    if (hasOffset)
      first = c.toIndex(c.load(args[0], first));
    chunks(c, n, begin, end, [&](X i, int64_t w) {
      X start = c.cast(i + first, c.type);
      if (w > 1) {
        SmallVector<Attribute> steps;
        for (int64_t k = 0; k < w; ++k)
          steps.push_back(c.b.getIntegerAttr(c.type, k));
        auto dense = DenseElementsAttr::get(VectorType::get({w}, c.type), steps);
        X step = c.wrap(arith::ConstantOp::create(c.b, c.loc, dense));
        start = start + step;
      }
      c.store(start, args.back(), i, w);
    });
  };
  return recipe;
}

FailureOr<Recipe> constantRecipe(model::ConstantOp op) {
  Recipe recipe;
  recipe.type = elementOf(op.getResult());
  if (op.getValue().getType() != recipe.type)
    return op.emitError("the value's type is the element type");
  int64_t n = elements(op.getType());
  recipe.work = ceilDiv(n, kChunk);
  TypedAttr value = op.getValue();
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    X x = c.wrap(arith::ConstantOp::create(c.b, c.loc, value));
    chunks(c, n, begin, end, [&](X i, int64_t w) { c.store(x, args[0], i, w); });
  };
  return recipe;
}

} // namespace hocket::kernels
