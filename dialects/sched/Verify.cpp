//===- Verify.cpp - Invariants of sched's ops -------------------------------===//
#include "dialects/sched/Sched.h"

using namespace mlir;
using namespace hocket::sched;

LogicalResult CommOp::verify() {
  if (getAxes().empty())
    return emitOpError("joins no axis");
  if (getPair() && getAxes().size() != 1)
    return emitOpError("is between ranks that differ on one axis, but names ") << getAxes().size();
  if (int64_t(getOrder()) < 0)
    return emitOpError("has order ") << int64_t(getOrder());
  return success();
}

/// The yield that ends `block`, or null.
static YieldOp yieldOf(Block &block) { return block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back()); }

LogicalResult KernelOp::verify() {
  if (int64_t(getScratch()) < 0)
    return emitOpError("has ") << int64_t(getScratch()) << " bytes of scratch";
  Block &block = getBody().front();
  YieldOp yield = yieldOf(block);
  if (!yield || block.getOperations().size() != 2)
    return emitOpError("holds one op and the yield of its results");
  Operation &op = block.front();
  if (!llvm::equal(op.getOperands(), block.getArguments()) ||
      !llvm::equal(op.getResults(), yield.getValues()))
    return emitOpError("takes the op's operands and yields its results, in order");
  return success();
}

static bool isHome(StringRef home) {
  auto [kind, name] = home.split(' ');
  static constexpr StringLiteral kinds[] = {"param", "grad", "m",   "v",     "input", "stash",
                                            "recv",  "send", "sum", "value", "scalar"};
  return !name.empty() && llvm::is_contained(kinds, kind);
}

LogicalResult TaskOp::verify() {
  Block &block = getBody().front();
  YieldOp yield = yieldOf(block);
  if (!yield)
    return emitOpError("needs a sched.yield at its end");
  if (getInputs().size() != block.getNumArguments())
    return emitOpError("names ") << getInputs().size() << " inputs and takes " << block.getNumArguments();
  if (getOutputs().size() != yield.getValues().size())
    return emitOpError("names ") << getOutputs().size() << " outputs and yields " << yield.getValues().size();
  for (ArrayAttr homes : {getInputs(), getOutputs()}) {
    SmallVector<Attribute> seen;
    for (StringAttr home : homes.getAsRange<StringAttr>()) {
      if (!isHome(home.getValue()))
        return emitOpError("has \"") << home.getValue() << "\", which is no home";
      if (llvm::is_contained(seen, home))
        return emitOpError("names \"") << home.getValue() << "\" twice";
      seen.push_back(home);
    }
  }
  return success();
}

/// Pairs (result, operand) of equal type, each result once.
static LogicalResult verifyPairs(Operation *op, ArrayRef<int64_t> pairs) {
  if (pairs.size() % 2)
    return op->emitOpError("inplace holds pairs (result, operand)");
  SmallVector<int64_t> seen;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    int64_t r = pairs[i], o = pairs[i + 1];
    if (r < 0 || r >= int64_t(op->getNumResults()) || o < 0 || o >= int64_t(op->getNumOperands()))
      return op->emitOpError("inplace names result ")
             << r << " and operand " << o << ", which it does not have";
    if (op->getResult(r).getType() != op->getOperand(o).getType())
      return op->emitOpError("result ") << r << " cannot overwrite operand " << o << " of another type";
    if (llvm::is_contained(seen, r))
      return op->emitOpError("inplace names result ") << r << " twice";
    seen.push_back(r);
  }
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getStream().empty())
    return emitOpError("has no stream");
  return verifyPairs(*this, getInplace());
}

LogicalResult GemmOp::verify() {
  auto a = cast<RankedTensorType>(getA().getType()), b = cast<RankedTensorType>(getB().getType()),
       c = cast<RankedTensorType>(getResult().getType());
  if (getStream().empty())
    return emitOpError("has no stream");
  if (int64_t(getM()) < 1 || int64_t(getN()) < 1 || int64_t(getK()) < 1)
    return emitOpError("has m = ") << getM() << ", n = " << getN() << ", k = " << getK();
  if (!a.hasStaticShape() || !b.hasStaticShape() || !c.hasStaticShape())
    return emitOpError("needs static shapes");
  auto holds = [&](RankedTensorType t, int64_t rows, int64_t columns) {
    return t.getNumElements() % rows == 0 && t.getNumElements() / rows == columns;
  };
  if (!holds(a, getM(), getK()) || !holds(b, getK(), getN()) || !holds(c, getM(), getN()))
    return emitOpError("shapes do not hold m x k, k x n and m x n");
  if (a.getElementType() != c.getElementType() || b.getElementType() != c.getElementType())
    return emitOpError("mixes element types");
  if (getC() && getC().getType() != c)
    return emitOpError("adds to a value of another type");
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (getInputs().empty() || !llvm::equal(getInputs().getTypes(), getResults().getTypes()))
    return emitOpError("gives back the values it takes, at least one");
  if (getKind() != "all_reduce_sum" && getKind() != "all_reduce_max")
    return emitOpError("kind \"") << getKind() << "\" is neither all_reduce_sum nor all_reduce_max";
  if (getAlgorithm() != "direct")
    return emitOpError("algorithm \"") << getAlgorithm() << "\" is not direct";
  Type element = cast<RankedTensorType>(getInputs()[0].getType()).getElementType();
  for (Value v : getInputs())
    if (cast<RankedTensorType>(v.getType()).getElementType() != element)
      return emitOpError("mixes element types in one message");
  if (getStream().empty())
    return emitOpError("has no stream");
  return success();
}

/// `whole` is `count` of `slice`.
static bool isStack(Type whole, Type slice, int64_t count) {
  auto w = dyn_cast<RankedTensorType>(whole), s = dyn_cast<RankedTensorType>(slice);
  return w && s && w.getRank() > 0 && w.getDimSize(0) == count && w.getShape().drop_front() == s.getShape() &&
         w.getElementType() == s.getElementType();
}

LogicalResult RepeatOp::verify() {
  int64_t carries = getCarries(), shared = getShared(), count = getCount();
  Block &block = getBody().front();
  YieldOp yield = yieldOf(block);
  if (!yield)
    return emitOpError("needs a sched.yield at its end");
  if (count < 1)
    return emitOpError("runs ") << count << " layers";
  int64_t operands = getInputs().size(), results = getResults().size();
  if (carries < 0 || shared < 0 || carries > operands || shared > operands - carries || carries > results)
    return emitOpError("has ") << carries << " carries and " << shared << " shared values of " << operands
                               << " operands and " << results << " results";
  if (block.getNumArguments() != getInputs().size() || yield.getValues().size() != getResults().size())
    return emitOpError("and its body differ in the number of operands or results");
  for (auto [i, v] : llvm::enumerate(getInputs())) {
    Type inside = block.getArgument(i).getType();
    bool stacked = int64_t(i) >= carries + shared;
    if (stacked ? !isStack(v.getType(), inside, count) : v.getType() != inside)
      return emitOpError("operand ") << i << " does not fit argument " << i << " of its body";
  }
  for (auto [i, r] : llvm::enumerate(getResults())) {
    Type inside = yield.getValues()[i].getType();
    bool stacked = int64_t(i) >= carries;
    if (stacked ? !isStack(r.getType(), inside, count) : r.getType() != inside)
      return emitOpError("result ") << i << " does not fit what its body yields";
    if (!stacked && r.getType() != getInputs()[i].getType())
      return emitOpError("carry ") << i << " changes its type";
  }
  return verifyPairs(*this, getInplace());
}

LogicalResult OrderOp::verify() {
  if (getTable() != "step" && getTable() != "eval" && getTable() != "init")
    return emitOpError("table \"") << getTable() << "\" is none of step, eval, init";
  for (Operation &op : getBody().front())
    if (!isa<RunOp, TransfersOp, MetricOp>(op))
      return op.emitOpError("is no entry of an order");
  return success();
}

LogicalResult RunOp::verify() {
  if (int64_t(getMicro()) < 0)
    return emitOpError("has micro-batch ") << int64_t(getMicro());
  for (NamedAttribute slot : getSlots()) {
    auto n = dyn_cast<IntegerAttr>(slot.getValue());
    if (!n || n.getInt() < 0)
      return emitOpError("slot of \"") << slot.getName().getValue() << "\" is no number from 0";
  }
  return success();
}

template <typename Op>
static LogicalResult verifyTransfer(Op op) {
  if (!isHome(op.getHome()))
    return op.emitOpError("moves \"") << op.getHome() << "\", which is no home";
  if (int64_t(op.getSlot()) < 0 || int64_t(op.getMicro()) < 0)
    return op.emitOpError("has a negative slot or micro-batch");
  if (int64_t(op.getDelta()) == 0)
    return op.emitOpError("has itself as its peer");
  if (op.getStream().empty())
    return op.emitOpError("has no stream");
  return success();
}

LogicalResult SendOp::verify() { return verifyTransfer(*this); }
LogicalResult RecvOp::verify() { return verifyTransfer(*this); }
