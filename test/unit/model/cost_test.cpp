//===- cost_test.cpp - Letters needed whole, operations counted -------------===//
#include "cases.h"
#include "support.h"

#include "dialects/model/Param.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

TEST(Cost, FusedOps) {
  struct Expected {
    std::string whole;
    double flops;
  };
  // attention: 2*3*2*2 rows of 5 keys; d = 4: 4*4 + 5 each.
  std::map<std::string, Expected> expected{
      {"rmsnorm", {"h", 4 * 24}},       {"rmsnorm_inner", {"h", 4 * 24}},     {"layernorm", {"h", 8 * 24}},
      {"rope", {"d", 3 * 72}},          {"rope_inverse", {"d", 3 * 72}},      {"rope_llama3", {"d", 3 * 48}},
      {"attention", {"std", 120 * 21}}, {"attention_all", {"std", 120 * 21}}, {"xent", {"v", 4 * 30}},
      {"xent_valid", {"v", 4 * 30}}};
  MLIRContext context;
  for (const Case &c : fusedCases()) {
    auto module = parse(context, c.text());
    auto op = cast<model::LetterOp>(module->lookupSymbol<func::FuncOp>("f").getBody().front().front());
    ASSERT_TRUE(expected.count(c.name)) << c.name;
    EXPECT_EQ(op.getWholeLetters(), expected[c.name].whole) << c.name;
    EXPECT_EQ(op.getFlops(), expected[c.name].flops) << c.name;
  }
}

/// With as many keys as queries, a causal mask leaves (t + 1) / 2t of the pairs.
TEST(Cost, CausalAttention) {
  MLIRContext context;
  auto module = parse(context, R"(
    func.func @f(%q: tensor<1x4x1x1x2xf32>, %k: tensor<1x4x1x2xf32>, %p: tensor<4xi32>) {
      %o, %e = model.attention(%q, %k, %k, %p, %p) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal", scale = 1.0 : f64}
        : (tensor<1x4x1x1x2xf32>, tensor<1x4x1x2xf32>, tensor<1x4x1x2xf32>, tensor<4xi32>, tensor<4xi32>) -> (tensor<1x4x1x1x2xf32>, tensor<1x4x1x1xf32>)
      return
    })");
  auto op = cast<model::LetterOp>(module->lookupSymbol<func::FuncOp>("f").getBody().front().front());
  EXPECT_EQ(op.getFlops(), 10 * (4 * 2 + 5));
}

TEST(Cost, CoreOps) {
  MLIRContext context;
  auto of = [&](const std::string &name) {
    for (const Case &c : coreCases())
      if (c.name == name) {
        auto module = parse(context, c.text());
        return cast<model::LetterOp>(module->lookupSymbol<func::FuncOp>("f").getBody().front().front())
            .getFlops();
      }
    return -1.0;
  };
  EXPECT_EQ(of("dot"), 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(of("map_mul"), 12);
  EXPECT_EQ(of("map_broadcast"), 4 * 24);
  EXPECT_EQ(of("reduce_sum"), 24);
}

TEST(Dims, Parse) {
  model::Dims dims = model::Dims::parse("bsv,bs->,bs");
  EXPECT_EQ(dims.operands.size(), 2u);
  EXPECT_EQ(dims.results[0], "");
  EXPECT_EQ(dims.results[1], "bs");
  EXPECT_EQ(dims.all(), "bsv");
  EXPECT_EQ(dims.reduced(), "v");
  EXPECT_EQ(dims.str(), "bsv,bs->,bs");
  EXPECT_TRUE(model::Dims::parse("->s").operands.empty());
}

TEST(Param, Layout) {
  auto dims = model::splitLayout("(grd)h");
  ASSERT_TRUE(dims);
  EXPECT_EQ((*dims)[0], "grd");
  EXPECT_EQ((*dims)[1], "h");
  for (StringRef bad : {"(", "()h", "a(b", "a)b", "1", "(g-d)"})
    EXPECT_FALSE(model::splitLayout(bad)) << bad.str();
}

TEST(Param, RoundTrip) {
  MLIRContext context;
  model::Param p{"w.{l}", "h(grd)", "normal", 1, 2, 3, 0.02, true};
  model::Param q = model::Param::of(p.attr(&context));
  EXPECT_EQ(std::tie(p.name, p.layout, p.init, p.dim, p.index, p.count, p.std, p.decay),
            std::tie(q.name, q.layout, q.init, q.dim, q.index, q.count, q.std, q.decay));
}

} // namespace
