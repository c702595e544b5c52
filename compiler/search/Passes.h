//===- Passes.h - Passes of the phase search --------------------------------===//
#pragma once

#include "compiler/input/strategy.h"
#include "dialects/par/Par.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {

/// hocket-search by its options.
std::unique_ptr<mlir::Pass> createSearchPass();
/// hocket-search for a strategy chosen or read by the driver; `diags` knows its locations.
std::unique_ptr<mlir::Pass> createSearchPass(const Strategy &strategy, const Diagnostics &diags);

#define GEN_PASS_DECL
#include "compiler/search/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/search/Passes.h.inc"

} // namespace hocket
