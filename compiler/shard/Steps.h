//===- Steps.h - The steps of hocket-shard, in their order ------------------===//
#pragma once

#include "compiler/shard/Propagate.h"

namespace hocket::shard {

/// Whether `op`, given zeros in the pads of `letter` of its operands, gives zeros in
/// those of its results, and true values elsewhere.
bool keepsZeros(mlir::Operation *op, char letter);

/// Error at the first dimension that its axes do not divide and that no rule
/// pads; once the program is `padded`, none may be left.
mlir::LogicalResult checkDivisible(const FunctionUses &functions, llvm::ArrayRef<Relation> relations,
                                   const Table &table, par::MeshOp mesh, bool padded);

/// Rounds extents up to a multiple of their shards; notes the true extents at
/// arguments (`model.valid`) and at cross-entropies (`valid`).
void pad(const FunctionUses &functions, const Table &table, par::MeshOp mesh);

/// Replaces fused ops of which a letter needed whole is sharded by their definitions; how many.
unsigned inlineSharded(const FunctionUses &functions, const Table &table);

/// Writes the table into the types of all values and functions.
void writeTypes(const FunctionUses &functions, const Table &table);

/// Marks partial results and reduces them at the last legal point.
mlir::LogicalResult insertCollectives(const FunctionUses &functions, par::MeshOp mesh);

/// Sets a function's type from its arguments and terminator.
void setFunctionType(mlir::func::FuncOp function);

//===----------------------------------------------------------------------===//
// Partial values: the rule that collectives and the verifier share
//===----------------------------------------------------------------------===//

/// What a value is partial over.
struct Partial {
  par::Axes axes;
  llvm::StringRef kind = "sum";
  bool operator==(const Partial &) const = default;
};

Partial partialOf(mlir::Value value);

/// Whether `op` is a map that only adds and all its operands are equal partial
/// sums, so that its result is such a sum too.
bool addsPartials(mlir::Operation *op);

/// Whether `op` may take `operand`, a partial sum, as it is: the result is linear
/// in it, and partial over its axes too. That is the updates of a scatter_add.
bool passesPartial(mlir::OpOperand &operand);

/// What result `i` must be partial over: the axes of the letters that it lacks
/// and those of the operands that are partial and may be.
Partial expectedPartial(mlir::Operation *op, unsigned i, par::MeshOp mesh);

} // namespace hocket::shard
