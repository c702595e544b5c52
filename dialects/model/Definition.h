//===- Definition.h - What a fused op means, in core ops --------------------===//
//
// The definition is inlined where a strategy shards a letter that the fused
// kernel needs whole, and kernels are checked against it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"

namespace hocket::model {

/// Whether `op` is a fused op, one that has a definition.
bool isFused(mlir::Operation *op);

/// Builds the definition of `op`, a fused op, at the builder's insertion point from the op's
/// operands, with core ops on global types without encodings.  Returns one value for each result.
llvm::SmallVector<mlir::Value> buildDefinition(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace hocket::model
