//===- pipeline.h - The passes of every phase -------------------------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace hocket {

/// Adds the passes of `phase` (differentiate … allocate).
void addPhase(mlir::OpPassManager &passes, Phase phase, const PlanInputs &inputs, const Diagnostics &diags);
/// Adds the pass that closes `phase` (import … allocate).
void addVerify(mlir::OpPassManager &passes, Phase phase);

} // namespace hocket
