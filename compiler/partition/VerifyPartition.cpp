#include "compiler/partition/Passes.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "compiler/partition/Passes.h.inc"

namespace {

struct Verifier {
  ModuleOp module;
  std::map<std::string, int64_t> axes;

  LogicalResult isLocal(Operation *op, Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getEncoding())
      return op->emitError("type ") << type << " is still global";
    return success();
  }

  LogicalResult checkAxes(Operation *op, ArrayAttr names) {
    for (StringAttr a : names.getAsRange<StringAttr>())
      if (!axes.count(a.str()))
        return op->emitOpError("names axis \"") << a.getValue() << "\", which is no axis of space";
    return success();
  }

  LogicalResult check(Operation *op) {
    for (Type t : op->getResultTypes())
      if (failed(isLocal(op, t)))
        return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type t : block.getArgumentTypes())
          if (failed(isLocal(op, t)))
            return failure();
    if (auto fn = dyn_cast<func::FuncOp>(op))
      for (Type t : llvm::concat<const Type>(fn.getArgumentTypes(), fn.getResultTypes()))
        if (failed(isLocal(op, t)))
          return failure();
    if (auto reduce = dyn_cast<par::AllReduceOp>(op))
      return checkAxes(op, reduce.getAxes());
    if (auto coord = dyn_cast<par::CoordOp>(op))
      return checkAxes(op, coord.getAxes());
    return success();
  }

  LogicalResult run() {
    for (auto mesh : module.getOps<par::MeshOp>())
      for (auto [axis, size] : llvm::zip(mesh.getAxes().getAsRange<StringAttr>(), mesh.getSizes()))
        axes[axis.str()] = size;
    return failure(module
                       .walk([&](Operation *op) {
                         return op == module || succeeded(check(op)) ? WalkResult::advance()
                                                                     : WalkResult::interrupt();
                       })
                       .wasInterrupted());
  }
};

struct VerifyPartitionPass : impl::VerifyPartitionPassBase<VerifyPartitionPass> {
  void runOnOperation() override {
    Verifier verifier{getOperation(), {}};
    if (failed(verifier.run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyPartitionPass() { return std::make_unique<VerifyPartitionPass>(); }

} // namespace hocket
