#include "compiler/differentiate/Layer.h"
#include "compiler/differentiate/Reverse.h"
#include "dialects/model/Param.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket {
namespace {

/// A value under the name and letters that its function argument will carry.
struct Named {
  std::string name, dims;
};

class LayerBuilder {
public:
  LayerBuilder(func::FuncOp layer, unsigned carries, unsigned shared)
      : layer(layer), carries(carries), shared(shared), builder(layer.getContext()), loc(layer.getLoc()) {}

  FailureOr<Layer> run();

private:
  bool isCarry(BlockArgument a) const { return a.getArgNumber() < carries; }
  bool isShared(BlockArgument a) const { return !isCarry(a) && a.getArgNumber() < carries + shared; }
  bool isStacked(Value v) const {
    auto a = dyn_cast<BlockArgument>(v);
    return a && a.getArgNumber() >= carries + shared && a.getArgNumber() < arguments;
  }
  /// An argument that is no carry: the backward functions are given it as it is.
  bool isGiven(Value v) const {
    auto a = dyn_cast<BlockArgument>(v);
    return a && a.getArgNumber() >= carries && a.getArgNumber() < arguments;
  }

  LogicalResult reverse();
  void split();
  void outline();
  void buildBack();
  Named nameOf(Value v);
  Named unique(Named n);
  func::FuncOp function(StringRef suffix, ArrayRef<Value> inputs, ArrayRef<Named> names,
                        ArrayRef<Operation *> ops, ArrayRef<Value> outputs, ArrayRef<Named> outputNames);

  func::FuncOp layer;
  unsigned carries, shared, arguments = 0;
  OpBuilder builder;
  Location loc;
  Layer result;
  SmallVector<Value> seeds;                    // adjoints of the carry results
  SmallVector<Value> carryAdjoints, gradients; // of carries, of stacked operands
  SmallVector<Operation *> backward, made;     // ops of bwd; all that reverse mode made
  SmallVector<Value> bwdInputs, wgradInputs;   // values of fwd (or seeds, or of bwd) that they take
  SmallVector<Value> bwdOutputs, wgradOutputs, residuals;
  llvm::DenseMap<Value, Named> named; // an adjoint: "d" + the name of its value, its letters
  std::set<std::string> taken;
};

/// The forward ops stay, the backward ops follow them in the clone; the seeds
/// are further arguments of its block while it is being made.
LogicalResult LayerBuilder::reverse() {
  result.fwd = layer.clone();
  result.fwd.setName((layer.getName() + ".fwd").str());
  builder.setInsertionPoint(layer);
  builder.insert(result.fwd);
  Block &block = result.fwd.getBody().front();
  Operation *ret = block.getTerminator();
  arguments = block.getNumArguments();
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);

  builder.setInsertionPoint(ret);
  Reverse reverse(builder, forward);
  for (BlockArgument argument : block.getArguments())
    if (!isShared(argument) && isa<FloatType>(getElementTypeOrSelf(argument)))
      reverse.want(argument);
  for (unsigned i = 0; i < carries; ++i) {
    seeds.push_back(block.addArgument(ret->getOperand(i).getType(), loc));
    reverse.seed(ret->getOperand(i), seeds[i]);
  }
  if (failed(reverse.run()))
    return failure();

  for (unsigned i = 0; i < carries; ++i) {
    Value adjoint = reverse.adjoint(block.getArgument(i));
    if (!adjoint)
      return layer.emitOpError("gives a result that does not depend on its carry ") << i;
    carryAdjoints.push_back(adjoint);
  }
  for (unsigned i = carries + shared; i < arguments; ++i) {
    BlockArgument argument = block.getArgument(i);
    if (!isa<FloatType>(getElementTypeOrSelf(argument)))
      continue;
    Value adjoint = reverse.adjoint(argument);
    if (!adjoint)
      return layer.emitOpError("gives no result that depends on '")
             << argName(layer, i) << "': it would have no gradient";
    result.gradients.push_back(i - carries - shared);
    gradients.push_back(adjoint);
  }
  made = [&] {
    SmallVector<Operation *> ops;
    for (Operation *op = forward.empty() ? &block.front() : forward.back()->getNextNode(); op != ret;
         op = op->getNextNode())
      ops.push_back(op);
    return ops;
  }();
  backward = made;

  // Names, each once: arguments, forward values, then adjoints.
  for (BlockArgument argument : block.getArguments().take_front(arguments))
    nameOf(argument);
  for (Operation *op : forward)
    for (Value value : op->getResults())
      nameOf(value);
  auto nameAdjoint = [&](Value adjoint, Value of) {
    if (adjoint && !named.contains(adjoint))
      named[adjoint] = unique({"d" + nameOf(of).name, nameOf(of).dims});
  };
  for (unsigned i = 0; i < carries; ++i)
    nameAdjoint(seeds[i], ret->getOperand(i));
  for (BlockArgument argument : block.getArguments().take_front(arguments))
    nameAdjoint(reverse.adjoint(argument), argument);
  for (Operation *op : forward)
    for (Value value : op->getResults())
      nameAdjoint(reverse.adjoint(value), value);
  return success();
}

/// Products that only give a weight gradient, from non-parameters, are wgrad's;
/// the rest is bwd's.  Then: who takes what.
void LayerBuilder::split() {
  llvm::SmallPtrSet<Operation *, 16> isWeight, isDead;
  for (Value gradient : gradients) {
    auto dot = gradient.getDefiningOp<DotOp>();
    bool once = llvm::count(gradients, gradient) == 1 && !llvm::is_contained(carryAdjoints, gradient);
    if (dot && once && gradient.use_empty() && !isStacked(dot.getA()) && !isStacked(dot.getB()))
      isWeight.insert(dot);
  }
  // Backward ops that nobody needs (the adjoint of something unused).
  for (Operation *op : llvm::reverse(backward)) {
    auto needed = [&](Value v) {
      return llvm::is_contained(gradients, v) || llvm::is_contained(carryAdjoints, v) ||
             llvm::any_of(v.getUsers(), [&](Operation *user) { return !isDead.contains(user); });
    };
    if (llvm::none_of(op->getResults(), needed))
      isDead.insert(op);
  }
  llvm::erase_if(backward, [&](Operation *op) { return isWeight.contains(op) || isDead.contains(op); });
  // In the order of the parameters.
  for (Value gradient : gradients)
    if (Operation *op = gradient.getDefiningOp(); op && isWeight.contains(op))
      wgradOutputs.push_back(gradient);

  llvm::SmallPtrSet<Operation *, 32> inBackward(backward.begin(), backward.end());
  llvm::SetVector<Value> bwd, wgrad;
  for (Operation *op : backward)
    for (Value v : op->getOperands())
      if (!v.getDefiningOp() || !inBackward.contains(v.getDefiningOp()))
        bwd.insert(v);
  for (Value output : wgradOutputs)
    for (Value v : output.getDefiningOp()->getOperands())
      wgrad.insert(v);

  bwdOutputs = carryAdjoints;
  for (Value gradient : gradients)
    if (!llvm::is_contained(wgradOutputs, gradient))
      bwdOutputs.push_back(gradient);
  for (Value v : wgrad)
    if (v.getDefiningOp() && inBackward.contains(v.getDefiningOp()) && !llvm::is_contained(bwdOutputs, v))
      bwdOutputs.push_back(v);

  for (Value v : bwdOutputs) // an adjoint passed through
    if (!v.getDefiningOp())
      bwd.insert(v);

  // Residuals in the order of the forward pass: carries, then results.
  Block &block = result.fwd.getBody().front();
  auto taken = [&](Value v) { return bwd.contains(v) || wgrad.contains(v); };
  for (unsigned i = 0; i < carries; ++i)
    if (taken(block.getArgument(i)))
      residuals.push_back(block.getArgument(i));
  for (Operation &op : block)
    for (Value v : op.getResults())
      if (taken(v) && !llvm::is_contained(made, &op))
        residuals.push_back(v);
  result.residuals = residuals.size();
  for (unsigned i = 0; i < shared; ++i)
    if (taken(block.getArgument(carries + i)))
      result.shared.push_back(i);
  for (unsigned i = carries + shared; i < arguments; ++i)
    if (taken(block.getArgument(i)))
      result.stacked.push_back(i - carries - shared);

  // Arguments: adjoints, shared, residuals, parameters.
  auto list = [&](const llvm::SetVector<Value> &values, SmallVectorImpl<Value> &inputs) {
    for (Value v : seeds)
      if (values.contains(v))
        inputs.push_back(v);
    for (unsigned i : result.shared)
      if (values.contains(block.getArgument(carries + i)))
        inputs.push_back(block.getArgument(carries + i));
    for (Value v : residuals)
      if (values.contains(v))
        inputs.push_back(v);
    for (unsigned i : result.stacked)
      if (values.contains(block.getArgument(carries + shared + i)))
        inputs.push_back(block.getArgument(carries + shared + i));
    for (Value v : bwdOutputs)
      if (values.contains(v) && !llvm::is_contained(inputs, v))
        inputs.push_back(v);
  };
  list(bwd, bwdInputs);
  list(wgrad, wgradInputs);
}

Named LayerBuilder::unique(Named n) {
  std::string base = n.name;
  for (unsigned i = 1; !taken.insert(n.name).second; ++i)
    n.name = base + "_" + std::to_string(i);
  return n;
}

/// Name and letters of a forward value, or of what its op is called.
Named LayerBuilder::nameOf(Value v) {
  if (auto it = named.find(v); it != named.end())
    return it->second;
  Named n;
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    n = {argName(layer, argument.getArgNumber()).str(), argDims(layer, argument.getArgNumber()).str()};
  } else {
    Operation *op = v.getDefiningOp();
    unsigned i = cast<OpResult>(v).getResultNumber();
    if (auto names = op->getAttrOfType<ArrayAttr>(kNames))
      n.name = cast<StringAttr>(names[i]).str();
    else
      n.name = op->getName().stripDialect().str() + (op->getNumResults() > 1 ? std::to_string(i) : "");
    if (isa<LetterOp>(op))
      n.dims = resultTerm(op, i).letters;
  }
  return named[v] = unique(n);
}

/// A function of `ops`, which are moved into it.
func::FuncOp LayerBuilder::function(StringRef suffix, ArrayRef<Value> inputs, ArrayRef<Named> names,
                                    ArrayRef<Operation *> ops, ArrayRef<Value> outputs,
                                    ArrayRef<Named> outputNames) {
  builder.setInsertionPoint(layer);
  auto fn = func::FuncOp::create(
      builder, loc, (layer.getName() + suffix).str(),
      builder.getFunctionType(TypeRange(ValueRange(inputs)), TypeRange(ValueRange(outputs))));
  fn.setVisibility(layer.getVisibility());
  Block *entry = fn.addEntryBlock();
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(input, entry->getArgument(i));
    fn.setArgAttr(i, kName, builder.getStringAttr(names[i].name));
    fn.setArgAttr(i, kDims, builder.getStringAttr(names[i].dims));
  }
  builder.setInsertionPointToEnd(entry);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> values;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    values.push_back(mapping.lookup(output));
    fn.setResultAttr(i, kName, builder.getStringAttr(outputNames[i].name));
  }
  func::ReturnOp::create(builder, loc, values);
  return fn;
}

void LayerBuilder::outline() {
  auto names = [&](ArrayRef<Value> values) {
    SmallVector<Named> out;
    for (Value v : values)
      out.push_back(nameOf(v));
    return out;
  };
  // A carry's adjoint is named after the carry even if it is a seed passed on.
  SmallVector<Named> outputNames = names(bwdOutputs);
  for (unsigned i = 0; i < carries; ++i)
    outputNames[i].name = "d" + argName(layer, i).str();
  unsigned next = carries;
  for (auto [index, gradient] : llvm::zip(result.gradients, gradients))
    if (!llvm::is_contained(wgradOutputs, gradient))
      outputNames[next++].name = argName(layer, carries + shared + index).str();
  SmallVector<Named> weightNames;
  for (auto [index, gradient] : llvm::zip(result.gradients, gradients))
    if (llvm::is_contained(wgradOutputs, gradient))
      weightNames.push_back({argName(layer, carries + shared + index).str(), ""});

  SmallVector<Operation *> weightOps;
  for (Value output : wgradOutputs)
    weightOps.push_back(output.getDefiningOp());
  result.bwd = function(".bwd", bwdInputs, names(bwdInputs), backward, bwdOutputs, outputNames);
  result.wgrad = function(".wgrad", wgradInputs, names(wgradInputs), weightOps, wgradOutputs, weightNames);
}

/// (adjoints, shared, residuals, parameters) -> (adjoints of carries, gradients)
void LayerBuilder::buildBack() {
  Block &block = result.fwd.getBody().front();
  SmallVector<Value> inputs(seeds);
  for (unsigned i : result.shared)
    inputs.push_back(block.getArgument(carries + i));
  inputs.append(residuals);
  for (unsigned i : result.stacked)
    inputs.push_back(block.getArgument(carries + shared + i));
  SmallVector<Value> outputs(carryAdjoints);
  outputs.append(gradients);

  builder.setInsertionPoint(layer);
  auto fn = func::FuncOp::create(
      builder, loc, (layer.getName() + ".back").str(),
      builder.getFunctionType(TypeRange(ValueRange(inputs)), TypeRange(ValueRange(outputs))));
  fn.setVisibility(layer.getVisibility());
  Block *entry = fn.addEntryBlock();
  IRMapping mapping;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    mapping.map(input, entry->getArgument(i));
    fn.setArgAttr(i, kName, builder.getStringAttr(nameOf(input).name));
    fn.setArgAttr(i, kDims, builder.getStringAttr(nameOf(input).dims));
  }
  builder.setInsertionPointToEnd(entry);
  auto call = [&](func::FuncOp callee, ArrayRef<Value> values, ArrayRef<Value> results) {
    SmallVector<Value> operands;
    for (Value v : values)
      operands.push_back(mapping.lookup(v));
    auto op = func::CallOp::create(builder, loc, callee, operands);
    for (auto [from, to] : llvm::zip(results, op.getResults()))
      mapping.map(from, to);
  };
  call(result.bwd, bwdInputs, bwdOutputs);
  if (!wgradOutputs.empty())
    call(result.wgrad, wgradInputs, wgradOutputs);
  SmallVector<Value> values;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    values.push_back(mapping.lookup(output));
    StringRef name =
        i < carries ? argName(layer, i) : argName(layer, carries + shared + result.gradients[i - carries]);
    fn.setResultAttr(i, kName, builder.getStringAttr(i < carries ? "d" + name.str() : name.str()));
  }
  func::ReturnOp::create(builder, loc, values);
  result.back = fn;
}

FailureOr<Layer> LayerBuilder::run() {
  if (!layer.getBody().hasOneBlock())
    return layer.emitOpError("has several blocks and cannot be differentiated");
  for (unsigned i = 0; i < carries; ++i) {
    auto type = dyn_cast<RankedTensorType>(layer.getArgumentTypes()[i]);
    if (!type || !isa<FloatType>(type.getElementType()))
      return layer.emitOpError("cannot be differentiated: its carry ") << i << " is no tensor of floats";
  }
  result.carries = carries;
  result.sharedCount = shared;
  if (failed(reverse()))
    return failure();
  split();
  outline();
  buildBack();

  // The forward function: backward ops out, residuals as further results.
  Block &block = result.fwd.getBody().front();
  Operation *ret = block.getTerminator();
  unsigned results = ret->getNumOperands();
  ret->insertOperands(results, residuals);
  for (Operation *op : llvm::reverse(made))
    op->erase();
  block.eraseArguments(arguments, carries);
  for (auto [i, v] : llvm::enumerate(ret->getOperands())) {
    auto name = builder.getNamedAttr(kName, builder.getStringAttr(nameOf(v).name));
    if (i >= results && failed(result.fwd.insertResult(i, v.getType(), builder.getDictionaryAttr(name))))
      return failure();
    if (i < carries)
      result.fwd.setResultAttr(i, name.getName(), name.getValue());
  }
  return result;
}

} // namespace

FailureOr<Layer> differentiateLayer(func::FuncOp layer, unsigned carries, unsigned shared) {
  return LayerBuilder(layer, carries, shared).run();
}

} // namespace hocket
