//===- builder.h - State while a cut step is written ------------------------===//
#pragma once

#include "compiler/place/cut.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace hocket::placing {

using namespace mlir;
using hocket::Location;

struct Site {
  TaskKind task = TaskKind::F;
  int stage = 0;
  auto operator<=>(const Site &) const = default;
};

/// A value that a task function takes from another task.
struct Import {
  Value value;                ///< of @step
  int stage;                  ///< that made it
  Site from;                  ///< the task that made it
  Value inside;               ///< what that task returns: before the sum over time
  std::string source, target; ///< homes on both sides
  bool crosses(int to) const { return stage != to; }
  bool overTime() const { return inside != value; }
};

/// A value that a task function returns.
struct Export {
  Value inside;
  std::string home;
  bool operator==(const Export &) const = default;
};

struct Function {
  SetVector<Operation *> ops;
  SmallVector<Operation *> sorted;
  SmallVector<BlockArgument> leaves;
  SmallVector<Import> imports;
  SmallVector<Export> exports;
  func::FuncOp fn;
};

class Builder {
public:
  Builder(ModuleOp module, StepCut &cut) : module(module), cut(cut), b(module.getContext()) {}
  LogicalResult run();

private:
  void need(Value v, int stage);
  void mark(Operation *op, int stage);
  void needOperands(Operation *op, int stage);
  void drain();
  LogicalResult demand();
  LogicalResult connect(Site site, Function &f);
  void import(Site site, Function &f, Value v, int stage);
  void addExport(Site site, Value inside, const std::string &home);
  std::string valueName(Value v);
  Type typeOn(Value v, int stage);
  void emitFunction(Site site, Function &f);
  void emitMeshes();
  LogicalResult emitStep();
  void emitTasks(TaskKind kind, bool downwards, std::map<std::pair<Site, unsigned>, Value> &values);
  Value flow(Import &i, int stage, Type type, std::map<std::pair<Site, unsigned>, Value> &values);

  ModuleOp module;
  StepCut &cut;
  OpBuilder b;
  SmallVector<std::pair<Operation *, int>> work;
  std::map<Site, Function> functions;
  DenseMap<Operation *, unsigned> position;
  DenseMap<Value, std::string> names;
  std::map<std::string, unsigned> taken;
  // Of place.step while it is written.
  std::map<std::pair<void *, std::pair<int, int>>, Value> moved; // (value, from stage, to stage)
  DenseMap<Value, Value> normOf;
};

inline std::string meshName(int stage) { return "s" + std::to_string(stage); }

} // namespace hocket::placing
