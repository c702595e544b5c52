//===- map.cpp - Scalar functions of elements -------------------------------===//
//
// The region is copied as it stands, on vectors. Neighbouring letters that all
// operands walk alike become one loop; equal letters everywhere are one flat range.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket::kernels {

/// Elements of one unit of work when all letters merge into one dimension.
static constexpr int64_t kChunk = 4096;

/// Copies the region's ops on `w` lanes; `inputs` are scalars or vectors.
static Xs copyRegion(Code &c, Block &body, ArrayRef<X> inputs, int64_t w) {
  IRMapping mapping;
  for (auto [argument, x] : llvm::zip(body.getArguments(), inputs))
    mapping.map(argument, c.splat(x, w).v);
  for (Operation &op : body.without_terminator()) {
    Operation *copy = c.b.clone(op, mapping);
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(copy))
      copy->setAttr(fast.getFastMathAttrName(),
                    arith::FastMathFlagsAttr::get(
                        c.b.getContext(), arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
                                              arith::FastMathFlags::arcp | arith::FastMathFlags::contract |
                                              arith::FastMathFlags::afn));
    if (w == 1)
      continue;
    if (isa<arith::ConstantOp>(copy)) {
      mapping.map(op.getResult(0), c.splat(c.wrap(copy->getResult(0)), w).v);
      continue;
    }
    for (OpResult r : copy->getResults())
      r.setType(VectorType::get({w}, r.getType()));
  }
  Xs results;
  for (Value v : body.getTerminator()->getOperands())
    results.push_back(c.splat(c.wrap(mapping.lookupOrDefault(v)), w));
  return results;
}

FailureOr<Recipe> mapRecipe(model::MapOp op) {
  model::Dims letters = op.getLetters();
  Recipe recipe;
  recipe.mayAlias = true;
  Block &body = op.getBody().front();
  for (Operation &inner : body.without_terminator())
    if (inner.getNumRegions() || !isPure(&inner) || inner.getNumResults() != 1 ||
        (!OpTrait::hasElementwiseMappableTraits(&inner) && !isa<arith::ConstantOp>(inner)))
      return op.emitError("a map's region holds scalar operations only; found '") << inner.getName() << "'";
  std::string order = letters.results[0]; // of all results

  std::vector<std::map<char, int64_t>> strides;
  std::vector<Type> elements;
  for (auto [i, v] : llvm::enumerate(op->getOperands())) {
    std::string own = i < letters.operands.size() ? letters.operands[i] : "";
    strides.push_back(stridesOf(own, shapeOf(v)));
    elements.push_back(elementOf(v));
  }
  for (Value v : op->getResults()) {
    strides.push_back(stridesOf(order, shapeOf(v)));
    elements.push_back(elementOf(v));
  }
  // The widest element decides the lanes.
  recipe.type = elements.back();
  for (Type t : elements)
    if (Code::lanesOf(t) < Code::lanesOf(recipe.type))
      recipe.type = t;
  std::vector<Dim> dims = coalesce(order, model::extents(op, letters), strides);
  if (dims.empty())
    dims.push_back({1, llvm::SmallVector<int64_t, 6>(strides.size(), 1)});
  unsigned inputs = op->getNumOperands();
  bool flat = dims.size() == 1;
  if (flat) {
    recipe.work = ceilDiv(dims[0].extent, kChunk);
  } else {
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      recipe.work *= dims[d].extent;
  }

  recipe.emit = [=, &body](Code &c, ArrayRef<Value> args, X begin, X end) {
    Dim inner = dims.back();
    auto row = [&](ArrayRef<X> base, X lo, X hi) {
      // Values that do not move along the row are read once.
      Xs fixed(inputs);
      for (unsigned o = 0; o < inputs; ++o)
        if (inner.strides[o] == 0) {
          X x = c.load(args[o], base[o]);
          fixed[o] = elements[o].isIndex() ? c.toIndex(x) : x;
        }
      c.lanes(lo, hi, inner.extent, [&](X i, int64_t w) {
        Xs values = fixed;
        for (unsigned o = 0; o < inputs; ++o)
          if (inner.strides[o]) {
            X at = base[o] + i * inner.strides[o];
            values[o] = c.loadStrided(args[o], at, inner.strides[o], w);
          }
        Xs results = copyRegion(c, body, values, w);
        for (auto [r, x] : llvm::enumerate(results)) {
          X at = base[inputs + r] + i;
          c.store(x, args[inputs + r], at, w);
        }
      });
    };
    unsigned operands = args.size();
    if (flat) {
      Xs base;
      for (unsigned o = 0; o < operands; ++o)
        base.push_back(c.index(0));
      X n = c.index(inner.extent);
      X lo = begin * kChunk;
      X hi = end * kChunk;
      row(base, lo, select(hi < n, hi, n));
      return;
    }
    ArrayRef<Dim> outer = ArrayRef<Dim>(dims).drop_back();
    c.loop(begin, end, 1, [&](X item) {
      Xs at = delinearize(c, item, outer);
      Xs base;
      for (unsigned o = 0; o < operands; ++o)
        base.push_back(offsetAt(c, outer, at, o));
      X lo = c.index(0);
      X hi = c.index(inner.extent);
      row(base, lo, hi);
    });
  };
  return recipe;
}

} // namespace hocket::kernels
