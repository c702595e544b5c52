//===- placement.h - Where each value of a task lies ------------------------===//
//
// Takes a sched.task and the homes of its class, gives a spot for every value
// and the copies that could not be avoided.
//
// Lives are intervals of positions in text order; a repeat has a first and a
// last position, and a value from outside that is used inside lives to the
// last.  Two values may share memory only if no interval of one meets one of
// the other; a result may share with an operand of the same operation only
// where the IR says `inplace`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/allocate/layout.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace hocket::allocate {

/// A home (whole, or the slice of the current layer), or an offset in scratch.
struct Spot {
  mlir::StringAttr home;
  bool slice = false;
  uint64_t offset = 0;
};

struct Copy {
  mlir::Value from;
  Spot to;
};

class Placement {
public:
  Placement(sched::TaskOp task, ClassLayout &layout) : task(task), layout(layout) {}

  /// Places everything; returns the scratch bytes that the task needs.
  /// `scratchOf` gives the scratch that one operation itself wants.
  mlir::FailureOr<uint64_t> compute(std::function<mlir::FailureOr<uint64_t>(mlir::Operation *)> scratchOf);

  const Spot &spot(mlir::Value value) const { return spots.find(value)->second; }
  /// Copies to be made directly before `op`.
  llvm::ArrayRef<Copy> copiesBefore(mlir::Operation *op) const {
    auto it = copies.find(op);
    return it == copies.end() ? llvm::ArrayRef<Copy>() : llvm::ArrayRef<Copy>(it->second);
  }
  uint64_t scratchOf(mlir::Operation *op) const { return opScratch.lookup(op); }

private:
  struct Interval {
    int64_t begin, end;
  };
  /// Values that share one place: a class of the union-find `parent`.
  struct Node {
    int parent;
    std::optional<Spot> fixed;
    int block = -1; ///< member of a contiguous block
    uint64_t bytes = 0;
    std::vector<Interval> lives;
  };
  struct Message {
    std::vector<int> members;
  };

  int find(int n) const;
  int newNode(uint64_t bytes);
  int nodeOf(mlir::Value v) { return nodes.lookup(v); }
  bool meet(int a, int b) const;
  bool sameFixed(const Spot &a, const Spot &b) const { return a.home == b.home && a.slice == b.slice; }
  /// Whether class `a` may lie at `spot`: no other class there lives at the same time.
  bool canFix(int a, const Spot &spot) const;
  bool canMerge(int a, int b) const;
  void merge(int a, int b);
  void addCopy(mlir::Operation *before, mlir::Value from, int toNode);

  void number(mlir::Block &block);
  mlir::LogicalResult makeNodes(mlir::Block &block);
  mlir::LogicalResult stackHomes();
  void live(mlir::Value v);
  mlir::LogicalResult inPlace(mlir::Operation *op, mlir::Value result, mlir::Value operand);
  mlir::LogicalResult coalesce();
  mlir::LogicalResult groups();
  mlir::LogicalResult yields();
  void carries(sched::RepeatOp repeat);
  uint64_t colour(std::function<mlir::FailureOr<uint64_t>(mlir::Operation *)> scratchOf, bool &failed);

  sched::TaskOp task;
  ClassLayout &layout;
  llvm::DenseMap<mlir::Operation *, Interval> position;
  int64_t clock = 0;
  llvm::DenseMap<mlir::Value, int> nodes;
  mutable std::vector<Node> table;
  std::vector<Message> blocks;
  llvm::DenseMap<mlir::Value, Spot> spots;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Copy>> copies;
  struct PendingCopy {
    mlir::Operation *before;
    mlir::Value from;
    int to;
  };
  std::vector<PendingCopy> pending;
  llvm::DenseMap<mlir::Operation *, uint64_t> opScratch;
  std::vector<mlir::Operation *> ops; ///< in text order
};

} // namespace hocket::allocate
