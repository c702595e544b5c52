//===- Verify.cpp - One extent per letter, and what each op asks for --------===//
#include "dialects/model/Model.h"

using namespace mlir;
using namespace hocket::model;

/// Counts and ranks agree with `dims`, and each letter has one extent.
static LogicalResult verifyLetters(Operation *op) {
  Dims dims = cast<LetterOp>(op).getLetters();
  if (dims.operands.size() > op->getNumOperands() || dims.results.size() != op->getNumResults())
    return op->emitOpError("dims \"") << dims.str() << "\" name " << dims.operands.size() << " operands and "
                                      << dims.results.size() << " results; the op has " << op->getNumOperands()
                                      << " and " << op->getNumResults();
  std::map<char, int64_t> extent;
  auto check = [&](Type type, StringRef letters, StringRef what, unsigned i) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    int64_t rank = tensor ? tensor.getRank() : 0;
    if (rank != int64_t(letters.size()))
      return op->emitOpError() << what << " " << i << " has rank " << rank << ", its letters \"" << letters
                               << "\" name " << letters.size() << " dimensions";
    for (auto [d, c] : llvm::enumerate(letters)) {
      auto [it, fresh] = extent.emplace(c, tensor.getDimSize(d));
      if (!fresh && it->second != tensor.getDimSize(d))
        return op->emitOpError("letter '") << c << "' has extent " << it->second << " and, in " << what << " " << i
                                          << ", " << tensor.getDimSize(d);
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

LogicalResult DotOp::verify() { return verifyLetters(*this); }
LogicalResult MapOp::verify() { return verifyLetters(*this); }
LogicalResult ReduceOp::verify() { return verifyLetters(*this); }
LogicalResult GatherOp::verify() { return verifyLetters(*this); }
LogicalResult ScatterAddOp::verify() { return verifyLetters(*this); }
LogicalResult IotaOp::verify() { return verifyLetters(*this); }
LogicalResult ConstantOp::verify() { return verifyLetters(*this); }
LogicalResult RmsNormOp::verify() { return verifyLetters(*this); }
LogicalResult RmsNormGradOp::verify() { return verifyLetters(*this); }
LogicalResult LayerNormOp::verify() { return verifyLetters(*this); }
LogicalResult LayerNormGradOp::verify() { return verifyLetters(*this); }
LogicalResult RopeOp::verify() { return verifyLetters(*this); }
LogicalResult AttentionOp::verify() { return verifyLetters(*this); }
LogicalResult AttentionGradOp::verify() { return verifyLetters(*this); }
LogicalResult XentOp::verify() { return verifyLetters(*this); }
LogicalResult XentGradOp::verify() { return verifyLetters(*this); }

LogicalResult ScanOp::verifySymbolUses(SymbolTableCollection &) { return success(); }
LogicalResult ModelDialect::verifyOperationAttribute(Operation *, NamedAttribute) { return success(); }
