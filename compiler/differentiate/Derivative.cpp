#include "compiler/differentiate/Derivative.h"
#include "compiler/differentiate/ScalarDerivative.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket {
namespace {

Term adjoint(OpDerivative &d, unsigned i) { return {d.results[i], resultTerm(d.op, i).letters}; }
Term operand(OpDerivative &d, unsigned i) { return operandTerm(d.op, i); }

/// Some result has an adjoint: once the others are refused, it is the first.
LogicalResult refuse(OpDerivative &d, unsigned i, StringRef what) {
  if (!d.results[i])
    return success();
  return d.op->emitOpError("cannot be differentiated: its ") << what << " has a gradient of its own";
}

/// `term` summed, or its dimensions reordered, to `letters`.
Value fit(Build &build, const Term &term, StringRef letters) {
  return term.letters == letters ? term.value : build.reduce(term, letters).value;
}

std::string join(ArrayRef<std::string> operands, ArrayRef<std::string> results) {
  return llvm::join(operands, ",") + "->" + llvm::join(results, ",");
}

//===----------------------------------------------------------------------===//
// Core ops
//===----------------------------------------------------------------------===//

LogicalResult dot(Build &build, OpDerivative &d) {
  Term a = operand(d, 0), b = operand(d, 1), g = adjoint(d, 0);
  if (d.wanted[0])
    d.operands[0] = build.dot(g, b, a.letters).value;
  if (d.wanted[1])
    d.operands[1] = build.dot(a, g, b.letters).value;
  return success();
}

/// One map for the adjoints of all operands: it takes the operands on which the
/// derivative depends and the adjoints of the results.
LogicalResult map(Build &build, OpDerivative &d) {
  auto map = cast<MapOp>(d.op);
  Dims dims = map.getLetters();
  std::string letters = dims.results[0];

  // The region: operands and adjoints in, one adjoint per wanted operand out.
  SmallVector<Term> inputs;
  for (unsigned i = 0; i < map.getNumOperands(); ++i)
    inputs.push_back(operand(d, i));
  SmallVector<bool> wanted(d.wanted);
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (d.results[i])
      inputs.push_back(adjoint(d, i));
  wanted.resize(inputs.size(), false);

  Region region;
  Block &block = region.emplaceBlock();
  for (const Term &input : inputs)
    block.addArgument(input.element(), map.getLoc());
  IRMapping mapping;
  Block &body = map.getBody().front();
  for (auto [from, to] : llvm::zip(body.getArguments(), block.getArguments()))
    mapping.map(from, to);
  OpBuilder builder(map.getContext());
  builder.setInsertionPointToEnd(&block);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<std::pair<Value, Value>> seeds;
  unsigned next = map.getNumOperands();
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (d.results[i])
      seeds.push_back({mapping.lookupOrDefault(yield.getValues()[i]), block.getArgument(next++)});
  auto found = differentiateScalars(map, block, seeds, wanted);
  if (failed(found))
    return failure();

  // What is an adjoint as it stands needs no map; equal scalars are one result.
  SmallVector<Value> outputs;
  std::map<unsigned, unsigned> outputOf, argumentOf; // operand -> result, operand -> region argument
  for (unsigned i = 0; i < map.getNumOperands(); ++i) {
    Value value = (*found)[i];
    if (!value)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      argumentOf[i] = argument.getArgNumber();
      continue;
    }
    auto it = llvm::find(outputs, value);
    outputOf[i] = it - outputs.begin();
    if (it == outputs.end())
      outputs.push_back(value);
  }
  SmallVector<Term, 2> terms;
  if (!outputs.empty())
    terms = build.mapN(inputs, letters, [&](ImplicitLocOpBuilder &b, ValueRange arguments) -> Scalars {
      for (auto [from, to] : llvm::zip(block.getArguments(), arguments))
        from.replaceAllUsesWith(to);
      Block *target = b.getInsertionBlock();
      target->getOperations().splice(target->end(), block.getOperations());
      b.setInsertionPointToEnd(target);
      return Scalars(outputs.begin(), outputs.end());
    });
  for (auto [i, argument] : argumentOf)
    d.operands[i] = fit(build, inputs[argument], operand(d, i).letters);
  for (auto [i, output] : outputOf)
    d.operands[i] = fit(build, terms[output], operand(d, i).letters);
  if (terms.empty())
    return success();

  // Common subexpressions and dead scalars go, then operands without a use.
  auto gradient = terms[0].value.getDefiningOp<MapOp>();
  IRRewriter rewriter(gradient.getContext());
  DominanceInfo dominance(gradient);
  eliminateCommonSubExpressions(rewriter, dominance, gradient);
  Dims kept = gradient.getLetters();
  Block &finished = gradient.getBody().front();
  SmallVector<std::string> used;
  llvm::BitVector unused(finished.getNumArguments());
  for (BlockArgument argument : finished.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
    else
      used.push_back(kept.operands[argument.getArgNumber()]);
  finished.eraseArguments(unused);
  gradient->eraseOperands(unused);
  gradient.setDims(join(used, kept.results));
  return success();
}

LogicalResult reduce(Build &build, OpDerivative &d) {
  auto op = cast<ReduceOp>(d.op);
  Term x = operand(d, 0), g = adjoint(d, 0);
  if (op.getKind() == "sum") {
    Extents extents;
    for (char c : x.letters)
      extents[c] = x.extent(c);
    d.operands[0] =
        build
            .map(
                g, x.letters, [](ImplicitLocOpBuilder &, ValueRange a) -> Scalars { return {a[0]}; }, extents)
            .value;
    return success();
  }
  // A subgradient: all elements equal to the maximum take it.
  d.operands[0] = build
                      .map({x, resultTerm(op, 0), g}, x.letters,
                           [](ImplicitLocOpBuilder &b, ValueRange a) -> Scalars {
                             Value hit = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, a[0], a[1]);
                             return {arith::SelectOp::create(b, hit, a[2], scalar(b, a[2].getType(), 0))};
                           })
                      .value;
  return success();
}

LogicalResult gather(Build &build, OpDerivative &d) {
  auto op = cast<GatherOp>(d.op);
  if (op.getOffset())
    return op.emitOpError("cannot be differentiated with an offset");
  Term table = operand(d, 0);
  char v = minus(table.letters, adjoint(d, 0).letters)[0];
  d.operands[0] = build.scatterAdd(adjoint(d, 0), operand(d, 1), table.letters, table.extent(v)).value;
  return success();
}

LogicalResult scatterAdd(Build &build, OpDerivative &d) {
  auto op = cast<ScatterAddOp>(d.op);
  if (op.getOffset())
    return op.emitOpError("cannot be differentiated with an offset");
  d.operands[0] = build.gather(adjoint(d, 0), operand(d, 1), operand(d, 0).letters).value;
  return success();
}

//===----------------------------------------------------------------------===//
// Fused ops: each names its gradient op
//===----------------------------------------------------------------------===//

/// Keeps the results that are wanted.
void take(OpDerivative &d, Operation *gradient, ArrayRef<unsigned> operands) {
  for (auto [result, i] : llvm::zip(gradient->getResults(), operands))
    if (d.wanted[i])
      d.operands[i] = result;
}

LogicalResult rmsnorm(OpBuilder &b, OpDerivative &d) {
  auto op = cast<RmsNormOp>(d.op);
  if (failed(refuse(d, 1, "r")))
    return failure();
  Dims l = op.getLetters();
  auto gradient = RmsNormGradOp::create(
      b, op.getLoc(), op.getX().getType(), op.getW().getType(), d.results[0], op.getX(), op.getR(), op.getW(),
      join({l.results[0], l.operands[0], l.results[1], l.operands[1]}, {l.operands[0], l.operands[1]}));
  take(d, gradient, {0, 1});
  return success();
}

LogicalResult layernorm(OpBuilder &b, OpDerivative &d) {
  auto op = cast<LayerNormOp>(d.op);
  if (failed(refuse(d, 1, "mean")) || failed(refuse(d, 2, "r")))
    return failure();
  Dims l = op.getLetters();
  auto gradient =
      LayerNormGradOp::create(b, op.getLoc(), op.getX().getType(), op.getW().getType(), op.getB().getType(),
                              d.results[0], op.getX(), op.getMean(), op.getR(), op.getW(),
                              join({l.results[0], l.operands[0], l.results[1], l.results[2], l.operands[1]},
                                   {l.operands[0], l.operands[1], l.operands[2]}));
  take(d, gradient, {0, 1, 2});
  return success();
}

/// A rotation: the derivative is the rotation back.
LogicalResult rope(OpBuilder &b, OpDerivative &d) {
  auto op = cast<RopeOp>(d.op);
  auto gradient =
      RopeOp::create(b, op.getLoc(), op.getX().getType(), d.results[0], op.getPositions(), op.getDimsAttr(),
                     op.getThetaAttr(), op.getScalingAttr(), op.getInverse() ? UnitAttr() : b.getUnitAttr());
  take(d, gradient, 0);
  return success();
}

LogicalResult attention(OpBuilder &b, OpDerivative &d) {
  auto op = cast<AttentionOp>(d.op);
  if (failed(refuse(d, 1, "log-sum-exp")))
    return failure();
  Dims l = op.getLetters();
  auto gradient = AttentionGradOp::create(b, op.getLoc(), op.getQ().getType(), op.getK().getType(),
                                          op.getV().getType(), d.results[0], op.getQ(), op.getK(), op.getV(),
                                          op.getO(), op.getE(), op.getQpos(), op.getKpos(),
                                          join({l.results[0], l.operands[0], l.operands[1], l.operands[2],
                                                l.results[0], l.results[1], l.operands[3], l.operands[4]},
                                               {l.operands[0], l.operands[1], l.operands[2]}),
                                          op.getMask(), op.getScale());
  take(d, gradient, {0, 1, 2});
  return success();
}

/// The gradient op is for an adjoint of 1, which the loss of a step has.
LogicalResult xent(OpBuilder &b, OpDerivative &d) {
  auto op = cast<XentOp>(d.op);
  if (failed(refuse(d, 1, "log-sum-exp")))
    return failure();
  Dims l = op.getLetters();
  Term gradient{XentGradOp::create(
                    b, op.getLoc(), op.getLogits().getType(), op.getLogits(), op.getLabels(), op.getLse(),
                    b.getStringAttr(join({l.operands[0], l.operands[1], l.results[1]}, l.operands[0])),
                    op.getScaleAttr(), op.getValidAttr()),
                l.operands[0]};
  auto seed = d.results[0].getDefiningOp<ConstantOp>();
  auto value = seed ? dyn_cast<FloatAttr>(seed.getValue()) : FloatAttr();
  if (!value || value.getValueAsDouble() != 1.0)
    gradient = Build(b, op.getLoc())
                   .map({gradient, adjoint(d, 0)}, gradient.letters,
                        [](ImplicitLocOpBuilder &b, ValueRange a) -> Scalars {
                          return {arith::MulFOp::create(b, a[0], a[1])};
                        });
  d.operands[0] = gradient.value;
  return success();
}

} // namespace

LogicalResult differentiate(OpBuilder &builder, OpDerivative &d) {
  Build build(builder, d.op->getLoc());
  d.operands.assign(d.op->getNumOperands(), Value());
  return llvm::TypeSwitch<Operation *, LogicalResult>(d.op)
      .Case([&](DotOp) { return dot(build, d); })
      .Case([&](MapOp) { return map(build, d); })
      .Case([&](ReduceOp) { return reduce(build, d); })
      .Case([&](GatherOp) { return gather(build, d); })
      .Case([&](ScatterAddOp) { return scatterAdd(build, d); })
      .Case([&](RmsNormOp) { return rmsnorm(builder, d); })
      .Case([&](LayerNormOp) { return layernorm(builder, d); })
      .Case([&](RopeOp) { return rope(builder, d); })
      .Case([&](AttentionOp) { return attention(builder, d); })
      .Case([&](XentOp) { return xent(builder, d); })
      .Default([](Operation *op) { return op->emitOpError("has no derivative"); });
}

} // namespace hocket
