//===- report.h - What `hocket plan` prints ---------------------------------===//
#pragma once

#include "compiler/driver/answer.h"

namespace hocket {

/// `usable`: bytes a device may use. `fileBytes` of the plan at `path` ("" when none was written).
void printPlan(llvm::raw_ostream &os, const format::Plan &plan, const PlanInputs &inputs,
               const Choice &choice, uint64_t usable, uint64_t fileBytes, llvm::StringRef path, bool json);

/// Why no plan was made: by how many bytes the fullest class misses, and what would help.
void explainDeficit(Diagnostics &diags, const PlanInputs &inputs, llvm::ArrayRef<format::MemoryTerm> terms,
                    uint64_t need, uint64_t usable, llvm::StringRef stage);

} // namespace hocket
