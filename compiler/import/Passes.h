//===- Passes.h - Import as a pass, for hocket-opt --------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
std::unique_ptr<mlir::Pass> createImportPass();
std::unique_ptr<mlir::Pass> createVerifyImportPass();
#define GEN_PASS_DECL
#include "compiler/import/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/import/Passes.h.inc"
} // namespace hocket
