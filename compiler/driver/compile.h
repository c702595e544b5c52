//===- compile.h - From a module to a plan ----------------------------------===//
//
// The phases behind import, for whoever has a module: the driver, or a program
// that no config.json describes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// Carries a module from before `first` to behind `last`, at most allocate. False with an error in
/// `diags`, of `exitCode` where it is MLIR's; kExitNo instead of kExitInternal where the program
/// cannot be sharded as the strategy says.
bool runPhases(mlir::ModuleOp module, Phase first, Phase last, const PlanInputs &inputs, Diagnostics &diags,
               int exitCode);

/// The plan of a module as import leaves it. The strategy is complete and its numbers are legal;
/// `inputs.model` is only what the plan says of the model. Does not check that arenas fit.
std::optional<format::Plan> compileModule(mlir::ModuleOp module, const PlanInputs &inputs, double seconds,
                                          Diagnostics &diags);

} // namespace hocket
