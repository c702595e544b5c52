//===- build.h - The task functions and place.step of a cut step ------------===//
#pragma once

#include "compiler/place/cut.h"

namespace hocket {

/// Writes place.mesh, place.param, place.input, the task functions and
/// place.step from `cut`, and erases `@step`.
mlir::LogicalResult buildPlaced(mlir::ModuleOp module, StepCut &cut);

} // namespace hocket
