//===- Reverse.h - Reverse mode over the ops of one block -------------------===//
#pragma once

#include "compiler/differentiate/Derivative.h"
#include "llvm/ADT/DenseSet.h"

namespace hocket {

class Reverse {
public:
  /// Handles an op that is not the dialect's table's (scan); fills `d.operands`.
  using Special = std::function<mlir::LogicalResult(mlir::OpBuilder &, OpDerivative &)>;

  /// New ops go to the builder's insertion point, which lies after `forward`.
  Reverse(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Operation *> forward, Special special = nullptr)
      : builder(builder), forward(forward.begin(), forward.end()), special(std::move(special)) {}

  /// Values whose adjoints are wanted; what depends on them is found by `run`.
  void want(mlir::Value value) { active.insert(value); }
  void seed(mlir::Value value, mlir::Value adjoint) { contributions[value].push_back(adjoint); }
  mlir::LogicalResult run();

  /// The sum of all contributions, one map that adds; null if there is none.
  mlir::Value adjoint(mlir::Value value);

private:
  mlir::OpBuilder &builder;
  llvm::SmallVector<mlir::Operation *> forward;
  Special special;
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> contributions;
};

/// Erases ops of `block` without uses and side effects, last first.
void eraseDead(mlir::Block &block);

} // namespace hocket
