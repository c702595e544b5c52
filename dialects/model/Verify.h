//===- Verify.h - What all letter ops are checked for -----------------------===//
#pragma once

#include "dialects/model/Model.h"

namespace hocket::model {

/// `dims` is well formed, counts and ranks agree with it, no letter occurs twice
/// in one tensor, and each letter has one extent.
mlir::LogicalResult verifyLetters(mlir::Operation *op);

/// As above; operands (from `first` on) and results are floats of one type.
mlir::LogicalResult verifyFloats(mlir::Operation *op, llvm::ArrayRef<unsigned> operands);

/// `value` holds integers.
mlir::LogicalResult verifyIntegers(mlir::Operation *op, mlir::Value value, llvm::StringRef what);

/// An error unless `got` is `want`; `what` names the tensor.
mlir::LogicalResult verifySame(mlir::Operation *op, llvm::StringRef what, llvm::StringRef got,
                               llvm::StringRef want);

} // namespace hocket::model
