//===- Passes.td - allocate --------------------------------------*- tablegen -*-===//
#ifndef HOCKET_ALLOCATE_PASSES_TD
#define HOCKET_ALLOCATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def AllocatePass : Pass<"hocket-allocate", "::mlir::ModuleOp"> {
  let summary = "Lay out one arena per rank class and derive the events";
  let description = [{
    From sched to plan: homes become regions with slot and layer strides, task values get
    places (scratch by interval colouring), transfers and tasks become templates, order
    tables lists, and every pair of conflicting accesses on two streams an event, derived
    once after the memory is fixed. `sched.kernel` stays as the kernels' bodies.
  }];
  let dependentDialects = ["::hocket::plan::PlanDialect"];
}

#endif // HOCKET_ALLOCATE_PASSES_TD
