//===- Passes.h - Scheduling and its verifier -------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "dialects/sched/Sched.h"
#include "mlir/Pass/Pass.h"

namespace hocket {
std::unique_ptr<mlir::Pass> createSchedulePass();
std::unique_ptr<mlir::Pass> createVerifySchedulePass();
#define GEN_PASS_DECL
#include "compiler/schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/schedule/Passes.h.inc"
} // namespace hocket
