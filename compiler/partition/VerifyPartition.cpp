#include "compiler/partition/Passes.h"
#include "dialects/model/Model.h"

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

  /// The body of a scan has the types of the operands, less l on stacked ones.
  LogicalResult checkScan(model::ScanOp scan) {
    auto body = module.lookupSymbol<func::FuncOp>(scan.getBody());
    if (!body)
      return scan.emitOpError("runs unknown body @") << scan.getBody();
    if (body.getNumArguments() != scan.getInputs().size() || body.getNumResults() != scan->getNumResults())
      return scan.emitOpError("and body @") << scan.getBody() << " differ in operands or results";
    int64_t layers = scan.getRange()[1] - scan.getRange()[0];
    auto agrees = [&](Type whole, Type slice, bool stacked) {
      auto w = dyn_cast<RankedTensorType>(whole), s = dyn_cast<RankedTensorType>(slice);
      if (!stacked || !w || !s || w.getRank() < 1)
        return whole == slice && !stacked;
      return w.getDimSize(0) == layers && w.getShape().drop_front() == s.getShape() &&
             w.getElementType() == s.getElementType();
    };
    for (auto [i, v] : llvm::enumerate(scan.getInputs()))
      if (!agrees(v.getType(), body.getArgumentTypes()[i], int64_t(i) >= int64_t(scan.getCarries() + scan.getShared())))
        return scan.emitOpError("operand ") << i << " does not match argument " << i << " of @" << scan.getBody()
                                            << " over " << layers << " layers";
    for (auto [i, t] : llvm::enumerate(scan->getResultTypes()))
      if (!agrees(t, body.getResultTypes()[i], int64_t(i) >= int64_t(scan.getCarries())))
        return scan.emitOpError("result ") << i << " does not match result " << i << " of @" << scan.getBody()
                                           << " over " << layers << " layers";
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
      for (Type t : fn.getResultTypes())
        if (failed(isLocal(op, t)))
          return failure();
    if (auto scan = dyn_cast<model::ScanOp>(op))
      return checkScan(scan);
    if (auto call = dyn_cast<func::CallOp>(op)) {
      auto fn = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (!fn || fn.getArgumentTypes() != call->getOperandTypes() || fn.getResultTypes() != call->getResultTypes())
        return call.emitOpError("does not match @") << call.getCallee();
    }
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
    return failure(module.walk([&](Operation *op) {
                           return op == module || succeeded(check(op)) ? WalkResult::advance()
                                                                       : WalkResult::interrupt();
                         }).wasInterrupted());
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
