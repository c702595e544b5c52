//===- Passes.h - Placement and its verifier --------------------------------===//
#pragma once

#include "dialects/place/Place.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
std::unique_ptr<mlir::Pass> createPlacePass();
std::unique_ptr<mlir::Pass> createVerifyPlacePass();
#define GEN_PASS_DECL
#include "compiler/place/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/place/Passes.h.inc"
} // namespace hocket
