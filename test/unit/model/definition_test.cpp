//===- definition_test.cpp - Each fused op equals its definition ------------===//
#include "cases.h"
#include "support.h"

#include "dialects/model/Definition.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket::test;
namespace model = hocket::model;

namespace {

/// Evaluates the fused op `op` and its definition, which replaces it.
void compare(MLIRContext &context, ModuleOp module, func::FuncOp fn, Operation *op, const Tensors &inputs,
             const std::string &name) {
  ASSERT_TRUE(model::isFused(op));
  Tensors direct = evaluate(fn, inputs);
  auto fused = llvm::count_if(fn.getBody().front(), [](Operation &o) { return model::isFused(&o); });
  OpBuilder builder(op);
  auto values = model::buildDefinition(builder, op);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), values)) {
    ASSERT_EQ(from.getType(), to.getType()) << name;
    from.replaceAllUsesWith(to);
  }
  op->erase();
  ASSERT_TRUE(succeeded(verify(module))) << name;
  EXPECT_EQ(llvm::count_if(fn.getBody().front(), [](Operation &left) { return model::isFused(&left); }),
            fused - 1)
      << name;
  Tensors defined = evaluate(fn, inputs);
  for (size_t i = 0; i < direct.size(); ++i)
    EXPECT_LE(error(defined[i], direct[i]), 1e-12) << name << " result " << i;
}

Tensors inputsOf(func::FuncOp fn, const Case &c, std::mt19937_64 &rng) {
  Tensors inputs;
  for (Type type : fn.getArgumentTypes())
    inputs.push_back(randomTensor(type, rng, c.below));
  if (c.name.starts_with("attention"))
    inputs[4].data[0] = 0; // every query sees a key
  if (c.name.starts_with("xent"))
    inputs[1].data[1] = -1; // one label is ignored
  return inputs;
}

TEST(Definition, ForwardOps) {
  MLIRContext context;
  std::mt19937_64 rng(1);
  for (const Case &c : fusedCases()) {
    auto module = parse(context, c.text());
    ASSERT_TRUE(module);
    auto fn = module->lookupSymbol<func::FuncOp>("f");
    compare(context, *module, fn, &fn.getBody().front().front(), inputsOf(fn, c, rng), c.name);
  }
}

/// The gradient op on what the forward op gives.
struct GradientCase {
  std::string forward, arguments, results, op, returned;
};

TEST(Definition, GradientOps) {
  std::string f3 = "tensor<2x3x4xf64>", rows = "tensor<2x3xf64>", h = "tensor<4xf64>",
              q = "tensor<2x3x2x2x4xf64>", k = "tensor<2x5x2x4xf64>", e = "tensor<2x3x2x2xf64>";
  std::string attention = "(" + q + ", " + q + ", " + k + ", " + k + ", " + q + ", " + e +
                          ", tensor<3xi32>, tensor<5xi32>) -> (" + q + ", " + k + ", " + k + ")";
  std::vector<GradientCase> gradients{
      {"rmsnorm", "", f3 + ", " + h,
       "%a, %c = model.rmsnorm_grad(%g, %x, %r, %w) {dims = \"bsh,bsh,bs,h->bsh,h\"} : (" + f3 + ", " + f3 +
           ", " + rows + ", " + h + ") -> (" + f3 + ", " + h + ")",
       "%a, %c"},
      {"layernorm", "", f3 + ", " + h + ", " + h,
       "%a, %c, %d = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = \"bsh,bsh,bs,bs,h->bsh,h,h\"} : (" +
           f3 + ", " + f3 + ", " + rows + ", " + rows + ", " + h + ") -> (" + f3 + ", " + h + ", " + h + ")",
       "%a, %c, %d"},
      {"attention", "", q + ", " + k + ", " + k,
       "%a, %c, %d = model.attention_grad(%g, %q, %k, %v, %o, %e, %i, %j) {dims = "
       "\"bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd\", mask = \"causal\", scale = 0.7 : f64} : " +
           attention,
       "%a, %c, %d"},
      {"attention_all", "", q + ", " + k + ", " + k,
       "%a, %c, %d = model.attention_grad(%g, %q, %k, %v, %o, %e, %i, %j) {dims = "
       "\"bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd\", mask = \"none\", scale = 0.7 : f64} : " +
           attention,
       "%a, %c, %d"},
      {"xent", "", "tensor<2x3x5xf64>",
       "%a = model.xent_grad(%x, %y, %e) {dims = \"bsv,bs,bs->bsv\", scale = 0.25 : f64} : "
       "(tensor<2x3x5xf64>, tensor<2x3xi32>, tensor<2x3xf64>) -> tensor<2x3x5xf64>",
       "%a"},
      {"xent_valid", "", "tensor<2x3x5xf64>",
       "%a = model.xent_grad(%x, %y, %e) {dims = \"bsv,bs,bs->bsv\", scale = 0.25 : f64, valid = 3 : i64} : "
       "(tensor<2x3x5xf64>, tensor<2x3xi32>, tensor<2x3xf64>) -> tensor<2x3x5xf64>",
       "%a"},
  };
  MLIRContext context;
  std::mt19937_64 rng(2);
  for (const GradientCase &gradient : gradients)
    for (const Case &c : fusedCases()) {
      if (c.name != gradient.forward)
        continue;
      Case both = c;
      std::string first = c.results.substr(0, c.results.find('>') + 1);
      both.arguments += ", %g: " + first;
      both.op += "\n" + gradient.op;
      both.results = gradient.results;
      both.returned = gradient.returned;
      auto module = parse(context, both.text());
      ASSERT_TRUE(module);
      auto fn = module->lookupSymbol<func::FuncOp>("f");
      compare(context, *module, fn, &*std::next(fn.getBody().front().begin()), inputsOf(fn, c, rng),
              c.name + "_grad");
    }
}

} // namespace
