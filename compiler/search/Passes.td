//===- Passes.td - Passes of the phase search ------------------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def Search : Pass<"hocket-search", "::mlir::ModuleOp"> {
  let summary = "Write a strategy into the program: par.mesh and par.strategy";
  let options = [
    Option<"mesh", "mesh", "std::string", "\"data=1\"", "Mesh string, as for --strategy: 'data=2,tensor=2'">,
    Option<"microBatch", "micro-batch", "int64_t", "1", "Sequences per replica and micro-batch">,
    Option<"schedule", "schedule", "std::string", "\"1f1b\"", "1f1b or gpipe">
  ];
  let constructor = "::hocket::createSearchPass()";
  let dependentDialects = ["::hocket::par::ParDialect"];
}

def VerifySearch : Pass<"hocket-verify-search", "::mlir::ModuleOp"> {
  let summary = "Check that the strategy names what the program and the mesh have";
  let description = [{
    One mesh and one strategy; tactics name functions, their arguments, letters and axes
    that exist; the cuts of the pipeline lie inside its layers, one less than its stages.
  }];
}
