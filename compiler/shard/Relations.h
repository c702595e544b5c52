//===- Relations.h - Which dimensions must be sharded alike -----------------===//
//
// Takes a module of model ops, gives for every op the groups of dimensions that
// are one and the same: the letters of an op, the operands and arguments of a
// scan or call.  Nothing here knows what an op computes.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "dialects/par/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace hocket::shard {

/// One dimension of one tensor.
struct Slot {
  mlir::Value value;
  unsigned dim;
};

/// Dimensions that share their axes; `letter` is the op's name for them, 0 at scans and calls.
struct Group {
  char letter = 0;
  llvm::SmallVector<Slot, 6> slots;
};

struct Relation {
  mlir::Operation *op;
  /// Groups are letters of one op: an axis may shard only one of them.
  bool exclusive;
  llvm::SmallVector<Group, 6> groups;
};

/// How a function is used. A root is used by no other: the step.
struct FunctionUse {
  bool root = true;
  int64_t carries = 0; ///< the first results that must keep the arguments' types
};

using FunctionUses = llvm::MapVector<mlir::func::FuncOp, FunctionUse>;

/// Every function of the module in its order, callees before their users.
/// Emits an error for recursion, unknown callees, functions of several blocks.
mlir::FailureOr<FunctionUses> functionUses(mlir::ModuleOp module);

/// The function a scan or call enters, or null for any other op.
mlir::func::FuncOp calledFunction(mlir::Operation *op);

/// Relations of all ops in the functions' order.
llvm::SmallVector<Relation, 0> collectRelations(const FunctionUses &functions);

/// "'wq'" for a named argument, "operand 1" or "result 0" of `op` otherwise.
std::string describe(mlir::Operation *op, mlir::Value value);

/// The terminator's operands: the values a function returns.
mlir::OperandRange returned(mlir::func::FuncOp function);

} // namespace hocket::shard
