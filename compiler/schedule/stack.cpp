#include "compiler/schedule/steps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket::schedule {
namespace {

struct Stacker {
  sched::TaskOp task;
  const DenseSet<Value> &stackedArgs;
  OpBuilder b;
  int64_t layers = 0;

  bool isStacked(Value v) const {
    while (auto reduce = v.getDefiningOp<par::AllReduceOp>())
      v = reduce.getInputs()[cast<OpResult>(v).getResultNumber()];
    if (isa<BlockArgument>(v))
      return stackedArgs.contains(v);
    Operation *op = v.getDefiningOp();
    unsigned i = cast<OpResult>(v).getResultNumber();
    if (auto repeat = dyn_cast<sched::RepeatOp>(op))
      return i >= unsigned(repeat.getCarries());
    if (auto letters = dyn_cast<model::LetterOp>(op))
      return StringRef(letters.getLetters().results[i]).starts_with("l");
    return false;
  }

  bool isStackedOp(Operation *op) const {
    return isa<model::LetterOp, par::AllReduceOp>(op) &&
           (llvm::any_of(op->getOperands(), [&](Value v) { return isStacked(v); }) ||
            llvm::any_of(op->getResults(), [&](Value v) { return isStacked(v); }));
  }

  LogicalResult group(ArrayRef<Operation *> ops);
  LogicalResult run();
};

/// `type` less its first dimension.
Type slice(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape().drop_front(), tensor.getElementType());
}

LogicalResult dropLayers(Operation *op) {
  auto dims = op->getAttrOfType<StringAttr>("dims");
  if (!dims)
    return success();
  model::Dims letters = model::Dims::parse(dims.getValue());
  for (auto *list : {&letters.operands, &letters.results})
    for (std::string &s : *list) {
      if (StringRef(s).starts_with("l"))
        s.erase(0, 1);
      if (s.find('l') != std::string::npos)
        return op->emitOpError("has the layers as an inner dimension");
    }
  op->setAttr("dims", StringAttr::get(op->getContext(), letters.str()));
  return success();
}

/// The ops, which take stacked values, as one repeat before the first of them.
LogicalResult Stacker::group(ArrayRef<Operation *> ops) {
  DenseSet<Operation *> in(ops.begin(), ops.end());
  SmallVector<Value> carries, shared, stacked, carryOuts, stackedOuts;
  layers = 0;
  auto note = [&](SmallVector<Value> &list, Value v) {
    if (!llvm::is_contained(list, v))
      list.push_back(v);
  };
  for (Operation *op : ops) {
    for (Value v : op->getOperands())
      if (!v.getDefiningOp() || !in.contains(v.getDefiningOp()))
        note(isStacked(v) ? stacked : shared, v);
    for (Value r : op->getResults()) {
      if (!isStacked(r)) {
        auto reduce = dyn_cast<model::ReduceOp>(op);
        if (reduce && reduce.getKind() != "sum")
          return op->emitOpError("takes a maximum over layers");
        carryOuts.push_back(r);
      } else if (llvm::any_of(r.getUsers(), [&](Operation *u) { return !in.contains(u); })) {
        stackedOuts.push_back(r);
      }
    }
    for (Value v :
         llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
      if (isStacked(v)) {
        auto type = dyn_cast<RankedTensorType>(v.getType());
        int64_t n = type && type.getRank() ? type.getDimSize(0) : 0;
        if (layers && n != layers)
          return op->emitOpError("takes stacks of ") << layers << " and " << n << " layers";
        layers = n;
      }
  }
  mlir::Location loc = ops.front()->getLoc();
  b.setInsertionPoint(ops.front());
  for (Value r : carryOuts) {
    auto type = dyn_cast<RankedTensorType>(r.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return r.getDefiningOp()->emitOpError("sums over layers what is no float");
    std::string letters = StringRef("abcdefghij").take_front(type.getRank()).str();
    carries.push_back(model::ConstantOp::create(
        b, loc, type, cast<TypedAttr>(b.getFloatAttr(type.getElementType(), 0)), "->" + letters));
  }
  SmallVector<Value> inputs(carries), results(carryOuts);
  llvm::append_range(inputs, shared);
  llvm::append_range(inputs, stacked);
  llvm::append_range(results, stackedOuts);
  auto repeat = sched::RepeatOp::create(b, loc, TypeRange(ValueRange(results)), inputs, carries.size(),
                                        shared.size(), layers, false, ArrayRef<int64_t>{});
  Block *block = b.createBlock(&repeat.getBody());
  IRMapping map;
  for (auto [i, v] : llvm::enumerate(inputs)) {
    bool cut = i >= carries.size() + shared.size();
    Value a = block->addArgument(cut ? slice(v.getType()) : v.getType(), loc);
    if (i >= carries.size())
      map.map(v, a);
  }
  SmallVector<Value> yields;
  for (Operation *op : ops) {
    Operation *inside = b.clone(*op, map);
    for (OpResult r : inside->getResults())
      if (isStacked(op->getResult(r.getResultNumber())))
        r.setType(slice(r.getType()));
    if (failed(dropLayers(inside)))
      return failure();
  }
  for (auto [i, r] : llvm::enumerate(carryOuts))
    yields.push_back(addMap(b, loc, block->getArgument(i), map.lookup(r)).getResult(0));
  for (Value r : stackedOuts)
    yields.push_back(map.lookup(r));
  sched::YieldOp::create(b, loc, yields);
  for (auto [old, now] : llvm::zip(results, repeat.getResults()))
    old.replaceAllUsesWith(now);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return success();
}

LogicalResult Stacker::run() {
  Block &block = task.getBody().front();
  // What can run without a further repeat runs first; then one repeat takes
  // every stacked op whose operands are there or made in it, slice by slice.
  SmallVector<Operation *> left;
  for (Operation &op : block.without_terminator())
    left.push_back(&op);
  DenseSet<Operation *> done;
  auto ready = [&](Value v) { return !v.getDefiningOp() || done.contains(v.getDefiningOp()); };
  Operation *end = block.getTerminator();
  while (!left.empty()) {
    [[maybe_unused]] size_t before = left.size();
    SmallVector<Operation *> rest, chosen;
    for (Operation *op : left) {
      if (!isStackedOp(op) && llvm::all_of(op->getOperands(), ready)) {
        op->moveBefore(end);
        done.insert(op);
      } else {
        rest.push_back(op);
      }
    }
    left = std::move(rest);
    rest.clear();
    DenseSet<Operation *> in;
    for (Operation *op : left) {
      bool fits = isStackedOp(op) && llvm::all_of(op->getOperands(), [&](Value v) {
                    return ready(v) || (in.contains(v.getDefiningOp()) && isStacked(v));
                  });
      if (!fits) {
        rest.push_back(op);
        continue;
      }
      op->moveBefore(end);
      chosen.push_back(op);
      in.insert(op);
    }
    left = std::move(rest);
    if (!chosen.empty()) {
      Operation *previous = chosen.front()->getPrevNode();
      if (failed(group(chosen)))
        return failure();
      for (Operation *op = previous ? previous->getNextNode() : &block.front(); op && op != end;
           op = op->getNextNode())
        done.insert(op);
    }
    // What is first of those left takes nothing that is left, so it was taken.
    assert(left.size() < before && "no progress");
  }
  return success();
}

} // namespace

LogicalResult stackRepeats(sched::TaskOp task, const DenseSet<Value> &stackedArgs) {
  if (llvm::none_of(task.getBody().front().without_terminator(), [&](Operation &op) {
        return Stacker{task, stackedArgs, OpBuilder(task), 0}.isStackedOp(&op);
      }))
    return success();
  return Stacker{task, stackedArgs, OpBuilder(task), 0}.run();
}

} // namespace hocket::schedule
