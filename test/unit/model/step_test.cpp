//===- step_test.cpp - Gradients of whole models against differences --------===//
#include "compiler/cost/shape_of.h"
#include "compiler/cost/step_time.h"
#include "steps.h"

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
  c.ffn = 12;
  c.vocab = 11;
  c.maxPositions = 6;
  c.tied = tied;
  c.learnedPositions = family == Family::Gpt2;
  c.normEps = 1e-5;
  c.ropeTheta = 50;
  return c;
}

/// Every parameter, a sample of its elements.
void check(const ModelConfig &config) {
  MLIRContext context;
  ImportOptions sizes{2, 5, true};
  auto plain = build(context, config, sizes);
  DifferentiatePassOptions options = bareGradients();
  auto module = build(context, config, sizes, &options);
  ASSERT_TRUE(plain && module);
  auto loss = plain->lookupSymbol<func::FuncOp>("loss"), step = module->lookupSymbol<func::FuncOp>("step");
  Roles roles = rolesOf(step);

  std::mt19937_64 rng(4);
  Tensors inputs, stepInputs;
  for (Type type : loss.getArgumentTypes()) {
    inputs.push_back(randomTensor(type, rng, config.vocab));
    for (double &x : inputs.back().data)
      x = isa<FloatType>(getElementTypeOrSelf(type)) ? 0.5 * x : x;
  }
  inputs[1].data[3] = -1; // an ignored label
  stepInputs = {inputs[0], inputs[1], number(1e-3), number(1), number(1)};
  stepInputs.insert(stepInputs.end(), inputs.begin() + 2, inputs.end());
  for (unsigned i : roles.m)
    stepInputs.emplace_back(step.getArgumentTypes()[i]);
  for (unsigned i : roles.v)
    stepInputs.emplace_back(step.getArgumentTypes()[i]);
  Tensors results = evaluate(step, stepInputs);
  EXPECT_NEAR(results[0].data[0], evaluate(loss, inputs)[0].data[0], 1e-13);

  size_t count = roles.parameters.size();
  ASSERT_EQ(count, inputs.size() - 2);
  double squares = 0;
  for (size_t k = 0; k < count; ++k) {
    const Tensor &gradient = results[2 + count + k];
    for (double g : gradient.data)
      squares += g * g;
    for (int sample = 0; sample < 6; ++sample) {
      size_t j = std::uniform_int_distribution<size_t>(0, gradient.data.size() - 1)(rng);
      double &x = inputs[2 + k].data[j], kept = x;
      x = kept + 1e-6;
      double up = evaluate(loss, inputs)[0].data[0];
      x = kept - 1e-6;
      double numeric = (up - evaluate(loss, inputs)[0].data[0]) / 2e-6;
      x = kept;
      EXPECT_NEAR(gradient.data[j], numeric, 1e-8)
          << model::argName(step, roles.parameters[k]).str() << "[" << j << "]";
    }
  }
  EXPECT_NEAR(results[1].data[0], std::sqrt(squares), 1e-12);
}

TEST(Step, Gpt2) { check(tiny(Family::Gpt2, false)); }
TEST(Step, Gpt2Tied) { check(tiny(Family::Gpt2, true)); }
TEST(Step, Llama) { check(tiny(Family::Llama, false)); }
TEST(Step, LlamaTiedScaled) {
  ModelConfig config = tiny(Family::Llama, true);
  config.ropeScaling = RopeScaling{8, 1, 4, 32};
  check(config);
}

TEST(Step, SequenceLongerThanLearnedPositions) {
  MLIRContext context;
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    message = d.str();
    return success();
  });
  EXPECT_FALSE(importModel(&context, tiny(Family::Gpt2, false), {1, 7, true}));
  EXPECT_EQ(message, "sequence 7 is longer than the model's 6 learned positions");
}

/// Parameters of @loss = what config.json says there are.
TEST(Step, CountsParameters) {
  for (Family family : {Family::Gpt2, Family::Llama})
    for (bool tied : {false, true}) {
      MLIRContext context;
      ModelConfig config = tiny(family, tied);
      auto module = build(context, config, {1, 2, false});
      auto loss = module->lookupSymbol<func::FuncOp>("loss");
      int64_t count = 0;
      for (unsigned i = 0; i < loss.getNumArguments(); ++i)
        if (loss.getArgAttr(i, model::kParam))
          count += cast<RankedTensorType>(loss.getArgumentTypes()[i]).getNumElements();
      EXPECT_EQ(uint64_t(count), parameterCount(config));
    }
}

/// Matrix products of @loss = those that the planner prices: forward, of three passes.
TEST(Step, CountsProducts) {
  for (Family family : {Family::Gpt2, Family::Llama}) {
    MLIRContext context;
    ModelConfig config = tiny(family, false);
    auto module = build(context, config, {3, 4, false});
    double flops = 0;
    auto count = [&](func::FuncOp fn, double times) {
      fn.walk([&](model::DotOp dot) { flops += times * cast<model::LetterOp>(*dot).getFlops(); });
    };
    auto loss = module->lookupSymbol<func::FuncOp>("loss");
    count(loss, 1);
    loss.walk([&](model::ScanOp scan) {
      count(module->lookupSymbol<func::FuncOp>(scan.getBody()), double(config.layers));
    });
    cost::Workload work{4, 3, true};
    double whole = cost::stepFlops(shapeOf(config), work, cost::Recompute::None, false),
           half = cost::stepFlops(shapeOf(config), work, cost::Recompute::None, true);
    EXPECT_DOUBLE_EQ(3 * flops, whole - 2 * (whole - half)) << name(family).str(); // less attention
  }
}

} // namespace
