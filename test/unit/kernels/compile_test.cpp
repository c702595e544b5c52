#include "test/unit/kernels/harness.h"
#include <gtest/gtest.h>

using namespace hocket::test;
namespace kernels = hocket::kernels;

static std::vector<std::string> texts(const std::string &t) {
  Extents e{{'b', 2}, {'s', 64}, {'g', 1}, {'r', 1}, {'d', 32}, {'t', 64}, {'h', 128}};
  std::string exp =
      "{\n  ^bb0(%x: " + t + "):\n    %y = math.exp %x : " + t + "\n    model.yield %y : " + t + "\n  } ";
  return {opText("model.map", t, e, {"bsh"}, {"bsh"}, "", exp),
          opText("model.layernorm", t, e, {"bsh", "h", "h"}, {"bsh", "bs", "bs"}, "eps = 1.0e-5 : f64"),
          opText("model.attention", t, e, {"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}},
                 {"bsgrd", "bsgr"}, "mask = \"causal\", scale = 0.5 : f64")};
}

TEST(Compile, UsesVectorsOfTheWantedWidth) {
  for (std::string t : {"f32", "f64"}) {
    std::string type = t == "f32" ? "<16 x float>" : "<8 x double>";
    for (const std::string &text : texts(t)) {
      Kernels k;
      k.add(text);
      auto ir = kernels::compileToText(*k.module, "x86-64-v4");
      ASSERT_TRUE(mlir::succeeded(ir)) << k.errors;
      EXPECT_NE(ir->find(type), std::string::npos) << *ir;
      EXPECT_NE(ir->find("\"prefer-vector-width\"=\"512\""), std::string::npos);
      EXPECT_EQ(ir->find("malloc"), std::string::npos);
      if (t == "f32") {
        EXPECT_EQ(ir->find("@expf"), std::string::npos) << "a call for each element";
        EXPECT_EQ(ir->find("@floorf"), std::string::npos) << "a call for each element";
      }
    }
  }
}

TEST(Compile, SameBytesEveryTime) {
  std::vector<uint8_t> first;
  for (int round = 0; round < 2; ++round) {
    Kernels k;
    k.context.disableMultithreading(round == 1);
    for (const std::string &text : texts("f32"))
      k.add(text);
    auto bytes = kernels::compile(*k.module, "x86-64-v3");
    ASSERT_TRUE(mlir::succeeded(bytes)) << k.errors;
    std::string content(bytes->begin(), bytes->end());
    EXPECT_EQ(content.find("/tmp"), std::string::npos);
    if (round == 0)
      first = *bytes;
    else
      EXPECT_EQ(first, *bytes);
  }
}

/// The other isas run here too, narrower.
TEST(Compile, OlderIsas) {
  for (std::string isa : {"x86-64-v2", "x86-64-v3"}) {
    if (isa > hostIsa())
      GTEST_SKIP() << hostIsa();
    Kernels k;
    std::string body = "{\n  ^bb0(%x: f32):\n    %y = math.exp %x : f32\n    model.yield %y : f32\n  } ";
    k.add(opText("model.map", "f32", {{'x', 100}}, {"x"}, {"x"}, "", body));
    k.compile(isa);
    Values x = random(100, 1), want;
    for (double v : x)
      want.push_back(std::exp(v));
    EXPECT_LE(error(k.run(0, {x})[0], want), 1e-6) << isa;
  }
}

TEST(Compile, NamesDependOnWhatMatters) {
  Kernels k;
  auto symbol = [&](const std::string &text) { return kernels::describe(k.parse(text))->symbol; };
  Extents e{{'b', 2}, {'s', 3}, {'h', 8}};
  std::string a =
      symbol(opText("model.rmsnorm", "f32", e, {"bsh", "h"}, {"bsh", "bs"}, "eps = 1.0e-5 : f64"));
  EXPECT_EQ(a.substr(0, 18), "rmsnorm_f32_2x3x8_");
  EXPECT_EQ(a, symbol(opText("model.rmsnorm", "f32", e, {"bsh", "h"}, {"bsh", "bs"}, "eps = 1.0e-5 : f64")));
  EXPECT_EQ(a, symbol(opText("model.rmsnorm", "f32", e, {"bsh", "h"}, {"bsh", "bs"},
                             "eps = 1.0e-5 : f64, stream = 1")));
  EXPECT_NE(a, symbol(opText("model.rmsnorm", "f32", e, {"bsh", "h"}, {"bsh", "bs"}, "eps = 1.0e-6 : f64")));
  EXPECT_NE(a, symbol(opText("model.rmsnorm", "f64", e, {"bsh", "h"}, {"bsh", "bs"}, "eps = 1.0e-5 : f64")));
}

/// A body that is named apart from its use must get the same name.
TEST(Compile, NamesDoNotDependOnOperandsBeingOneValue) {
  Kernels k;
  const std::string rest = " {dims = \"x,x->\"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>\n return\n}";
  auto *once = k.parse("func.func @f(%a: tensor<8xf32>) {\n %r = model.dot(%a, %a)" + rest);
  auto *twice =
      k.parse("func.func @f(%a: tensor<8xf32>, %b: tensor<8xf32>) {\n %r = model.dot(%a, %b)" + rest);
  EXPECT_EQ(kernels::describe(once)->symbol, kernels::describe(twice)->symbol);
}

TEST(Compile, Errors) {
  Kernels k;
  auto message = [&](const std::string &text) {
    k.errors.clear();
    EXPECT_TRUE(mlir::failed(kernels::describe(k.parse(text)))) << text;
    return k.errors;
  };
  Extents e{{'b', 2}, {'s', 3}, {'g', 1}, {'r', 1}, {'d', 600}, {'t', 3}, {'h', 4}, {'x', 3}};
  std::vector<Arg> in{"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}}, out{"bsgrd", "bsgr"};
  EXPECT_NE(message(opText("model.attention", "f32", e, in, out, "mask = \"causal\", scale = 1.0 : f64"))
                .find("head size 600"),
            std::string::npos);
  EXPECT_NE(
      message(opText("model.constant", "bf16", e, {}, {"bs"}, "value = 1.0 : bf16")).find("elements of type"),
      std::string::npos);
  EXPECT_NE(message("func.func @f(%a: tensor<2x3xf32, \"sharded\">) {\n  %r = model.reduce(%a) {dims = "
                    "\"bs->b\", kind = "
                    "\"sum\"} : (tensor<2x3xf32, \"sharded\">) -> tensor<2xf32>\n  return\n}")
                .find("local tensors"),
            std::string::npos);
  EXPECT_TRUE(mlir::failed(kernels::compile(*k.module, "armv8")));
  EXPECT_NE(k.errors.find("no code for isa \"armv8\""), std::string::npos);
}
