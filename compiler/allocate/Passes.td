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
  let options = [
    Option<"isa", "isa", "std::string", "\"x86-64-v3\"", "CPU of the devices: decides the library's scratch">,
    Option<"threads", "threads", "int64_t", "1", "Threads per rank: decides the library's scratch">
  ];
  let dependentDialects = ["::hocket::plan::PlanDialect"];
}

def VerifyAllocatePass : Pass<"hocket-verify-allocate", "::mlir::ModuleOp"> {
  let summary = "Prove that the module's plan may run, as the runtime does at load";
  let description = [{
    Ranges, matching, rendezvous and happens-before (runtime/verify); each finding is an
    error at its instruction. The plan's header is not in the module and not looked at.
  }];
}

#endif // HOCKET_ALLOCATE_PASSES_TD
