//===- Passes.h - Differentiation -------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
#define GEN_PASS_DECL
#include "compiler/differentiate/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/differentiate/Passes.h.inc"
} // namespace hocket
