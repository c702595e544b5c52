//===- Differentiate.cpp - @loss becomes @step ------------------------------===//
#include "compiler/differentiate/AdamW.h"
#include "compiler/differentiate/Layer.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/differentiate/Reverse.h"
#include "dialects/model/Param.h"

#include "mlir/IR/IRMapping.h"
#include <cmath>

using namespace mlir;
using namespace hocket::model;

namespace hocket {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "compiler/differentiate/Passes.h.inc"

namespace {

class StepBuilder {
public:
  StepBuilder(ModuleOp module, func::FuncOp loss, const AdamW &options)
      : module(module), loss(loss), options(options), builder(module.getContext()), loc(loss.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult differentiateLayers();
  LogicalResult makeFunction();
  void cloneForward();
  LogicalResult scanBackward(OpBuilder &b, OpDerivative &d);
  LogicalResult finish(Reverse &reverse);

  ModuleOp module;
  func::FuncOp loss, step;
  AdamW options;
  OpBuilder builder;
  Location loc;
  std::map<std::string, Layer> layers;          // by the name of the layer's function
  llvm::DenseMap<Operation *, Layer *> layerOf; // forward scan of the step -> its layer
  SmallVector<unsigned> inputs, parameters;     // argument numbers in @loss
  IRMapping mapping;                            // @loss -> @step
  Value scalars[3];                             // lr, c1, c2
  SmallVector<Value> m, v;                      // per parameter
  SmallVector<Operation *> forward;
  Value lossValue;
};

LogicalResult StepBuilder::differentiateLayers() {
  WalkResult walk = loss.walk([&](ScanOp scan) {
    auto fn = module.lookupSymbol<func::FuncOp>(scan.getBody());
    if (!fn || fn.isExternal()) {
      scan.emitOpError("needs a body to differentiate");
      return WalkResult::interrupt();
    }
    if (scan.getReverse()) {
      scan.emitOpError("in reverse cannot be differentiated");
      return WalkResult::interrupt();
    }
    if (auto it = layers.find(scan.getBody().str()); it != layers.end()) {
      if (it->second.carries == scan.getCarries() && it->second.sharedCount == scan.getShared())
        return WalkResult::advance();
      scan.emitOpError("has other carries or shared operands than another scan over ") << scan.getBodyAttr();
      return WalkResult::interrupt();
    }
    FailureOr<Layer> layer = differentiateLayer(fn, scan.getCarries(), scan.getShared());
    if (failed(layer))
      return WalkResult::interrupt();
    layers.emplace(scan.getBody().str(), *layer);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Arguments: inputs, scalars, parameters, m of each, v of each.
LogicalResult StepBuilder::makeFunction() {
  if (loss.getNumResults() != 1)
    return loss.emitOpError("must give one value, the loss");
  auto type = dyn_cast<RankedTensorType>(loss.getResultTypes()[0]);
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return loss.emitOpError("must give a scalar tensor of floats, not ") << loss.getResultTypes()[0];
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    if (loss.getArgAttr(i, kInput))
      inputs.push_back(i);
    else if (loss.getArgAttr(i, kParam))
      parameters.push_back(i);
    else
      return loss.emitOpError("argument ") << i << " is neither an input nor a parameter";
  }
  if (parameters.empty())
    return loss.emitOpError("has no parameters to train");

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  auto add = [&](Type t, ArrayRef<NamedAttribute> entries) {
    types.push_back(t);
    attrs.push_back(builder.getDictionaryAttr(entries));
  };
  auto text = [&](StringRef key, const Twine &value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  for (unsigned i : inputs)
    add(loss.getArgument(i).getType(), loss.getArgAttrDict(i).getValue());
  for (StringRef name : {"lr", "c1", "c2"})
    add(type, {text(kName, name), text(kDims, ""), text(kScalar, name)});
  for (unsigned i : parameters)
    add(loss.getArgument(i).getType(), loss.getArgAttrDict(i).getValue());
  for (StringRef kind : {"m", "v"})
    for (unsigned i : parameters) {
      auto state = builder.getDictionaryAttr({text("of", argName(loss, i)), text("kind", kind)});
      add(loss.getArgument(i).getType(),
          {text(kName, kind + "." + argName(loss, i)), text(kDims, argDims(loss, i)),
           builder.getNamedAttr(kState, state)});
    }
  builder.setInsertionPoint(loss);
  step = func::FuncOp::create(builder, loc, "step", builder.getFunctionType(types, {}));
  for (auto [i, attr] : llvm::enumerate(attrs))
    step.setArgAttrs(i, attr);
  Block *entry = step.addEntryBlock();
  unsigned next = 0;
  for (unsigned i : inputs)
    mapping.map(loss.getArgument(i), entry->getArgument(next++));
  for (Value &s : scalars)
    s = entry->getArgument(next++);
  for (unsigned i : parameters)
    mapping.map(loss.getArgument(i), entry->getArgument(next++));
  for (auto *states : {&m, &v})
    for (size_t i = 0; i < parameters.size(); ++i)
      states->push_back(entry->getArgument(next++));
  builder.setInsertionPointToEnd(entry);
  return success();
}

/// The ops of @loss; a scan also stacks the residuals of its layer.
void StepBuilder::cloneForward() {
  for (Operation &op : loss.getBody().front().without_terminator()) {
    auto scan = dyn_cast<ScanOp>(op);
    if (!scan) {
      forward.push_back(builder.clone(op, mapping));
      continue;
    }
    Layer &layer = layers.at(scan.getBody().str());
    int64_t count = scan.getRange()[1] - scan.getRange()[0];
    SmallVector<Type> types(scan.getResultTypes());
    SmallVector<Attribute> names;
    if (auto given = scan->getAttrOfType<ArrayAttr>(kNames))
      names.append(given.begin(), given.end());
    else
      for (unsigned i = 0; i < scan.getNumResults(); ++i)
        names.push_back(builder.getStringAttr("scan" + Twine(i)));
    for (unsigned i = scan.getNumResults(); i < layer.fwd.getNumResults(); ++i) {
      auto one = cast<RankedTensorType>(layer.fwd.getResultTypes()[i]);
      SmallVector<int64_t> shape{count};
      llvm::append_range(shape, one.getShape());
      types.push_back(RankedTensorType::get(shape, one.getElementType()));
      auto name = layer.fwd.getResultAttrOfType<StringAttr>(i, kName);
      names.push_back(builder.getStringAttr(scan.getBody() + "." + name.getValue()));
    }
    SmallVector<Value> operands;
    for (Value operand : scan.getInputs())
      operands.push_back(mapping.lookup(operand));
    auto clone = ScanOp::create(builder, scan.getLoc(), types, operands, layer.fwd.getName(),
                                scan.getCarries(), scan.getShared(), scan.getRange(), /*reverse=*/false);
    clone->setAttr(kNames, builder.getArrayAttr(names));
    mapping.map(scan.getResults(), clone.getResults().take_front(scan.getNumResults()));
    layerOf[clone] = &layer;
    forward.push_back(clone);
  }
  lossValue = mapping.lookup(loss.getBody().front().getTerminator()->getOperand(0));
}

LogicalResult StepBuilder::scanBackward(OpBuilder &b, OpDerivative &d) {
  auto scan = cast<ScanOp>(d.op);
  Layer &layer = *layerOf.lookup(scan);
  unsigned carries = scan.getCarries(), shared = scan.getShared();
  d.operands.assign(scan.getNumOperands(), Value());
  for (unsigned i = carries; i < scan.getNumResults(); ++i)
    if (d.results[i])
      return scan.emitOpError("cannot be differentiated: its stacked result ") << i << " has a gradient";
  for (unsigned i = 0; i < shared; ++i)
    if (d.wanted[carries + i])
      return scan.emitOpError("cannot be differentiated: its shared operand ")
             << i << " depends on parameters";
  SmallVector<Value> operands;
  for (unsigned i = 0; i < carries; ++i) {
    if (!d.results[i])
      return scan.emitOpError("cannot be differentiated: the loss does not depend on carry ") << i;
    operands.push_back(d.results[i]);
  }
  for (unsigned i : layer.shared)
    operands.push_back(scan.getInputs()[carries + i]);
  llvm::append_range(operands, scan.getResults().take_back(layer.residuals));
  for (unsigned i : layer.stacked)
    operands.push_back(scan.getInputs()[carries + shared + i]);
  SmallVector<Type> types;
  SmallVector<std::string> names;
  for (unsigned i = 0; i < carries; ++i)
    types.push_back(scan.getInputs()[i].getType());
  for (unsigned i : layer.gradients)
    types.push_back(scan.getInputs()[carries + shared + i].getType());
  auto back = ScanOp::create(b, scan.getLoc(), types, operands, layer.back.getName(), carries,
                             layer.shared.size(), scan.getRange(), /*reverse=*/true);
  for (unsigned i = 0; i < carries; ++i)
    d.operands[i] = back.getResult(i);
  for (auto [k, i] : llvm::enumerate(layer.gradients))
    d.operands[carries + shared + i] = back.getResult(carries + k);
  return success();
}

/// Norm, clipping, update; the results.
LogicalResult StepBuilder::finish(Reverse &reverse) {
  Build build(builder, loc);
  SmallVector<Updated> updated;
  for (auto [k, i] : llvm::enumerate(parameters)) {
    Value p = mapping.lookup(loss.getArgument(i));
    std::string letters = argDims(loss, i).str();
    Value gradient = reverse.adjoint(p);
    if (!gradient)
      return loss.emitOpError("does not depend on its parameter '") << argName(loss, i) << "'";
    updated.push_back(
        {{p, letters}, {gradient, letters}, {m[k], letters}, {v[k], letters}, Param::of(loss, i)->decay});
  }
  Term norm = globalNorm(build, updated);
  std::optional<Term> factor;
  if (options.clip > 0)
    factor = clipFactor(build, norm, options.clip);
  for (Updated &p : updated)
    update(build, options, p, factor, {scalars[0], ""}, {scalars[1], ""}, {scalars[2], ""});

  SmallVector<Value> results{lossValue, norm.value};
  SmallVector<std::string> names{"loss", "grad_norm"};
  auto give = [&](const Term Updated::*member, StringRef prefix) {
    for (auto [i, p] : llvm::zip(parameters, updated)) {
      results.push_back((p.*member).value);
      names.push_back((prefix + argName(loss, i)).str());
    }
  };
  give(&Updated::parameter, "");
  give(&Updated::m, "m.");
  give(&Updated::v, "v.");
  func::ReturnOp::create(builder, loc, results);
  step.setFunctionType(builder.getFunctionType(step.getArgumentTypes(), TypeRange(ValueRange(results))));
  for (auto [i, name] : llvm::enumerate(names))
    step.setResultAttr(i, kName, builder.getStringAttr(name));
  return success();
}

LogicalResult StepBuilder::run() {
  if (failed(differentiateLayers()) || failed(makeFunction()))
    return failure();
  cloneForward();
  Reverse reverse(builder, forward, [&](OpBuilder &b, OpDerivative &d) { return scanBackward(b, d); });
  for (unsigned i : parameters)
    reverse.want(mapping.lookup(loss.getArgument(i)));
  auto type = cast<RankedTensorType>(lossValue.getType());
  reverse.seed(lossValue,
               Build(builder, loc).constant(builder.getFloatAttr(type.getElementType(), 1.0), "", {}).value);
  if (failed(reverse.run()) || failed(finish(reverse)))
    return failure();
  eraseDead(step.getBody().front());
  loss.erase();
  for (auto &[name, layer] : layers) {
    auto fn = module.lookupSymbol<func::FuncOp>(name);
    if (!SymbolTable::symbolKnownUseEmpty(fn, module))
      return fn.emitOpError("has another use than in @loss");
    fn.erase();
  }
  return success();
}

struct DifferentiatePass : impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    AdamW options{beta1, beta2, eps, decay, clip};
    auto in = [](double value, double low, double high) { return value >= low && value < high; };
    if (!in(beta1, 0, 1) || !in(beta2, 0, 1) || !in(eps, 0, HUGE_VAL) || !in(decay, 0, HUGE_VAL) ||
        !in(clip, 0, HUGE_VAL)) {
      module.emitError("AdamW needs betas in [0, 1) and finite eps, decay and clip of at least 0");
      return signalPassFailure();
    }
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss || loss.isExternal() || !loss.getBody().hasOneBlock()) {
      module.emitError("needs a function @loss of one block to differentiate");
      return signalPassFailure();
    }
    if (failed(StepBuilder(module, loss, options).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace hocket
