//===- Passes.td - Schedule ------------------------------------*- tablegen -*-===//
#ifndef HOCKET_SCHEDULE_PASSES_TD
#define HOCKET_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SchedulePass : Pass<"hocket-schedule", "::mlir::ModuleOp"> {
  let summary = "Form kernels, streams, communicators and the issue order of every rank class";
  let description = [{
    A task function becomes a `sched.task`: calls inlined, scans as repeats, chains of maps
    fused, products as library calls, gradients accumulated in place. The order tables
    place transfers by level.
  }];
  let constructor = "::hocket::createSchedulePass()";
  let dependentDialects = ["::hocket::sched::SchedDialect", "::hocket::model::ModelDialect",
                           "::mlir::arith::ArithDialect"];
}

def VerifySchedulePass : Pass<"hocket-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Check that transfers match and that no rank can wait for another in a circle";
  let constructor = "::hocket::createVerifySchedulePass()";
}

#endif // HOCKET_SCHEDULE_PASSES_TD
