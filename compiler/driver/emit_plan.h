//===- emit_plan.h - Phase emit: a module in plan becomes a plan file -------===//
#pragma once

#include "compiler/driver/driver.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// Program, code, identity and summary as one plan, of a module that hocket-verify-allocate passed;
/// `seconds` is the step's prediction.
std::optional<format::Plan> emitPlan(mlir::ModuleOp module, const PlanInputs &inputs, double seconds,
                                     Diagnostics &diags);

/// The runtime's proof of a plan as it will be written, with the job's own numbers in its header; a
/// finding is an error of `exitCode`.
bool provePlan(const format::Plan &plan, Diagnostics &diags, int exitCode);

/// The terms of a class's memory verdict; they add up to its arena.
std::vector<format::MemoryTerm> memoryTerms(const format::ClassProgram &program);

/// BLAKE3 of a text.
std::array<uint8_t, 32> blake3(llvm::StringRef text);

} // namespace hocket
