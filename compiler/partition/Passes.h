//===- Passes.h - Partition and its verifier --------------------------------===//
#pragma once

#include "dialects/par/Par.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
std::unique_ptr<mlir::Pass> createPartitionPass();
std::unique_ptr<mlir::Pass> createVerifyPartitionPass();
#define GEN_PASS_DECL
#include "compiler/partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/partition/Passes.h.inc"
} // namespace hocket
