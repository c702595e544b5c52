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
  void add(Slot slot, llvm::StringRef axis);
  /// The dimension of `value` that `axis` shards, or -1.
  int64_t find(mlir::Value value, llvm::StringRef axis) const;

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<par::Axes, 4>> axes; // looked up, never iterated
};

/// Applies the strategy's tactics in order, each followed by propagation to a
/// fixpoint. An earlier tactic wins: a later one stops where it would shard a
/// dimension otherwise than an earlier one did.
mlir::FailureOr<Table> propagate(mlir::ModuleOp module, par::MeshOp mesh, par::StrategyOp strategy,
                                 llvm::ArrayRef<Relation> relations);

/// Errors at every op whose dimensions disagree: it would need a reshard.
mlir::LogicalResult checkAgreement(llvm::ArrayRef<Relation> relations, const Table &table);

} // namespace hocket::shard
