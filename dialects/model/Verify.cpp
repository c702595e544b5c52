//===- Verify.cpp - One extent per letter, and what each core op asks for ---===//
#include "dialects/model/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace hocket::model;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static LogicalResult verifySyntax(Operation *op, StringRef text) {
  if (text.count("->") != 1)
    return op->emitOpError("dims \"") << text << "\" must have one '->' between operands and results";
  auto [left, right] = text.split("->");
  for (StringRef side : {left, right})
    for (char c : side)
      if (c != ',' && !llvm::isAlpha(c))
        return op->emitOpError("dims \"") << text << "\" has '" << Twine(c) << "': letters and ',' only";
  return success();
}

LogicalResult hocket::model::verifyLetters(Operation *op) {
  StringRef text = op->getAttrOfType<StringAttr>("dims").getValue();
  if (failed(verifySyntax(op, text)))
    return failure();
  Dims named = Dims::parse(text);
  if (named.operands.size() > op->getNumOperands() || named.results.size() != op->getNumResults())
    return op->emitOpError("dims \"")
           << text << "\" name " << named.operands.size() << " operands and " << named.results.size()
           << " results; the op has " << op->getNumOperands() << " and " << op->getNumResults();
  Dims dims = Dims::of(op, text);
  std::map<char, int64_t> extent;
  auto check = [&](Type type, StringRef letters, StringRef what, unsigned i) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && !tensor.hasStaticShape())
      return op->emitOpError() << what << " " << i << " has a dynamic shape";
    int64_t rank = tensor ? tensor.getRank() : 0;
    if (rank != int64_t(letters.size()))
      return op->emitOpError() << what << " " << i << " has rank " << rank << ", its letters \"" << letters
                               << "\" name " << letters.size() << " dimensions";
    for (auto [d, c] : llvm::enumerate(letters)) {
      if (letters.count(c) > 1)
        return op->emitOpError("letter '") << Twine(c) << "' occurs twice in " << what << " " << i;
      auto [it, fresh] = extent.emplace(c, tensor.getDimSize(d));
      if (!fresh && it->second != tensor.getDimSize(d))
        return op->emitOpError("letter '") << Twine(c) << "' has extent " << it->second << " and, in " << what
                                           << " " << i << ", " << tensor.getDimSize(d);
    }
    return success();
  };
  for (auto [i, letters] : llvm::enumerate(dims.operands))
    if (failed(check(op->getOperand(i).getType(), letters, "operand", i)))
      return failure();
  for (auto [i, letters] : llvm::enumerate(dims.results))
    if (failed(check(op->getResult(i).getType(), letters, "result", i)))
      return failure();
  return success();
}

LogicalResult hocket::model::verifyFloats(Operation *op, ArrayRef<unsigned> operands) {
  if (failed(verifyLetters(op)))
    return failure();
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (!isa<FloatType>(element))
    return op->emitOpError("result 0 must hold floats, not ") << element;
  for (unsigned i : operands)
    if (getElementTypeOrSelf(op->getOperand(i)) != element)
      return op->emitOpError("operand ")
             << i << " holds " << getElementTypeOrSelf(op->getOperand(i)) << ", result 0 " << element;
  for (unsigned i = 1; i < op->getNumResults(); ++i)
    if (getElementTypeOrSelf(op->getResult(i)) != element)
      return op->emitOpError("result ")
             << i << " holds " << getElementTypeOrSelf(op->getResult(i)) << ", result 0 " << element;
  return success();
}

LogicalResult hocket::model::verifyIntegers(Operation *op, Value value, StringRef what) {
  if (getElementTypeOrSelf(value).isSignlessInteger(32))
    return success();
  return op->emitOpError(what) << " must hold i32, not " << getElementTypeOrSelf(value);
}

LogicalResult hocket::model::verifySame(Operation *op, StringRef what, StringRef got, StringRef want) {
  if (got == want)
    return success();
  return op->emitOpError(what) << " has letters \"" << got << "\" where \"" << want << "\" is due";
}

//===----------------------------------------------------------------------===//
// Core ops
//===----------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  if (failed(verifyFloats(*this, {0, 1})))
    return failure();
  Dims dims = getLetters();
  StringRef a = dims.operands[0], b = dims.operands[1], result = dims.results[0];
  if (std::string extra = minus(result, unite(a, b)); !extra.empty())
    return emitOpError("result letter '") << extra[0] << "' is in no operand";
  for (auto [one, other] : {std::pair(a, b), std::pair(b, a)})
    if (std::string alone = minus(minus(one, other), result); !alone.empty())
      return emitOpError("letter '") << alone[0]
                                     << "' is in one operand only and not in the result: reduce it first";
  return success();
}

/// A map's region: scalar `arith`/`math` ops only.
static LogicalResult verifyScalars(MapOp map) {
  Block &body = map.getBody().front();
  for (Operation &op : body) {
    if (isa<YieldOp>(op)) {
      if (&op != &body.back())
        return op.emitOpError("must be the last op of the region");
      continue;
    }
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return op.emitOpError("is not allowed in a map: arith and math only");
    auto scalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
    if (!llvm::all_of(op.getOperandTypes(), scalar) || !llvm::all_of(op.getResultTypes(), scalar))
      return op.emitOpError("is not on scalars, as the region of a map must be");
  }
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(verifyLetters(*this)))
    return failure();
  if (getNumResults() == 0)
    return emitOpError("must have a result");
  Dims dims = getLetters();
  for (auto [i, letters] : llvm::enumerate(dims.results))
    if (failed(verifySame(*this, ("result " + Twine(i)).str(), letters, dims.results[0])))
      return failure();
  for (auto [i, letters] : llvm::enumerate(dims.operands))
    if (std::string extra = minus(letters, dims.results[0]); !extra.empty())
      return emitOpError("letter '") << extra[0] << "' of operand " << i
                                     << " is not in the results: a map sums nothing";
  Block &body = getBody().front();
  if (body.getNumArguments() != getNumOperands())
    return emitOpError("region has ")
           << body.getNumArguments() << " arguments for " << getNumOperands() << " operands";
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (!isa<RankedTensorType, IndexType>(operand.getType()))
      return emitOpError("operand ") << i << " must be a tensor or an index, not " << operand.getType();
    if (body.getArgument(i).getType() != getElementTypeOrSelf(operand))
      return emitOpError("region argument ") << i << " is " << body.getArgument(i).getType()
                                             << ", the operand holds " << getElementTypeOrSelf(operand);
  }
  if (failed(verifyScalars(*this)))
    return failure();
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("region must end in model.yield");
  if (yield.getNumOperands() != getNumResults())
    return emitOpError("yields ") << yield.getNumOperands() << " values for " << getNumResults()
                                  << " results";
  for (auto [i, value] : llvm::enumerate(yield.getValues()))
    if (value.getType() != getElementTypeOrSelf(getResult(i)))
      return emitOpError("yields ") << value.getType() << " for result " << i << ", which holds "
                                    << getElementTypeOrSelf(getResult(i));
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyFloats(*this, {0})))
    return failure();
  if (getKind() != "sum" && getKind() != "max")
    return emitOpError("kind must be \"sum\" or \"max\", not \"") << getKind() << "\"";
  Dims dims = getLetters();
  if (std::string extra = minus(dims.results[0], dims.operands[0]); !extra.empty())
    return emitOpError("result letter '") << extra[0] << "' is not in the operand";
  return success();
}

StringRef ReduceOp::getReduction(unsigned) { return getKind(); }

LogicalResult GatherOp::verify() {
  if (failed(verifyFloats(*this, {0})) || failed(verifyIntegers(*this, getIndices(), "indices")))
    return failure();
  Dims dims = getLetters();
  StringRef table = dims.operands[0], indices = dims.operands[1], result = dims.results[0];
  if (std::string extra = minus(result, unite(table, indices)); !extra.empty())
    return emitOpError("result letter '") << extra[0] << "' is in no operand";
  if (std::string lost = minus(indices, result); !lost.empty())
    return emitOpError("letter '") << lost[0] << "' of the indices is not in the result";
  std::string looked = minus(table, result);
  if (looked.size() != 1)
    return emitOpError("must look up one letter of the table, not \"") << looked << "\"";
  return success();
}

LogicalResult ScatterAddOp::verify() {
  if (failed(verifyFloats(*this, {0})) || failed(verifyIntegers(*this, getIndices(), "indices")))
    return failure();
  Dims dims = getLetters();
  StringRef updates = dims.operands[0], indices = dims.operands[1], result = dims.results[0];
  if (std::string lost = minus(indices, updates); !lost.empty())
    return emitOpError("letter '") << lost[0] << "' of the indices is not in the updates";
  std::string looked = minus(result, updates);
  if (looked.size() != 1)
    return emitOpError("must add along one letter of the result, not \"") << looked << "\"";
  if (std::string lost = minus(minus(updates, indices), result); !lost.empty())
    return emitOpError("letter '") << lost[0]
                                   << "' of the updates is neither in the indices nor in the result";
  return success();
}

LogicalResult IotaOp::verify() {
  if (failed(verifyLetters(*this)) || failed(verifyIntegers(*this, getResult(), "result")))
    return failure();
  if (getLetters().results[0].size() != 1)
    return emitOpError("result must have one letter");
  return success();
}

LogicalResult ConstantOp::verify() {
  if (failed(verifyLetters(*this)))
    return failure();
  if (getValue().getType() != getElementTypeOrSelf(getResult()))
    return emitOpError("value is ") << getValue().getType() << ", the result holds "
                                    << getElementTypeOrSelf(getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// Shape and element type of `stacked` without its first dimension are those of
/// `slice` (encodings are compared by the dialect that owns them).
static bool isSliceOf(Type slice, Type stacked, int64_t layers) {
  auto one = dyn_cast<RankedTensorType>(slice), all = dyn_cast<RankedTensorType>(stacked);
  return one && all && all.getRank() == one.getRank() + 1 && all.getDimSize(0) == layers &&
         all.getShape().drop_front() == one.getShape() && all.getElementType() == one.getElementType();
}

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto body = tables.lookupNearestSymbolFrom<func::FuncOp>(*this, getBodyAttr());
  if (!body)
    return emitOpError("body ") << getBodyAttr() << " is no function";
  auto range = getRange();
  if (range.size() != 2 || range[0] < 0 || range[1] <= range[0])
    return emitOpError("range must be [first, end) with 0 <= first < end");
  int64_t layers = range[1] - range[0], carries = getCarries(), whole = carries + getShared();
  if (carries < 0 || int64_t(getShared()) < 0 || whole > int64_t(getNumOperands()))
    return emitOpError("has ") << getNumOperands() << " operands, fewer than its carries and shared operands";
  FunctionType type = body.getFunctionType();
  if (type.getNumInputs() != getNumOperands() || type.getNumResults() != getNumResults())
    return emitOpError("has ") << getNumOperands() << " operands and " << getNumResults() << " results; "
                               << getBodyAttr() << " has " << type.getNumInputs() << " and "
                               << type.getNumResults();
  if (carries > int64_t(getNumResults()))
    return emitOpError("has fewer results than carries");
  auto mismatch = [&](StringRef what, int64_t i, Type got, Type want) {
    return emitOpError(what) << " " << i << " is " << got << ", " << getBodyAttr() << " has " << want;
  };
  for (int64_t i = 0; i < int64_t(getNumOperands()); ++i) {
    Type got = getOperand(i).getType(), want = type.getInput(i);
    if (i < whole ? got != want : !isSliceOf(want, got, layers))
      return mismatch(i < carries ? "carry" : i < whole ? "shared operand" : "stacked operand", i, got, want);
  }
  for (int64_t i = 0; i < int64_t(getNumResults()); ++i) {
    Type got = getResult(i).getType(), want = type.getResult(i);
    if (i < carries ? got != want : !isSliceOf(want, got, layers))
      return mismatch(i < carries ? "carry result" : "stacked result", i, got, want);
    if (i < carries && want != type.getInput(i))
      return emitOpError("carry ") << i << " is " << type.getInput(i) << " in and " << want << " out of "
                                   << getBodyAttr();
  }
  return success();
}
