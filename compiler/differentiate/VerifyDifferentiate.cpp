//===- VerifyDifferentiate.cpp - What differentiate promises ----------------===//
#include "compiler/differentiate/Passes.h"
#include "dialects/model/Param.h"

#include <set>

using namespace mlir;
using namespace hocket::model;

namespace hocket {
#define GEN_PASS_DEF_VERIFYDIFFERENTIATEPASS
#include "compiler/differentiate/Passes.h.inc"

namespace {

struct VerifyDifferentiatePass : impl::VerifyDifferentiatePassBase<VerifyDifferentiatePass> {
  using VerifyDifferentiatePassBase::VerifyDifferentiatePassBase;

  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>("step");
    if (!step) {
      getOperation().emitError("has no @step");
      return signalPassFailure();
    }
    if (failed(verifyStep(step)))
      return signalPassFailure();
    for (auto fn : getOperation().getOps<func::FuncOp>())
      if (failed(verifyFunction(fn, step)))
        return signalPassFailure();
  }

  /// Results: loss, norm, then one of its type for each parameter, m and v.
  LogicalResult verifyStep(func::FuncOp step) {
    SmallVector<unsigned> parameters, states[2];
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      if (step.getArgAttr(i, kParam))
        parameters.push_back(i);
      else if (auto state = step.getArgAttrOfType<DictionaryAttr>(i, kState))
        states[state.getAs<StringAttr>("kind").getValue() == "v"].push_back(i);
      else if (!step.getArgAttr(i, kInput) && !step.getArgAttr(i, kScalar))
        return step.emitOpError("argument ") << i << " has no role";
    }
    for (const auto &list : states) {
      if (list.size() != parameters.size())
        return step.emitOpError("has ")
               << parameters.size() << " parameters and " << list.size() << " of one moment";
      for (auto [p, s] : llvm::zip(parameters, list))
        if (step.getArgAttrOfType<DictionaryAttr>(s, kState).getAs<StringAttr>("of").getValue() !=
            argName(step, p))
          return step.emitOpError("argument ") << s << " is not the moment of '" << argName(step, p) << "'";
    }
    SmallVector<unsigned> order(parameters);
    order.append(states[0]);
    order.append(states[1]);
    if (step.getNumResults() != order.size() + 2)
      return step.emitOpError("gives ") << step.getNumResults() << " results where loss, norm and "
                                        << order.size() << " new values are due";
    Operation *ret = step.getBody().front().getTerminator();
    for (auto [k, i] : llvm::enumerate(order)) {
      if (step.getResultTypes()[k + 2] != step.getArgument(i).getType())
        return step.emitOpError("result ") << k + 2 << " is not of the type of '" << argName(step, i) << "'";
      if (ret->getOperand(k + 2) == step.getArgument(i))
        return step.emitOpError("does not update '") << argName(step, i) << "'";
    }
    return success();
  }

  LogicalResult verifyFunction(func::FuncOp fn, func::FuncOp step) {
    StringRef name = fn.getName();
    if (name == "loss")
      return fn.emitOpError("is left");
    bool wgrad = name.ends_with(".wgrad");
    if (wgrad || name.ends_with(".bwd") || name.ends_with(".back"))
      for (BlockArgument argument : fn.getArguments())
        if (argument.use_empty())
          return fn.emitOpError("takes '")
                 << argName(fn, argument.getArgNumber()) << "', which it does not use";
    if (wgrad)
      return verifyWeightGradients(fn, step);
    if (name.ends_with(".fwd"))
      return verifyResiduals(fn, step);
    return success();
  }

  LogicalResult verifyWeightGradients(func::FuncOp fn, func::FuncOp step) {
    std::set<std::string> parameters;
    std::string layer = fn.getName().drop_back(StringRef("wgrad").size()).str(); // "layer."
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (step.getArgAttr(i, kParam))
        parameters.insert(argName(step, i).str());
    for (BlockArgument argument : fn.getArguments())
      if (parameters.count(layer + argName(fn, argument.getArgNumber()).str()))
        return fn.emitOpError("takes the parameter '") << argName(fn, argument.getArgNumber()) << "'";
    for (Operation &op : fn.getBody().front().without_terminator())
      if (!isa<DotOp>(op))
        return op.emitOpError("is in a function of weight gradients, which holds model.dot only");
    return success();
  }

  /// Each residual that a scan of the step stacks is taken by a scan in reverse.
  LogicalResult verifyResiduals(func::FuncOp fn, func::FuncOp step) {
    WalkResult walk = step.walk([&](ScanOp scan) {
      if (scan.getBody() != fn.getName())
        return WalkResult::advance();
      for (OpResult result : scan.getResults().drop_front(scan.getCarries())) {
        auto isBack = [](Operation *user) {
          auto back = dyn_cast<ScanOp>(user);
          return back && back.getReverse();
        };
        if (!llvm::any_of(result.getUsers(), isBack)) {
          scan.emitOpError("keeps residual ") << result.getResultNumber() << ", which no backward pass takes";
          return WalkResult::interrupt();
        }
      }
      return WalkResult::advance();
    });
    return failure(walk.wasInterrupted());
  }
};

} // namespace
} // namespace hocket
