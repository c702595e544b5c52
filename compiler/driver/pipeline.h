//===- pipeline.h - The passes of every phase -------------------------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace hocket {

/// Adds the passes of `phase` (differentiate … allocate) and its verify pass.
void addPhase(mlir::OpPassManager &passes, Phase phase, const PlanInputs &inputs, const Diagnostics &diags);

} // namespace hocket
