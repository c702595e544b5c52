//===- norm.cpp - rmsnorm, layernorm and their gradients --------------------===//
//
// Work of the forward kernels: rows. Work of the gradients: blocks of columns, so
// that the sums over rows (dw, db) stay in row order; every range takes the
// row sums it needs itself.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

/// Operand 0 is [rows.., h]; operand `w` is [h].
static LogicalResult checkNorm(Operation *op, unsigned w) {
  model::Dims letters = cast<model::LetterOp>(op).getLetters();
  StringRef x = letters.operands[0];
  if (x.empty() || letters.operands[w] != x.take_back())
    return op->emitError("the kernel normalises over the last letter of \"")
           << x << "\", which the weight has alone";
  return success();
}

FailureOr<Recipe> normRecipe(Operation *op) {
  bool layer = isa<model::LayerNormOp>(op);
  if (failed(checkNorm(op, 1)))
    return failure();
  Recipe recipe;
  recipe.type = elementOf(op->getOperand(0));
  int64_t h = shapeOf(op->getOperand(0)).back();
  recipe.work = elements(op->getOperand(0).getType()) / h;
  double eps =
      (layer ? cast<model::LayerNormOp>(op).getEps() : cast<model::RmsNormOp>(op).getEps()).convertToDouble();
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value x = args[0], w = args[1];
    c.loop(begin, end, 1, [&](X row) {
      X at = row * h;
      if (!layer) {
        Value y = args[2], scale = args[3];
        X squares = c.fold(h, {Code::Sum}, [&](X i, int64_t n) {
          X v = c.load(x, at + i, n);
          return Xs{v * v};
        })[0];
        X r = 1.0 / sqrt(squares * (1.0 / double(h)) + eps);
        c.store(r, scale, row);
        c.lanes(h, [&](X i, int64_t n) {
          X v = c.load(x, at + i, n);
          X weight = c.load(w, i, n);
          c.store(v * r * weight, y, at + i);
        });
        return;
      }
      Value bias = args[2], y = args[3];
      X mean = c.fold(h, {Code::Sum}, [&](X i, int64_t n) { return Xs{c.load(x, at + i, n)}; })[0] *
               (1.0 / double(h));
      X squares = c.fold(h, {Code::Sum}, [&](X i, int64_t n) {
        X v = c.load(x, at + i, n) - mean;
        return Xs{v * v};
      })[0];
      X r = 1.0 / sqrt(squares * (1.0 / double(h)) + eps);
      c.store(mean, args[4], row);
      c.store(r, args[5], row);
      c.lanes(h, [&](X i, int64_t n) {
        X v = (c.load(x, at + i, n) - mean) * r;
        X weight = c.load(w, i, n);
        X shift = c.load(bias, i, n);
        c.store(v * weight + shift, y, at + i);
      });
    });
  };
  return recipe;
}

FailureOr<Recipe> normGradRecipe(Operation *op) {
  bool layer = isa<model::LayerNormGradOp>(op);
  unsigned weight = layer ? 4 : 3;
  if (failed(checkNorm(op, weight)))
    return failure();
  Recipe recipe;
  recipe.type = elementOf(op->getOperand(0));
  int64_t h = shapeOf(op->getOperand(0)).back(), rows = elements(op->getOperand(0).getType()) / h;
  int64_t block = 4 * Code::lanesOf(recipe.type);
  recipe.work = ceilDiv(h, block);
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value dy = args[0], x = args[1], r = args[layer ? 3 : 2], w = args[weight];
    Value dx = args[weight + 1], dw = args[weight + 2];
    X n = c.index(h);
    X lo = begin * block;
    X hi = end * block;
    hi = select(hi < n, hi, n);
    c.lanes(lo, hi, h, [&](X i, int64_t k) {
      c.store(c.real(0), dw, i, k);
      if (layer)
        c.store(c.real(0), args[7], i, k);
    });
    c.loop(rows, [&](X row) {
      X at = row * h;
      X scale = c.load(r, row);
      X mean = layer ? c.load(args[2], row) : c.real(0);
      // With n = (x - mean) r and g = dy w: dx = r (g - mean(g) - n mean(g n)).
      auto normed = [&](X i, int64_t k) {
        X v = c.load(x, at + i, k);
        if (layer)
          v = v - mean;
        return v * scale;
      };
      Xs sums = c.fold(h, {Code::Sum, Code::Sum}, [&](X i, int64_t k) {
        X g = c.load(dy, at + i, k);
        g = g * c.load(w, i, k);
        return Xs{g * normed(i, k), g};
      });
      X along = sums[0] * (1.0 / double(h));
      X offset = sums[1] * (1.0 / double(h));
      c.lanes(lo, hi, h, [&](X i, int64_t k) {
        X d = c.load(dy, at + i, k);
        X v = normed(i, k);
        X g = d * c.load(w, i, k) - v * along;
        if (layer)
          g = g - offset;
        X sum = c.load(dw, i, k) + d * v;
        c.store(g * scale, dx, at + i);
        c.store(sum, dw, i);
        if (layer) {
          X bias = c.load(args[7], i, k) + d;
          c.store(bias, args[7], i);
        }
      });
    });
  };
  return recipe;
}

} // namespace hocket::kernels
