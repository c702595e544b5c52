//===- Passes.td - Passes of the phase shard -------------------*- tablegen -*-===//
include "mlir/Pass/PassBase.td"

def Shard : Pass<"hocket-shard", "::mlir::ModuleOp"> {
  let summary = "Apply the strategy: shardings on all types, collectives where partial values are needed whole";
  let description = [{
    Reads `par.mesh` and `par.strategy`; applies tactics in order on a side table, each
    propagated to a fixpoint through letters, scans and calls; pads letters f and v; inlines
    fused ops of which a whole letter is sharded; writes types; inserts `par.all_reduce`.
  }];
  let dependentDialects = ["::hocket::par::ParDialect", "::hocket::model::ModelDialect"];
}

def VerifyShard : Pass<"hocket-verify-shard", "::mlir::ModuleOp"> {
  let summary = "Check what the phase shard must leave: agreement of letters, partial values, divisibility";
}
