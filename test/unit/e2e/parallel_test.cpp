//===- parallel_test.cpp - Any legal strategy computes what one rank computes ===//
#include "run.h"

#include <fstream>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;

namespace {

constexpr int kSteps = 5;

Case caseOf(const std::string &model, const std::string &strategy) {
  Case c;
  c.model = model;
  c.strategy = strategy;
  c.globalBatch = 8;
  c.microBatch = 1;
  c.job = std::string(HOCKET_SOURCE_DIR) + "/test/unit/e2e/parallel.toml";
  return c;
}

const Trained &serial(const std::string &model) {
  static std::map<std::string, Trained> cache;
  auto it = cache.find(model);
  if (it != cache.end())
    return it->second;
  Case c = caseOf(model, "data=1,tensor=1,pipeline=1");
  c.microBatch = 8;
  std::optional<format::Plan> plan = planOf(c);
  return cache[model] = plan ? train(*plan, model, kSteps, {kSteps}) : Trained{};
}

void expectEqual(const Trained &run, const Trained &reference, double tolerance) {
  ASSERT_EQ(reference.losses.size(), size_t(kSteps));
  for (int i = 0; i < kSteps; ++i)
    EXPECT_LE(std::fabs(run.losses[i] - reference.losses[i]) / reference.losses[i], tolerance)
        << "loss of step " << i + 1;
  double floor = 1e-6 * reference.largestGradient;
  auto [e, name] = worst(run.weights.at(kSteps), reference.weights.at(kSteps), floor);
  EXPECT_LE(e, tolerance) << name;
}

/// Schedules only reorder, and runs repeat: the same bits, whatever the streams' timing.
void expectSameBits(const Trained &a, const Trained &b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.norms, b.norms);
  EXPECT_EQ(a.weights.at(kSteps), b.weights.at(kSteps));
}

struct Mesh {
  int data, tensor, pipeline;
  std::string str() const {
    return "data=" + std::to_string(data) + ",tensor=" + std::to_string(tensor) +
           ",pipeline=" + std::to_string(pipeline);
  }
};

class Parallel : public testing::TestWithParam<std::tuple<const char *, Mesh>> {};

TEST_P(Parallel, EqualsSerial) {
  auto [model, mesh] = GetParam();
  std::optional<format::Plan> plan = planOf(caseOf(model, mesh.str()));
  ASSERT_TRUE(plan);
  Trained run = train(*plan, model, kSteps, {kSteps});
  expectEqual(run, serial(model), 1e-12);
  if (mesh.pipeline == 1)
    return;
  std::string path = testing::TempDir() + "gpipe-" + std::to_string(getpid()) + ".toml";
  std::ofstream(path) << "format = 1\nmesh = \"" << mesh.str() << "\"\npipeline = { schedule = \"gpipe\" }\n";
  std::optional<format::Plan> gpipe = planOf(caseOf(model, path));
  std::remove(path.c_str());
  ASSERT_TRUE(gpipe);
  expectSameBits(train(*gpipe, model, kSteps, {kSteps}), run);
}

std::vector<Mesh> meshes() {
  std::vector<Mesh> result;
  for (int d : {1, 2, 4})
    for (int t : {1, 2, 4})
      for (int p : {1, 2, 4})
        if (d * t * p <= 8)
          result.push_back({d, t, p});
  result.push_back({1, 1, 3});
  return result;
}

INSTANTIATE_TEST_SUITE_P(Meshes, Parallel,
                         testing::Combine(testing::Values("gpt2", "llama"), testing::ValuesIn(meshes())),
                         [](const auto &info) {
                           Mesh m = std::get<1>(info.param);
                           return std::string(std::get<0>(info.param)) + "_d" + std::to_string(m.data) +
                                  "_t" + std::to_string(m.tensor) + "_p" + std::to_string(m.pipeline);
                         });

class Bits : public testing::TestWithParam<const char *> {};

TEST_P(Bits, RepeatedAndDelayedRunsAgree) {
  std::string model = GetParam(), folder = std::string(HOCKET_SOURCE_DIR) + "/test/unit/e2e/";
  std::optional<format::Plan> oneFOneB = planOf(caseOf(model, folder + "1f1b.toml"));
  ASSERT_TRUE(oneFOneB);
  Trained first = train(*oneFOneB, model, kSteps, {kSteps});
  expectSameBits(train(*oneFOneB, model, kSteps, {kSteps}), first);
  for (uint64_t seed : {1, 2, 3}) {
    exec::Options options;
    options.delays = true;
    options.delaySeed = seed;
    expectSameBits(train(*oneFOneB, model, kSteps, {kSteps}, options), first);
  }
  expectEqual(first, serial(model), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Models, Bits, testing::Values("gpt2", "llama"));

TEST(Uneven, StagesOfDifferentDepth) {
  std::optional<format::Plan> plan =
      planOf(caseOf("gpt2", std::string(HOCKET_SOURCE_DIR) + "/test/unit/e2e/uneven.toml"));
  ASSERT_TRUE(plan);
  expectEqual(train(*plan, "gpt2", kSteps, {kSteps}), serial("gpt2"), 1e-12);
}

} // namespace
