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
  auto expect = [&](const std::string &text, const std::string &said) {
    k.errors.clear();
    EXPECT_TRUE(mlir::failed(kernels::describe(k.parse(text)))) << text;
    EXPECT_NE(k.errors.find(said), std::string::npos) << k.errors;
  };
  Extents e{{'b', 2}, {'s', 3}, {'g', 1}, {'r', 1}, {'d', 600}, {'t', 3}, {'h', 4}, {'x', 3}};
  std::vector<Arg> in{"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}}, out{"bsgrd", "bsgr"};
  const std::string attention = "mask = \"causal\", scale = 1.0 : f64";
  expect(opText("model.attention", "f32", e, in, out, attention),
         "head size 600 is above the kernel's limit of 512");
  e['d'] = 4;
  in[1] = in[2] = "tbgd";
  expect(opText("model.attention", "f32", e, in, out, attention),
         "the kernel takes letters as in \"bsgrd,btgd,btgd,s,t->bsgrd,bsgr\", not "
         "\"bsgrd,tbgd,tbgd,s,t->bsgrd,bsgr\"");
  expect(opText("model.rmsnorm", "f32", e, {"hs", "h"}, {"hs", "s"}, "eps = 1.0e-5 : f64"),
         "the kernel normalises over the last letter of \"hs\", which the weight has alone");
  expect(opText("model.xent", "f32", e, {"hs", {"s", "i32"}}, {"", "s"}, "scale = 1.0 : f64"),
         "the kernel takes classes as the last letter of \"hs\" and one label a row");
  expect(opText("model.map", "i32", e, {"h"}, {"h"}, "",
                "{ ^bb0(%x: i32): %s, %o = arith.addui_extended %x, %x : i32, i1 model.yield %s : i32 }"),
         "a map's region holds scalar operations only; found 'arith.addui_extended'");
  expect(opText("model.constant", "bf16", e, {}, {"bs"}, "value = 1.0 : bf16"),
         "no kernels for elements of type 'bf16'");
  const std::string local = "a kernel takes local tensors of static, non-empty shape, not ";
  expect(
      "func.func @f(%a: tensor<2x3xf32, \"sharded\">) {\n  %r = model.reduce(%a) {dims = \"bs->b\", kind = "
      "\"sum\"} : (tensor<2x3xf32, \"sharded\">) -> tensor<2xf32>\n  return\n}",
      local + "'tensor<2x3xf32, \"sharded\">'");
  e['h'] = 0;
  expect(opText("model.reduce", "f32", e, {"sh"}, {"s"}, "kind = \"sum\""), local + "'tensor<3x0xf32>'");
  expect("func.func @f(%a: tensor<4xf32>) {\n %r = arith.addf %a, %a : tensor<4xf32>\n return\n}",
         "no kernel for this operation");
  EXPECT_TRUE(mlir::failed(kernels::compile(*k.module, "armv8")));
  EXPECT_NE(k.errors.find("no code for isa \"armv8\""), std::string::npos);
}

TEST(Compile, ErrorsOfInitialValuesAndProducts) {
  Kernels k;
  auto expect = [&](const kernels::InitSpec &spec, const std::string &said) {
    k.errors.clear();
    EXPECT_TRUE(mlir::failed(kernels::generateInit(spec, *k.module)));
    EXPECT_NE(k.errors.find(said), std::string::npos) << k.errors;
  };
  kernels::InitSpec spec;
  spec.kind = "gauss", spec.type = mlir::Float32Type::get(&k.context), spec.local = spec.global = {4};
  expect(spec, "no initial values of kind \"gauss\"");
  spec.kind = "one", spec.local = {2, 2};
  expect(spec, "initial values are floating-point, with local and global extents of one rank");
  spec.local = {4}, spec.padded = {1};
  expect(spec, "padded dimension 1 of 1");
  k.errors.clear();
  EXPECT_TRUE(mlir::failed(kernels::generateGemm(hocket::format::Gemm(), *k.module)));
  EXPECT_NE(k.errors.find("matrix products of f32 are library calls"), std::string::npos) << k.errors;
}
