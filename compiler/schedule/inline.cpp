#include "compiler/schedule/steps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket::schedule {
namespace {

constexpr int kDepth = 8; // of calls; the phases before make two

struct Inliner {
  ModuleOp module;
  OpBuilder b;

  FailureOr<func::FuncOp> callee(Operation *op, StringRef name, int depth) {
    auto fn = module.lookupSymbol<func::FuncOp>(name);
    if (!fn || fn.isExternal() || !fn.getBody().hasOneBlock())
      return op->emitOpError("needs the one-block body of @") << name;
    if (depth > kDepth)
      return op->emitOpError("calls nest deeper than ") << kDepth;
    return fn;
  }

  LogicalResult body(func::FuncOp fn, ValueRange args, SmallVectorImpl<Value> &results, int depth) {
    Block &block = fn.getBody().front();
    IRMapping map;
    assert(args.size() == block.getNumArguments() && "the verifiers of call and scan count them");
    map.map(block.getArguments(), args);
    for (Operation &op : block) {
      if (auto ret = dyn_cast<func::ReturnOp>(op)) {
        for (Value v : ret.getOperands())
          results.push_back(map.lookup(v));
      } else if (auto call = dyn_cast<func::CallOp>(op)) {
        FailureOr<func::FuncOp> inner = callee(&op, call.getCallee(), depth);
        SmallVector<Value> operands, values;
        for (Value v : call.getOperands())
          operands.push_back(map.lookup(v));
        if (failed(inner) || failed(body(*inner, operands, values, depth + 1)))
          return failure();
        map.map(call.getResults(), values);
      } else if (auto scan = dyn_cast<model::ScanOp>(op)) {
        if (failed(repeat(scan, map, depth)))
          return failure();
      } else {
        b.clone(op, map);
      }
    }
    return success();
  }

  LogicalResult repeat(model::ScanOp scan, IRMapping &map, int depth) {
    FailureOr<func::FuncOp> fn = callee(scan, scan.getBody(), depth);
    if (failed(fn))
      return failure();
    SmallVector<Value> operands;
    for (Value v : scan.getInputs())
      operands.push_back(map.lookup(v));
    auto repeat = sched::RepeatOp::create(
        b, scan.getLoc(), scan->getResultTypes(), operands, scan.getCarries(), scan.getShared(),
        scan.getRange()[1] - scan.getRange()[0], scan.getReverse(), ArrayRef<int64_t>{});
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&repeat.getBody());
    for (Type t : fn->getArgumentTypes())
      block->addArgument(t, scan.getLoc());
    SmallVector<Value> results;
    if (failed(body(*fn, block->getArguments(), results, depth + 1)))
      return failure();
    sched::YieldOp::create(b, scan.getLoc(), results);
    map.map(scan.getResults(), repeat.getResults());
    return success();
  }
};

} // namespace

FailureOr<sched::TaskOp> inlineTask(func::FuncOp fn, StringRef symbol, StringRef stage, ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Attribute> inputs, outputs;
  for (unsigned i = 0; i < fn.getNumArguments(); ++i)
    inputs.push_back(fn.getArgAttr(i, "place.home"));
  for (unsigned i = 0; i < fn.getNumResults(); ++i)
    outputs.push_back(fn.getResultAttr(i, "place.home"));
  for (Attribute a : llvm::concat<Attribute>(inputs, outputs))
    if (!isa_and_present<StringAttr>(a))
      return fn.emitOpError("has an argument or result without a place.home");
  auto task =
      sched::TaskOp::create(b, fn.getLoc(), symbol, stage, b.getArrayAttr(inputs), b.getArrayAttr(outputs));
  Block *block = b.createBlock(&task.getBody());
  for (Type t : fn.getArgumentTypes())
    block->addArgument(t, fn.getLoc());
  Inliner inliner{module, b};
  SmallVector<Value> results;
  if (failed(inliner.body(fn, block->getArguments(), results, 0)))
    return failure();
  sched::YieldOp::create(inliner.b, fn.getLoc(), results);
  return task;
}

} // namespace hocket::schedule
