//===- cut.h - Which task and which stage an op of the step belongs to ------===//
//
// Takes `@step` after shard; gives every op its task (F, B, L, N, U) and every
// value its location.  Reads only what depends on what: the loss, the
// reductions over time axes, and the scan that `par.pipeline` names.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "dialects/par/Par.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace hocket {

enum class TaskKind { F, B, L, N, U };
constexpr const char *taskName(TaskKind t) {
  constexpr const char *names[] = {"F", "B", "L", "N", "U"};
  return names[int(t)];
}

/// Where a value lives.
struct Location {
  enum Kind {
    Free,       ///< made of constants only: cloned where it is used
    Everywhere, ///< the same on every stage
    At,         ///< on `stage`
    Sliced,     ///< stacked over layers: each stage has its own
    Split,      ///< each stage has a term of the value, a sum over stages
  } kind = Free;
  int stage = 0;
  bool operator==(const Location &o) const { return kind == o.kind && (kind != At || stage == o.stage); }
};

struct StepCut {
  mlir::func::FuncOp step;
  int stages = 1;
  std::vector<std::pair<int64_t, int64_t>> layers; ///< of each stage
  int64_t micro = 1;
  std::string schedule = "1f1b", pipelineAxis;
  llvm::SmallVector<std::string> timeAxes;
  mlir::Operation *forwardScan = nullptr, *backwardScan = nullptr; ///< set if stages > 1
  mlir::Operation *norm = nullptr;                                 ///< the sum of all squares

  llvm::DenseMap<mlir::Operation *, TaskKind> task;
  llvm::DenseMap<mlir::Value, Location> at;
  llvm::DenseMap<mlir::Value, std::string> home; ///< of gradients, sums and the step's results

  mlir::LogicalResult analyse(mlir::ModuleOp module);

  bool isFree(mlir::Value v) const;
  bool isTimeReduce(mlir::Operation *op) const;
  bool isPipelined(mlir::Operation *op) const { return op == forwardScan || op == backwardScan; }
  bool isBody(mlir::Operation *op) const { return task.contains(op) && task.lookup(op) <= TaskKind::B; }
  Location locate(mlir::Value v) const;
  /// The stage that makes `v` for a use on `stage`.
  int maker(mlir::Value v, int stage) const;
  /// Operands of `op` that it takes on `stage` (all, but for reductions and the norm).
  llvm::SmallVector<unsigned> operandsOn(mlir::Operation *op, int stage) const;
  /// Stage from which a pipelined scan's carries come, or -1 at its first stage.
  int before(mlir::Operation *scan, int stage) const {
    return scan == forwardScan ? stage - 1 : stage + 1 == stages ? -1 : stage + 1;
  }
  /// Step arguments of a role: `model.param` in order, then states of `kind`.
  llvm::SmallVector<mlir::BlockArgument> arguments(llvm::StringRef role, llvm::StringRef kind = "") const;
  mlir::DictionaryAttr attrs(mlir::BlockArgument a) const;
  std::string argumentName(mlir::BlockArgument a) const;
  std::string argumentHome(mlir::BlockArgument a) const;
  /// Stages whose body uses a parameter; the first owns it.
  llvm::SmallVector<int> stagesOf(mlir::BlockArgument param) const;

private:
  mlir::LogicalResult readMesh(mlir::ModuleOp module);
  mlir::LogicalResult readPipeline(mlir::ModuleOp module);
  mlir::LogicalResult findFree();
  mlir::LogicalResult classify();
  mlir::LogicalResult locateAll();
  mlir::LogicalResult splitSums();
  mlir::LogicalResult nameHomes();
  int bodyStage(mlir::Operation *op) const;
  mlir::FailureOr<Location> updateLocation(mlir::Operation *op) const;

  llvm::DenseSet<mlir::Operation *> freeOps, beforeForward, beforeBackward, afterBackward;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> users; ///< of parameters in the body
};

/// Whether the step's value is stacked over layers (first dimension l).
bool isStacked(mlir::Value v);
/// A map whose region adds all its arguments, each once.
bool isSum(mlir::Operation *op);

} // namespace hocket
