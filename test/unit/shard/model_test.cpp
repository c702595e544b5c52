//===- model_test.cpp - A training step on many devices equals one ----------===//
#include "spmd.h"

#include "compiler/search/build_strategy.h"
#include "compiler/shard/Passes.h"
#include "test/unit/model/steps.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

ModelConfig tiny(Family family, bool tied) {
  ModelConfig c;
  c.family = family;
  c.name = "tiny";
  c.layers = 3;
  c.hidden = 8;
  c.heads = 4;
  c.kvHeads = family == Family::Llama ? 2 : 4;
  c.headDim = family == Family::Llama ? 4 : 2;
  c.ffn = 13; // divided by no axis
  c.vocab = 11;
  c.maxPositions = 6;
  c.tied = tied;
  c.learnedPositions = family == Family::Gpt2;
  c.normEps = 1e-5;
  c.ropeTheta = 50;
  return c;
}

void check(const ModelConfig &config, int64_t data, int64_t tensor, int64_t micro,
           const std::vector<Tile> &tiles = {}) {
  SCOPED_TRACE("data " + std::to_string(data) + " tensor " + std::to_string(tensor) + " micro " +
               std::to_string(micro));
  MLIRContext context;
  context.loadDialect<par::ParDialect>();
  int64_t batch = 12;
  DifferentiatePassOptions options;
  auto whole = build(context, config, {batch, 5, true}, &options),
       sharded = build(context, config, {batch, 5, true}, &options);
  ASSERT_TRUE(whole && sharded);
  auto step = whole->lookupSymbol<func::FuncOp>("step");

  std::mt19937_64 rng(3);
  Tensors inputs;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    Type type = step.getArgument(i).getType();
    inputs.push_back(randomTensor(type, rng, config.vocab));
    auto state = step.getArgAttrOfType<DictionaryAttr>(i, model::kState);
    for (double &x : inputs.back().data)
      if (step.getArgAttr(i, model::kScalar))
        x = 0.1;
      else if (isa<FloatType>(getElementTypeOrSelf(type)))
        x = state && state.getAs<StringAttr>("kind").getValue() == "v" ? 0.01 * x * x : 0.5 * x;
  }
  inputs[1].data[3] = -1; // an ignored label
  Tensors expected = evaluate(step, inputs);

  Strategy strategy;
  strategy.data = data;
  strategy.tensor = tensor;
  strategy.microBatch = batch / data / micro;
  strategy.tiles = tiles;
  strategy.tilesGiven = !tiles.empty();
  Diagnostics diags;
  ASSERT_TRUE(succeeded(buildStrategy(*sharded, strategy, diags)));
  PassManager manager(&context);
  manager.addPass(shard::createShard());
  manager.addPass(shard::createVerifyShard());
  ASSERT_TRUE(succeeded(manager.run(*sharded)));

  Spmd devices(*sharded);
  std::string error;
  Tensors found = devices.run("step", inputs, error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_LE(test::error(crop(found[i], expected[i].shape), expected[i]), 1e-12) << "result " << i;
    // Pads of parameters and moments stay zero.
    double inside = 0, all = 0;
    for (double x : crop(found[i], expected[i].shape).data)
      inside += std::fabs(x);
    for (double x : found[i].data)
      all += std::fabs(x);
    EXPECT_NEAR(inside, all, 1e-9 * all) << "result " << i;
  }
}

void checkAll(Family family, bool tied) {
  ModelConfig config = tiny(family, tied);
  check(config, 1, 1, 3);
  check(config, 3, 1, 1);
  check(config, 1, 2, 2);
  check(config, 2, 2, 3);
  if (config.kvHeads % 4 == 0)
    check(config, 1, 4, 1);
}

/// Layouts that nobody annotated for: the hidden width, one letter alone, two axes on one tensor.
TEST(Sharded, OtherTiles) {
  for (Family family : {Family::Llama, Family::Gpt2}) {
    ModelConfig config = tiny(family, false);
    check(config, 2, 2, 1, {Tile{{"layer.wq"}, 'h', "tensor", {}}});
    check(config, 1, 4, 2, {Tile{{"emb"}, 'h', "tensor", {}}});
    check(config, 2, 2, 1, {Tile{{"layer.wd"}, 'f', "tensor", {}}});
    check(config, 2, 3, 1, {Tile{{"head"}, 'v', "tensor", {}}});
    check(config, 2, 2, 1, {Tile{{"layer.wo"}, 'g', "tensor", {}}, Tile{{"emb"}, 'v', "tensor", {}}});
    if (family == Family::Gpt2) // rope pairs the halves of d
      check(config, 1, 2, 1, {Tile{{"layer.wk"}, 'd', "tensor", {}}});
  }
}

TEST(Sharded, Llama) { checkAll(Family::Llama, false); }
TEST(Sharded, LlamaTied) { checkAll(Family::Llama, true); }
TEST(Sharded, Gpt2) { checkAll(Family::Gpt2, false); }
TEST(Sharded, Gpt2Tied) { checkAll(Family::Gpt2, true); }

} // namespace
