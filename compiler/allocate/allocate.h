//===- allocate.h - Phase allocate: from values to ranges and events --------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "runtime/format/plan.h"

namespace hocket::allocate {

#define GEN_PASS_DECL
#include "compiler/allocate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/allocate/Passes.h.inc"

} // namespace hocket::allocate
