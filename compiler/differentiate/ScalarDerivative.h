//===- ScalarDerivative.h - The derivative of a map's region ----------------===//
#pragma once

#include "dialects/model/Build.h"

namespace hocket {

/// Adds to `block` the adjoints of its arguments.  `block` holds the region of a
/// map without its yield; `seeds` pairs a scalar of the block (or an argument)
/// with its adjoint.  `wanted[i]` asks for argument i's; the result is null where
/// the derivative is zero or not wanted.  Fails with a diagnostic at `map` on an
/// op that has no derivative.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiateScalars(model::MapOp map, mlir::Block &block,
                     llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> seeds, llvm::ArrayRef<bool> wanted);

} // namespace hocket
