//===- contract.cpp - Sums of products over any letters ---------------------===//
//
// `reduce`, and the dots that are no matrix product. Vectors run along the last
// result letter if every operand has it with stride 0 or 1, else along a summed
// letter with that property, else the loop is scalar.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

/// Vectors of one column block.
static constexpr int64_t kBlock = 4;

static bool isUnit(const Dim &dim, unsigned inputs) {
  bool one = false;
  for (unsigned o = 0; o < inputs; ++o) {
    if (dim.strides[o] != 0 && dim.strides[o] != 1)
      return false;
    one |= dim.strides[o] == 1;
  }
  return one;
}

FailureOr<Recipe> contractRecipe(Operation *op) {
  model::Dims letters = cast<model::LetterOp>(op).getLetters();
  auto extents = model::extents(op, letters);
  unsigned inputs = op->getNumOperands();
  Recipe recipe;
  recipe.type = elementOf(op->getResult(0));
  auto reduce = dyn_cast<model::ReduceOp>(op);
  auto kind = reduce && reduce.getKind() == "max" ? Code::Max : Code::Sum;
  std::vector<std::map<char, int64_t>> strides;
  for (unsigned o = 0; o < inputs; ++o)
    strides.push_back(stridesOf(letters.operands[o], shapeOf(op->getOperand(o))));
  strides.push_back(stridesOf(letters.results[0], shapeOf(op->getResult(0))));
  std::vector<Dim> kept = coalesce(letters.results[0], extents, strides);
  std::vector<Dim> summed = coalesce(letters.reduced(), extents, strides);
  int64_t lanes = Code::lanesOf(recipe.type);

  // Which dimension the vectors run along.
  bool columns = !kept.empty() && isUnit(kept.back(), inputs) &&
                 (kept.back().extent >= lanes || summed.empty() || !isUnit(summed.back(), inputs));
  bool rows = false;
  if (!columns)
    for (size_t d = summed.size(); d-- > 0 && !rows;)
      if (isUnit(summed[d], inputs)) {
        std::rotate(summed.begin() + d, summed.begin() + d + 1, summed.end());
        rows = true;
      }
  Dim inner;
  if (columns) {
    inner = kept.back();
    kept.pop_back();
  } else if (rows) {
    inner = summed.back();
    summed.pop_back();
  }
  int64_t width = lanes * kBlock, blocks = columns ? ceilDiv(inner.extent, width) : 1;
  recipe.work = blocks;
  for (const Dim &d : kept)
    recipe.work *= d.extent;

  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    SmallVector<int64_t> loops;
    for (const Dim &d : summed)
      loops.push_back(d.extent);
    // One term: the product of the operands' elements at `base` + the summed indices.
    auto term = [&](ArrayRef<X> base, ArrayRef<X> at, X shift, int64_t w) {
      X product;
      for (unsigned o = 0; o < inputs; ++o) {
        X offset = base[o] + offsetAt(c, summed, at, o);
        bool moves = (columns || rows) && inner.strides[o];
        if (moves)
          offset = offset + shift;
        X x = c.load(args[o], offset, moves ? w : 1);
        product = o ? product * x : x;
      }
      return c.splat(product, w);
    };
    auto column = [&](ArrayRef<X> base, X at, ArrayRef<int64_t> widths) {
      Xs init, shifts;
      int64_t shift = 0;
      for (int64_t w : widths) {
        init.push_back(c.splat(c.neutral(kind), w));
        shifts.push_back(at + shift);
        shift += w;
      }
      Xs sums = c.nest(loops, init, [&](ArrayRef<X> indices, ArrayRef<X> acc) {
        Xs next;
        for (size_t j = 0; j < widths.size(); ++j) {
          X x = term(base, indices, shifts[j], widths[j]);
          next.push_back(c.combine(acc[j], x, kind));
        }
        return next;
      });
      for (size_t j = 0; j < widths.size(); ++j) {
        X out = base[inputs] + shifts[j];
        c.store(sums[j], args[inputs], out, widths[j]);
      }
    };
    c.loop(begin, end, 1, [&](X item) {
      X block = item % blocks;
      Xs at = delinearize(c, item / blocks, kept);
      Xs base;
      for (unsigned o = 0; o <= inputs; ++o)
        base.push_back(offsetAt(c, kept, at, o));
      if (columns) {
        SmallVector<int64_t> full(kBlock, lanes), last;
        int64_t left = inner.extent % width;
        for (int64_t w = left; w > 0; w -= lanes)
          last.push_back(std::min(w, lanes));
        X first = block * width;
        if (!left)
          column(base, first, full);
        else if (blocks == 1)
          column(base, first, last);
        else
          c.when(
              equal(block, c.index(blocks - 1)), [&] { column(base, first, last); },
              [&] { column(base, first, full); });
        return;
      }
      X init = c.neutral(kind);
      Xs sum = c.nest(loops, {init}, [&](ArrayRef<X> indices, ArrayRef<X> acc) {
        X x;
        if (rows)
          x = c.fold(inner.extent, {kind}, [&](X i, int64_t w) { return Xs{term(base, indices, i, w)}; })[0];
        else
          x = term(base, indices, X(), 1);
        return Xs{c.combine(acc[0], x, kind)};
      });
      c.store(sum[0], args[inputs], base[inputs]);
    });
  };
  return recipe;
}

} // namespace hocket::kernels
