//===- build_class.h - One rank class from its stage ------------------------===//
#pragma once

#include "compiler/allocate/templates.h"
#include "compiler/kernels/kernels.h"

namespace hocket::allocate {

/// Builds the class of `mesh` (templates, lists, regions, events) and appends it,
/// its parameters, inputs and metrics to the plan of `tables`.
mlir::LogicalResult buildClass(mlir::ModuleOp module, place::MeshOp mesh, int64_t micros, Tables &tables,
                               llvm::MapVector<mlir::StringAttr, kernels::InitSpec> &initKernels);

} // namespace hocket::allocate
