//===- plan_from_ir.h - Ops of the plan dialect as a plan -------------------===//
#pragma once

#include "compiler/kernels/kernels.h"
#include "runtime/format/plan.h"

namespace hocket::emit {

/// The program part of a plan. Errors (names that resolve to nothing, numbers
/// out of a record's range) are emitted on the ops.
mlir::FailureOr<format::Plan> planFromIR(mlir::ModuleOp module);

/// Generates and compiles every kernel of the module's plan, under the symbols
/// that the plan gives them (runtime/format/declaration.h). `outside`: as kernels::compile.
mlir::FailureOr<std::vector<uint8_t>> compileKernels(mlir::ModuleOp module, const format::Plan &plan,
                                                     llvm::StringRef isa, std::string &outside);

} // namespace hocket::emit
