#include "compiler/kernels/kernels.h"
#include "compiler/schedule/steps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket::schedule {
namespace {

struct Emitter {
  sched::TaskOp task;
  const InPlace &inPlace;
  Shared &shared;

  SmallVector<int64_t> pairs(Operation *op) const {
    auto it = inPlace.pairs.find(op);
    return it == inPlace.pairs.end() ? SmallVector<int64_t>{} : it->second;
  }

  LogicalResult launch(Operation *op) {
    FailureOr<kernels::KernelDesc> desc = kernels::describe(op);
    if (failed(desc))
      return failure();
    if (!shared.kernels.count(desc->symbol)) {
      OpBuilder b(shared.module.getBodyRegion());
      b.setInsertionPoint(task);
      auto kernel = sched::KernelOp::create(b, op->getLoc(), desc->symbol, desc->scratchBytes);
      Block *body = b.createBlock(&kernel.getBody());
      IRMapping map;
      for (Value v : op->getOperands())
        if (!map.contains(v))
          map.map(v, body->addArgument(v.getType(), v.getLoc()));
        else
          body->addArgument(v.getType(), v.getLoc());
      Operation *inside = b.clone(*op, map);
      // One argument for each operand, also where a value comes twice.
      for (auto [i, a] : llvm::enumerate(body->getArguments()))
        inside->setOperand(i, a);
      sched::YieldOp::create(b, op->getLoc(), inside->getResults());
      shared.kernels[desc->symbol] = kernel;
    }
    OpBuilder b(op);
    auto launch = sched::LaunchOp::create(b, op->getLoc(), op->getResultTypes(), op->getOperands(),
                                          desc->symbol, "compute", pairs(op));
    op->replaceAllUsesWith(launch);
    op->erase();
    return success();
  }

  LogicalResult dot(model::DotOp op) {
    bool swapped = false;
    auto gemm = kernels::asGemm(op, /*accumulate=*/false, &swapped);
    if (!gemm)
      return launch(op);
    OpBuilder b(op);
    auto product =
        sched::GemmOp::create(b, op.getLoc(), op.getResult().getType(), swapped ? op.getB() : op.getA(),
                              swapped ? op.getA() : op.getB(), Value(), gemm->m, gemm->n, gemm->k,
                              gemm->transposeA, gemm->transposeB, "compute");
    op->replaceAllUsesWith(product);
    op->erase();
    return success();
  }

  LogicalResult collective(par::AllReduceOp op) {
    SmallVector<std::string> axes;
    for (StringAttr a : op.getAxes().getAsRange<StringAttr>())
      axes.push_back(a.str());
    // The sum over stages has a communicator of its own.
    bool world = axes.size() == 1 && axes[0] == shared.pipelineAxis;
    std::string name = world ? "world" : llvm::join(axes, "_");
    OpBuilder b(op);
    shared.comms.insert({b.getStringAttr(name), axes});
    auto result = sched::CollectiveOp::create(b, op.getLoc(), op->getResultTypes(), op.getInputs(),
                                              op.getKind() == "max" ? "all_reduce_max" : "all_reduce_sum",
                                              name, "direct", name);
    op->replaceAllUsesWith(result);
    op->erase();
    return success();
  }

  LogicalResult block(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      LogicalResult done = success();
      if (auto repeat = dyn_cast<sched::RepeatOp>(op)) {
        done = this->block(repeat.getBody().front());
        repeat.setInplace(pairs(repeat));
      } else if (auto d = dyn_cast<model::DotOp>(op)) {
        done = dot(d);
      } else if (auto reduce = dyn_cast<par::AllReduceOp>(op)) {
        done = collective(reduce);
      } else if (isa<model::LetterOp>(op)) {
        done = launch(&op);
      } else if (!isa<sched::GemmOp, sched::YieldOp, par::CoordOp>(op)) {
        done = op.emitOpError("has no place in a task");
      }
      if (failed(done))
        return failure();
    }
    return success();
  }
};

} // namespace

LogicalResult emitKernels(sched::TaskOp task, const InPlace &inPlace, Shared &shared) {
  return Emitter{task, inPlace, shared}.block(task.getBody().front());
}

} // namespace hocket::schedule
