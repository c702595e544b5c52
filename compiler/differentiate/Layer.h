//===- Layer.h - The four functions of a layer ------------------------------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

namespace hocket {

/// What a scan over `.fwd`, and one over `.back`, take and give.
struct Layer {
  mlir::func::FuncOp fwd, bwd, wgrad, back;
  /// `.back` takes one adjoint per carry, these shared operands (indices among
  /// the shared), all residuals (the results of `.fwd` after the carries), and
  /// these stacked operands (indices among the stacked ones of the forward scan).
  llvm::SmallVector<unsigned> shared, stacked;
  unsigned residuals = 0;
  unsigned carries = 0, sharedCount = 0; ///< as every scan over the layer must have
  /// It gives one adjoint per carry, then one for each of these stacked operands.
  llvm::SmallVector<unsigned> gradients;
};

/// Makes the functions of `layer` before it (the function itself stays as it
/// is).  `carries`, `shared`: as in the scan that calls it.
mlir::FailureOr<Layer> differentiateLayer(mlir::func::FuncOp layer, unsigned carries, unsigned shared);

} // namespace hocket
