//===- Derivative.h - The derivative of each op, declared once --------------===//
#pragma once

#include "dialects/model/Build.h"

namespace hocket {

/// Adjoints of the operands of one op, from those of its results.
struct OpDerivative {
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> results;     ///< adjoints, null where zero
  llvm::ArrayRef<bool> wanted;             ///< per operand
  llvm::SmallVector<mlir::Value> operands; ///< out: adjoints, null where zero or not wanted
};

/// Makes the ops that compute `d.operands` at the builder's insertion point.
/// Every op of the dialect but scan (see Layer.h) is handled; a diagnostic
/// otherwise.
mlir::LogicalResult differentiate(mlir::OpBuilder &builder, OpDerivative &d);

} // namespace hocket
