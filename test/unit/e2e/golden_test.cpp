//===- golden_test.cpp - One rank against PyTorch in f64 ---------------------===//
#include "run.h"

#include "runtime/checkpoint/safetensors.h"

#include <fstream>

using namespace hocket;
using namespace hocket::test;

namespace {

TensorMap readTensors(const std::string &path) {
  TensorMap result;
  checkpoint::SafetensorsReader reader(path);
  for (auto &[name, info] : reader.tensors()) {
    std::vector<double> &values = result[name];
    values.resize(info.elements());
    reader.read(name, 0, values);
  }
  return result;
}

std::vector<double> readNumbers(const std::string &path) {
  std::ifstream in(path);
  std::vector<double> result;
  double v;
  while (in >> v)
    result.push_back(v);
  return result;
}

class Golden : public testing::TestWithParam<const char *> {};

TEST_P(Golden, OneRankF64) {
  std::string model = GetParam(), folder = goldenFolder(model);
  std::optional<format::Plan> plan = planOf({.model = model});
  ASSERT_TRUE(plan);
  Trained run = train(*plan, model, 10, {1, 2, 10});
  std::vector<double> losses = readNumbers(folder + "/losses.txt"),
                      norms = readNumbers(folder + "/norms.txt");
  ASSERT_EQ(losses.size(), 10u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(std::fabs(run.losses[i] - losses[i]) / losses[i], 1e-10) << "loss of step " << i + 1;
    EXPECT_LE(std::fabs(run.norms[i] - norms[i]) / norms[i], 1e-10) << "gradient norm of step " << i + 1;
  }
  double floor = 1e-6 * run.largestGradient;
  TensorMap gradients = readTensors(folder + "/gradients.safetensors");
  EXPECT_EQ(gradients.size(), run.gradients.size());
  auto [e, name] = worst(run.gradients, gradients, floor);
  EXPECT_LE(e, 1e-10) << name;
  for (int step : {1, 2, 10}) {
    auto [error, tensor] = worst(
        run.weights[step], readTensors(folder + "/step" + std::to_string(step) + ".safetensors"), floor);
    EXPECT_LE(error, 1e-10) << tensor << " after step " << step;
  }
}

TEST_P(Golden, OneRankF32Losses) {
  std::string model = GetParam(), folder = goldenFolder(model);
  std::optional<format::Plan> plan = planOf({.model = model, .dtype = "f32"});
  ASSERT_TRUE(plan);
  Trained run = train(*plan, model, 10, {});
  std::vector<double> losses = readNumbers(folder + "/losses.txt");
  for (int i = 0; i < 10; ++i)
    EXPECT_LE(std::fabs(run.losses[i] - losses[i]) / losses[i], 1e-5) << "loss of step " << i + 1;
}

TEST_P(Golden, ValidationLossOverTheWholeTail) {
  std::string model = GetParam(), folder = goldenFolder(model);
  std::optional<format::Plan> plan = planOf({.model = model});
  ASSERT_TRUE(plan);
  exec::Session session(*plan, {});
  session.initialize();
  session.load(folder + "/init");
  data::Tokens text(folder + "/data.bin", data::TokenType::U8,
                    {plan->globalBatch, plan->sequence, plan->vocabulary});
  std::vector<double> expected = readNumbers(folder + "/validation.txt");
  ASSERT_EQ(expected.size(), 2u);
  EXPECT_NEAR(session.evaluate(text), expected[0], 1e-10 * expected[0]);
  for (int i = 0; i < 10; ++i)
    session.step(text, data::Order::Sequential);
  EXPECT_NEAR(session.evaluate(text), expected[1], 1e-10 * expected[1]);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden, testing::Values("gpt2", "llama", "llama-rope"));

} // namespace
