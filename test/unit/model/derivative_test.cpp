//===- derivative_test.cpp - Derivatives against central differences --------===//
#include "cases.h"
#include "support.h"

#include "compiler/differentiate/Reverse.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

/// Turns @f into: (inputs, adjoints of the seeded results) -> adjoints of the
/// float inputs.
LogicalResult makeGradient(func::FuncOp fn, ArrayRef<unsigned> seeds) {
  Block &block = fn.getBody().front();
  Operation *ret = block.getTerminator();
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator())
    forward.push_back(&op);
  OpBuilder builder(ret);
  Reverse reverse(builder, forward);
  unsigned inputs = block.getNumArguments();
  for (BlockArgument argument : block.getArguments())
    if (isa<FloatType>(getElementTypeOrSelf(argument)))
      reverse.want(argument);
  for (unsigned i : seeds)
    reverse.seed(ret->getOperand(i), block.addArgument(ret->getOperand(i).getType(), fn.getLoc()));
  if (failed(reverse.run()))
    return failure();
  SmallVector<Value> results;
  for (BlockArgument argument : block.getArguments().take_front(inputs))
    if (isa<FloatType>(getElementTypeOrSelf(argument))) {
      Value adjoint = reverse.adjoint(argument);
      if (!adjoint)
        return failure();
      results.push_back(adjoint);
    }
  ret->setOperands(results);
  fn.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), TypeRange(ValueRange(results))));
  eraseDead(block);
  return verify(fn->getParentOfType<ModuleOp>());
}

void check(const Case &c) {
  SCOPED_TRACE(c.name);
  MLIRContext context;
  auto module = parse(context, c.text()), gradientModule = parse(context, c.text());
  ASSERT_TRUE(module && gradientModule);
  auto f = module->lookupSymbol<func::FuncOp>("f"),
       gradient = gradientModule->lookupSymbol<func::FuncOp>("f");
  ASSERT_TRUE(succeeded(makeGradient(gradient, c.seeds)));

  std::mt19937_64 rng(3);
  Tensors inputs;
  for (Type type : f.getArgumentTypes())
    inputs.push_back(randomTensor(type, rng, c.below));
  if (c.name.starts_with("attention"))
    inputs[4].data[0] = 0;
  if (c.name.starts_with("xent"))
    inputs[1].data[1] = -1;
  Tensors all = inputs;
  for (unsigned i : c.seeds)
    all.push_back(randomTensor(f.getResultTypes()[i], rng, 1));
  Tensors adjoints = evaluate(gradient, all);

  /// The seeded results times their adjoints.
  auto value = [&](const Tensors &at) {
    Tensors results = evaluate(f, at);
    double total = 0;
    for (auto [k, i] : llvm::enumerate(c.seeds))
      for (size_t j = 0; j < results[i].data.size(); ++j)
        total += results[i].data[j] * all[inputs.size() + k].data[j];
    return total;
  };
  constexpr double step = 1e-6;
  size_t next = 0;
  for (auto [i, type] : llvm::enumerate(f.getArgumentTypes())) {
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      continue;
    Tensor numeric(type);
    for (size_t j = 0; j < numeric.data.size(); ++j) {
      Tensors moved = inputs;
      moved[i].data[j] = inputs[i].data[j] + step;
      double up = value(moved);
      moved[i].data[j] = inputs[i].data[j] - step;
      numeric.data[j] = (up - value(moved)) / (2 * step);
    }
    ASSERT_LT(next, adjoints.size());
    EXPECT_LE(error(adjoints[next++], numeric), 1e-7) << "argument " << i;
  }
  EXPECT_EQ(next, adjoints.size());
}

TEST(Derivative, CoreOps) {
  for (const Case &c : coreCases())
    check(c);
}

TEST(Derivative, FusedOps) {
  for (const Case &c : fusedCases())
    check(c);
}

/// What has no derivative is an error with a place, not a wrong gradient.
TEST(Derivative, Refused) {
  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    message = d.str();
    return success();
  });
  auto refuse = [&](Case c, std::vector<unsigned> seeds, StringRef text) {
    auto module = parse(context, c.text());
    message.clear();
    EXPECT_TRUE(failed(makeGradient(module->lookupSymbol<func::FuncOp>("f"), seeds)));
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  refuse(fusedCases()[0], {1}, "its r has a gradient of its own");
  refuse(fusedCases()[2], {1}, "its mean has a gradient of its own");
  for (const Case &c : fusedCases())
    if (c.name == "attention" || c.name == "xent")
      refuse(c, {1}, "its log-sum-exp has a gradient of its own");
  Case power = coreCases()[0];
  power.arguments = "%a: tensor<2xf64>";
  power.results = "tensor<2xf64>";
  power.op = "%y = model.map(%a) {\n^bb0(%p: f64):\n%0 = math.atan %p : f64\nmodel.yield %0 : f64\n} {dims = "
             "\"b->b\"} : (tensor<2xf64>) -> tensor<2xf64>";
  refuse(power, {0}, "no derivative of 'math.atan'");
  Case second = fusedCases()[0];
  second.arguments = "%g: tensor<2x4xf64>, %x: tensor<2x4xf64>, %r: tensor<2xf64>, %w: tensor<4xf64>";
  second.results = "tensor<2x4xf64>, tensor<4xf64>";
  second.op = "%y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = \"bh,bh,b,h->bh,h\"} : (tensor<2x4xf64>, "
              "tensor<2x4xf64>, tensor<2xf64>, tensor<4xf64>) -> (tensor<2x4xf64>, tensor<4xf64>)";
  second.returned = "%y, %z";
  refuse(second, {0}, "has no derivative");
}

} // namespace
