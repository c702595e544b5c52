//===- gather.cpp - Rows by index, and the adjoint --------------------------===//
//
// Indices come from data: one outside [0, v) after the offset reads and writes nothing.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

/// The letter of `table` that neither `indices` nor `other` has; the op's verifier asks for one.
static char indexedLetter(StringRef table, StringRef indices, StringRef other) {
  return table[table.find_first_not_of((indices + other).str())];
}

/// indices[at] - offset as an index, sign kept.
static X readIndex(Code &c, Value indices, X at, Value offset) {
  X v = c.toIndex(c.load(indices, at));
  if (!offset)
    return v;
  X shift = c.toIndex(c.load(offset, c.index(0)));
  return v - shift;
}
static X inside(Code &c, X v, int64_t extent) {
  // One unsigned comparison covers both ends.
  return c.wrap(arith::CmpIOp::create(c.b, c.loc, arith::CmpIPredicate::ult, v.v, c.index(extent).v));
}

static X zeroOf(Code &c) { return isa<FloatType>(c.type) ? c.real(0) : c.integer(0, c.type); }

FailureOr<Recipe> gatherRecipe(model::GatherOp op) {
  model::Dims letters = op.getLetters();
  std::string table = letters.operands[0], own = letters.operands[1], out = letters.results[0];
  char v = indexedLetter(table, own, out);
  auto extents = model::extents(op, letters);
  auto tableStrides = stridesOf(table, shapeOf(op.getTable()));
  std::vector<Dim> dims = coalesce(
      out, extents,
      {tableStrides, stridesOf(own, shapeOf(op.getIndices())), stridesOf(out, shapeOf(op.getResult()))});
  int64_t stride = tableStrides[v], extent = extents[v];
  bool hasOffset = bool(op.getOffset());
  Recipe recipe;
  recipe.type = elementOf(op.getResult());
  Dim inner;
  bool line = !dims.empty() && dims.back().strides[0] == 1 && dims.back().strides[1] == 0;
  if (line) {
    inner = dims.back();
    dims.pop_back();
  }
  for (const Dim &d : dims)
    recipe.work *= d.extent;
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value result = args[hasOffset ? 3 : 2];
    c.loop(begin, end, 1, [&](X item) {
      Xs at = delinearize(c, item, dims);
      X index = offsetAt(c, dims, at, 1);
      X from = offsetAt(c, dims, at, 0);
      X to = offsetAt(c, dims, at, 2);
      X i = readIndex(c, args[1], index, hasOffset ? args[2] : Value());
      auto copy = [&](bool zero) {
        X row = from + i * stride;
        c.lanes(line ? inner.extent : 1, [&](X j, int64_t w) {
          X x = zero ? zeroOf(c) : c.load(args[0], row + j, w);
          c.store(x, result, to + j, w);
        });
      };
      c.when(inside(c, i, extent), [&] { copy(false); }, [&] { copy(true); });
    });
  };
  return recipe;
}

FailureOr<Recipe> scatterRecipe(model::ScatterAddOp op) {
  model::Dims letters = op.getLetters();
  std::string updates = letters.operands[0], own = letters.operands[1], out = letters.results[0];
  char v = indexedLetter(out, own, updates);
  Recipe recipe;
  recipe.type = elementOf(op.getResult());
  auto extents = model::extents(op, letters);
  auto outStrides = stridesOf(out, shapeOf(op.getResult()));
  std::vector<Dim> dims = coalesce(
      updates, extents,
      {stridesOf(updates, shapeOf(op.getUpdates())), stridesOf(own, shapeOf(op.getIndices())), outStrides});
  int64_t stride = outStrides[v], extent = extents[v];
  bool hasOffset = bool(op.getOffset());

  // Ranges of work own disjoint parts of the result: blocks of the last letter
  // (columns of an embedding), else one value each of a letter that the result has.
  Dim inner;
  bool line = !dims.empty() && dims.back().strides[0] == 1 && dims.back().strides[1] == 0 &&
              dims.back().strides[2] == 1;
  if (line) {
    inner = dims.back();
    dims.pop_back();
  }
  int64_t block = 4 * Code::lanesOf(recipe.type);
  std::optional<size_t> split;
  if (line) {
    recipe.work = ceilDiv(inner.extent, block);
  } else {
    for (size_t d = 0; d < dims.size() && !split; ++d)
      if (dims[d].strides[2])
        split = d;
    recipe.work = split ? dims[*split].extent : 1;
  }
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value result = args[hasOffset ? 3 : 2];
    Dim table;
    table.extent = extent;
    table.strides = {0, 0, stride};
    std::vector<Dim> zeroed{table};
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d].strides[2] && d != split)
        zeroed.push_back(dims[d]);
    auto part = [&](ArrayRef<X> base, llvm::function_ref<void(llvm::function_ref<void(X, int64_t)>)> across) {
      SmallVector<int64_t> loops;
      for (const Dim &d : zeroed)
        loops.push_back(d.extent);
      c.nest(loops, [&](ArrayRef<X> at) {
        X to = base[2] + offsetAt(c, zeroed, at, 2);
        across([&](X j, int64_t w) { c.store(c.real(0), result, to + j, w); });
      });
      std::vector<Dim> walked;
      loops.clear();
      for (size_t d = 0; d < dims.size(); ++d)
        if (d != split) {
          walked.push_back(dims[d]);
          loops.push_back(dims[d].extent);
        }
      c.nest(loops, [&](ArrayRef<X> at) {
        X index = base[1] + offsetAt(c, walked, at, 1);
        X i = readIndex(c, args[1], index, hasOffset ? args[2] : Value());
        c.when(inside(c, i, extent), [&] {
          X from = base[0] + offsetAt(c, walked, at, 0);
          X to = base[2] + offsetAt(c, walked, at, 2);
          X row = to + i * stride;
          across([&](X j, int64_t w) {
            X old = c.load(result, row + j, w);
            X add = c.load(args[0], from + j, w);
            c.store(old + add, result, row + j, w);
          });
        });
      });
    };
    if (line) {
      Xs base(3, c.index(0));
      X lo = begin * block;
      X n = c.index(inner.extent);
      X hi = end * block;
      hi = select(hi < n, hi, n);
      part(base, [&](llvm::function_ref<void(X, int64_t)> body) { c.lanes(lo, hi, inner.extent, body); });
      return;
    }
    c.loop(begin, end, 1, [&](X item) {
      Xs base;
      for (unsigned o = 0; o < 3; ++o)
        base.push_back(split ? item * dims[*split].strides[o] : c.index(0));
      part(base, [&](llvm::function_ref<void(X, int64_t)> body) { body(c.index(0), 1); });
    });
  };
  return recipe;
}

} // namespace hocket::kernels
