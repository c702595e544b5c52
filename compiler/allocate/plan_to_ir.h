//===- plan_to_ir.h - A plan's program as ops of the plan dialect -----------===//
#pragma once

#include "compiler/kernels/kernels.h"
#include "llvm/ADT/MapVector.h"

namespace hocket::allocate {

/// Appends one op per record of `plan` to the module (emit/plan_from_ir reads them back).
void planToIR(const format::Plan &plan,
              const llvm::MapVector<mlir::StringAttr, kernels::InitSpec> &initKernels, mlir::ModuleOp module);

} // namespace hocket::allocate
