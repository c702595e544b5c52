//===- Collectives.cpp - Partial values and where they are reduced ----------===//
//
// A sharded letter that a result lacks makes the result partial over its axes.
// Partial sums stay partial through maps that only add equal ones and are
// reduced where the first other op needs them.  In a root function (the step)
// time axes are reduced right after the op that made the partial value: there
// the step is cut; what is then still partial over space is a gradient, and
// gradients are reduced in buckets.
//
//===----------------------------------------------------------------------===//
#include "compiler/shard/Steps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

Partial shard::partialOf(Value value) {
  par::Sharding sharding = par::getSharding(value.getType());
  return {sharding.partial, sharding.kind};
}

bool shard::addsPartials(Operation *op) {
  auto map = dyn_cast<model::MapOp>(op);
  if (!map || map.getInputs().empty())
    return false;
  Partial first = partialOf(map.getInputs().front());
  if (first.axes.empty() || first.kind != "sum")
    return false;
  return llvm::all_of(map.getInputs(), [&](Value v) { return partialOf(v) == first; }) &&
         llvm::all_of(map.getBody().front(),
                      [](Operation &o) { return isa<arith::AddFOp, model::YieldOp>(o); });
}

bool shard::passesPartial(OpOperand &operand) {
  auto scatter = dyn_cast<model::ScatterAddOp>(operand.getOwner());
  if (!scatter || operand.get() != scatter.getUpdates() || operand.get() == scatter.getIndices())
    return false;
  Partial partial = partialOf(operand.get());
  par::Sharding result = par::getSharding(scatter.getResult().getType());
  auto taken = [&](StringRef axis) {
    return llvm::any_of(result.dims, [&](const par::Axes &axes) { return llvm::is_contained(axes, axis); });
  };
  return !partial.axes.empty() && partial.kind == "sum" && llvm::none_of(partial.axes, taken);
}

Partial shard::expectedPartial(Operation *op, unsigned i, par::MeshOp mesh) {
  if (addsPartials(op))
    return partialOf(op->getOperand(0));
  Partial partial;
  if (func::FuncOp callee = calledFunction(op))
    return partialOf(returned(callee)[i]);
  auto letters = dyn_cast<model::LetterOp>(op);
  if (!letters)
    return partial;
  model::Dims dims = letters.getLetters();
  for (auto [operand, names] : llvm::zip(op->getOpOperands(), dims.operands)) {
    par::Sharding sharding = par::getSharding(operand.get().getType());
    for (auto [letter, axes] : llvm::zip(names, sharding.dims))
      if (dims.results[i].find(letter) == std::string::npos)
        partial.axes.append(axes.begin(), axes.end());
    if (passesPartial(operand))
      partial.axes.append(sharding.partial);
  }
  par::canonicalize(mesh, partial.axes);
  if (!partial.axes.empty())
    partial.kind = letters.getReduction(i);
  return partial;
}

//===----------------------------------------------------------------------===//
// Insertion
//===----------------------------------------------------------------------===//

namespace {

class Inserter {
public:
  Inserter(func::FuncOp function, const FunctionUse &use, par::MeshOp mesh)
      : function(function), use(use), mesh(mesh) {}

  LogicalResult run() {
    SmallVector<Operation *> ops; // collectives are added while walking
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
    for (Operation *op : ops)
      if (failed(visit(op)))
        return failure();
    setFunctionType(function);
    return success();
  }

private:
  LogicalResult visit(Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return visitReturn(op);
    bool adds = addsPartials(op);
    if (!adds && failed(reduceOperands(op, op->getOpOperands())))
      return failure();
    for (OpResult result : op->getResults())
      setPartial(result, expectedPartial(op, result.getResultNumber(), mesh));
    if (adds) {
      added.insert(op);
      if (gradients.contains(op->getOperand(0)))
        gradients.insert(op->result_begin(), op->result_end());
    } else if (use.root) {
      cut(op);
    }
    return success();
  }

  /// Carries keep their type, so they are whole; what else a layer returns stays
  /// partial, unless a reduced version exists anyway.
  LogicalResult visitReturn(Operation *op) {
    if (use.root)
      return reduceOperands(op, op->getOpOperands());
    for (OpOperand &operand : op->getOpOperands().drop_front(use.carries))
      if (Value whole = reduced.lookup(operand.get()))
        operand.set(whole);
    return reduceOperands(op, op->getOpOperands().take_front(use.carries));
  }

  void setPartial(Value value, const Partial &partial) {
    if (partial.axes.empty())
      return;
    par::Sharding sharding = par::getSharding(value.getType());
    sharding.partial = partial.axes;
    sharding.kind = partial.kind;
    value.setType(par::withSharding(cast<RankedTensorType>(value.getType()), sharding));
  }

  /// Results of one all_reduce of values that are partial alike.
  ResultRange reduce(OpBuilder &builder, Location loc, ArrayRef<Value> values, const par::Axes &axes,
                     bool bucket) {
    SmallVector<Type> types;
    for (Value value : values) {
      par::Sharding sharding = par::getSharding(value.getType());
      llvm::erase_if(sharding.partial, [&](StringRef axis) { return llvm::is_contained(axes, axis); });
      if (sharding.partial.empty())
        types.push_back(
            par::withSharding(cast<RankedTensorType>(value.getType()), {sharding.dims, {}, "sum"}));
      else
        types.push_back(par::withSharding(cast<RankedTensorType>(value.getType()), sharding));
    }
    auto op = par::AllReduceOp::create(builder, loc, types, values, par::axesAttr(builder.getContext(), axes),
                                       builder.getStringAttr(partialOf(values.front()).kind), bucket);
    return op.getResults_();
  }

  /// Whole versions of the partial ones among `operands`, in front of `op`.
  LogicalResult reduceOperands(Operation *op, MutableArrayRef<OpOperand> operands) {
    auto needed = [&](OpOperand &operand) {
      return !passesPartial(operand) || reduced.contains(operand.get());
    };
    for (OpOperand &operand : operands)
      if (gradients.contains(operand.get()) && !reduced.contains(operand.get()) && needed(operand))
        flush(op);
    SmallVector<std::pair<Partial, SmallVector<Value>>> groups;
    for (OpOperand &operand : operands) {
      Value value = operand.get();
      Partial partial = partialOf(value);
      if (partial.axes.empty() || reduced.contains(value) || !needed(operand))
        continue;
      if (!use.root)
        for (StringRef axis : partial.axes)
          if (par::isTimeAxis(mesh, axis))
            return op->emitError("needs ") << describe(op, value) << " summed over \"" << axis
                                           << "\" inside a layer; it is summed in the step";
      auto group = llvm::find_if(groups, [&](auto &g) { return g.first == partial; });
      if (group == groups.end())
        group = &groups.emplace_back(partial, SmallVector<Value>());
      if (!llvm::is_contained(group->second, value))
        group->second.push_back(value);
    }
    OpBuilder builder(op);
    for (auto &[partial, values] : groups)
      for (auto [from, to] : llvm::zip(values, reduce(builder, op->getLoc(), values, partial.axes, false)))
        reduced[from] = to;
    for (OpOperand &operand : operands)
      if (Value whole = reduced.lookup(operand.get()))
        operand.set(whole);
    return success();
  }

  /// In the step: sums over time right after `op`; gradients are collected.
  void cut(Operation *op) {
    SmallVector<std::pair<Partial, SmallVector<Value>>> groups;
    for (Value result : op->getResults()) {
      Partial partial = partialOf(result);
      par::Axes time = timeAxes(partial);
      if (time.empty() || (!result.use_empty() && llvm::all_of(result.getUses(), passesPartial)))
        continue;
      Partial key{time, partial.kind};
      auto group = llvm::find_if(groups, [&](auto &g) { return g.first == key; });
      if (group == groups.end())
        group = &groups.emplace_back(key, SmallVector<Value>());
      group->second.push_back(result);
    }
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    SmallVector<Value> summed;
    for (auto &[partial, values] : groups)
      for (auto [from, to] : llvm::zip(values, reduce(builder, op->getLoc(), values, partial.axes, false))) {
        from.replaceAllUsesExcept(to, to.getDefiningOp());
        if (isGradient(to))
          summed.push_back(to);
      }
    gradients.insert(summed.begin(), summed.end());
    // A scan's gradients are those of all layers: buckets of their own.
    if (isa<model::ScanOp>(op))
      bucket(summed, builder);
  }

  par::Axes timeAxes(const Partial &partial) {
    par::Axes time;
    llvm::copy_if(partial.axes, std::back_inserter(time),
                  [&](StringRef a) { return par::isTimeAxis(mesh, a); });
    return time;
  }

  /// Still partial over space after the cut; scalars (the loss) are no gradients.
  bool isGradient(Value value) {
    return !partialOf(value).axes.empty() && cast<RankedTensorType>(value.getType()).getRank() > 0;
  }

  /// One all_reduce per element type and axes, in order of first members.
  void bucket(ArrayRef<Value> values, OpBuilder &builder) {
    SmallVector<std::tuple<Type, Partial, SmallVector<Value>>> groups;
    for (Value value : values) {
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      Partial partial = partialOf(value);
      auto group = llvm::find_if(
          groups, [&](auto &g) { return std::get<0>(g) == element && std::get<1>(g) == partial; });
      if (group == groups.end())
        group = &groups.emplace_back(element, partial, SmallVector<Value>());
      std::get<2>(*group).push_back(value);
    }
    for (auto &[element, partial, members] : groups)
      for (auto [from, to] :
           llvm::zip(members, reduce(builder, members.front().getLoc(), members, partial.axes, true)))
        reduced[from] = to;
  }

  /// Reduces the gradients collected so far, except those that only went into
  /// sums; behind the last of them. `before` is the first op that needs one.
  void flush(Operation *before) {
    SmallVector<Value> members;
    Operation *last = nullptr;
    for (Value value : gradients) {
      bool summedOnly = !value.use_empty() &&
                        llvm::all_of(value.getUsers(), [&](Operation *user) { return added.contains(user); });
      if (reduced.contains(value) || summedOnly)
        continue;
      members.push_back(value);
      Operation *owner = value.getDefiningOp();
      if (!last || last->isBeforeInBlock(owner))
        last = owner;
    }
    if (members.empty())
      return;
    OpBuilder builder(before->getContext());
    builder.setInsertionPointAfter(last);
    bucket(members, builder);
  }

  func::FuncOp function;
  const FunctionUse &use;
  par::MeshOp mesh;
  llvm::DenseMap<Value, Value> reduced; // looked up, never iterated
  llvm::SetVector<Value> gradients;     // after their sum over time, in order
  llvm::DenseSet<Operation *> added;    // maps that add partial values
};

} // namespace

LogicalResult shard::insertCollectives(const FunctionUses &functions, par::MeshOp mesh) {
  for (auto &[function, use] : functions)
    if (failed(Inserter(function, use, mesh).run()))
      return failure();
  return success();
}
