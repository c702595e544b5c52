//===- Propagate.h - Tactics to axes of every dimension, on a side table ----===//
#pragma once

#include "compiler/shard/Relations.h"

namespace hocket::shard {

/// Axes of every dimension, major to minor, in the order of the tactics.
class Table {
public:
  llvm::ArrayRef<par::Axes> of(mlir::Value value) const {
    auto it = axes.find(value);
    return it == axes.end() ? llvm::ArrayRef<par::Axes>() : llvm::ArrayRef<par::Axes>(it->second);
  }
  const par::Axes &at(Slot slot) const;
  /// `tile`: the tactic that asked for it, where one did.
  void add(Slot slot, llvm::StringRef axis, par::TileOp tile = {});
  /// The dimension of `value` that `axis` shards, or -1.
  int64_t find(mlir::Value value, llvm::StringRef axis) const;
  /// The tactic by which `axis` shards `value`, or null.
  par::TileOp tactic(mlir::Value value, llvm::StringRef axis) const { return tactics.lookup({value, axis}); }

private:
  // Both are looked up, never iterated.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<par::Axes, 4>> axes;
  llvm::DenseMap<std::pair<mlir::Value, llvm::StringRef>, par::TileOp> tactics;
};

/// Applies the strategy's tactics in order, each followed by propagation to a
/// fixpoint. An earlier tactic wins: a later one stops where it would shard a
/// dimension otherwise than an earlier one did.
mlir::FailureOr<Table> propagate(mlir::ModuleOp module, par::MeshOp mesh, par::StrategyOp strategy,
                                 llvm::ArrayRef<Relation> relations);

/// `wanted`, the place of a tactic or of an axis' size in the user's files; `op`'s where it has none,
/// as in strategies that were chosen.
mlir::Location placeOf(mlir::Location wanted, mlir::Operation *op);

/// Errors at the tactics whose demands meet at an op that they shard differently: it would need a
/// reshard. At the op itself where the tactics are not known, or have no place.
mlir::LogicalResult checkAgreement(llvm::ArrayRef<Relation> relations, const Table &table);

} // namespace hocket::shard
