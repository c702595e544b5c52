//===- Passes.td - Partition -----------------------------------*- tablegen -*-===//
#ifndef HOCKET_PARTITION_PASSES_TD
#define HOCKET_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"hocket-partition", "::mlir::ModuleOp"> {
  let summary = "Global types with shardings become local types";
  let description = [{
    A dimension's extent is divided by the sizes of its axes, time axes included. An op
    that needs global indices of a sharded letter gets an offset from `par.coord`.
  }];
  let constructor = "::hocket::createPartitionPass()";
  let dependentDialects = ["::hocket::par::ParDialect"];
}

def VerifyPartitionPass : Pass<"hocket-verify-partition", "::mlir::ModuleOp"> {
  let summary = "Check local types, offsets and collectives against the record of the global level";
  let description = [{
    No sharding is left; local extent × shards = global (padded) extent for every argument and
    result, and for the arguments that hold what a `place.param` describes; collectives by kind
    and axes are as many as at the global level; collectives and coordinates name axes of
    space; an index is a `par.coord` times the extent of a shard.
  }];
  let constructor = "::hocket::createVerifyPartitionPass()";
}

#endif // HOCKET_PARTITION_PASSES_TD
