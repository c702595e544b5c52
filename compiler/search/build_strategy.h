//===- build_strategy.h - A Strategy as par.mesh and par.strategy -----------===//
//
// Takes a differentiated module and a complete strategy, gives the same module
// with the two ops in front; nothing else changes.  Batch and layers are read
// off the program.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/strategy.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket {

/// A group of parameters that is sharded together when a strategy names no
/// tiles: those of the names that the program has, by this letter over `axis`.
/// Names are shared by all families, so no family is named here.
struct DefaultTile {
  llvm::SmallVector<llvm::StringRef, 3> names;
  char letter;
  llvm::StringRef axis;
};
llvm::ArrayRef<DefaultTile> defaultTiles();

/// Batch (letter b of the inputs), first over data, then over the time axis
/// micro; then the tiles in their order; then the pipeline's cuts.  Axes of size
/// 1 get no tactic, micro always does: its sum is where the step is cut.
mlir::LogicalResult buildStrategy(mlir::ModuleOp module, const Strategy &strategy, const Diagnostics &diags);

} // namespace hocket
