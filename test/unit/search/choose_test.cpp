//===- choose_test.cpp - The cost's parts and what the search makes of them --===//
#include "compiler/search/choose.h"

#include "gtest/gtest.h"

using namespace hocket;

namespace {

/// Two hosts of four devices: 10 GB/s inside, 1 GB/s between.
Cluster twoHosts() {
  Cluster c;
  c.hosts = 2;
  c.devicesPerHost = 4;
  c.device.memory = int64_t(8) << 30;
  c.device.rateF32 = 1e11;
  c.device.memoryRate = 1e10;
  c.levels = {{"host", {}, "memory", 4, 1e10, 1e-6}, {"rack", {}, "switch", 2, 1e9, 2e-5}};
  return c;
}

ModelConfig gpt(int64_t layers, int64_t hidden) {
  ModelConfig m;
  m.family = Family::Gpt2;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = m.kvHeads = hidden / 64;
  m.headDim = 64;
  m.ffn = 4 * hidden;
  m.vocab = 1024;
  m.maxPositions = 1024;
  m.learnedPositions = true;
  return m;
}

Job job(int64_t batch) {
  Job j;
  j.sequence = 512;
  j.globalBatch = batch;
  return j;
}

double sum(const std::vector<CostTerm> &terms) {
  double total = 0;
  for (const CostTerm &term : terms)
    total += term.second;
  return total;
}

Strategy mesh(int64_t pipeline, int64_t data, int64_t tensor, int64_t micro) {
  Strategy s;
  s.pipeline = pipeline, s.data = data, s.tensor = tensor, s.microBatch = micro;
  return s;
}

TEST(Cost, RingByHand) {
  // Four devices, 4 MB: 6 steps of 1 MB at 1 GB/s and 10 us each.
  EXPECT_DOUBLE_EQ(allReduceSeconds(4e6, 4, {1e9, 1e-5}), 6 * (1e-3 + 1e-5));
  EXPECT_EQ(allReduceSeconds(4e6, 1, {1e9, 1e-5}), 0);
}

TEST(Cost, LinksFollowThePlacement) {
  Cluster c = twoHosts();
  // tensor=4 fills a host; data=2 joins hosts, its four groups share the host's link.
  EXPECT_EQ(linkOf(c, mesh(1, 2, 4, 1), "tensor").rate, 1e10);
  EXPECT_EQ(linkOf(c, mesh(1, 2, 4, 1), "data").rate, 1e9 / 4);
  EXPECT_EQ(linkOf(c, mesh(1, 2, 4, 1), "data").latency, 2e-5);
  // tensor=8 spans both hosts.
  EXPECT_EQ(linkOf(c, mesh(1, 1, 8, 1), "tensor").rate, 1e9);
  // data=4 of two tensor pairs: two groups in a host share its link.
  EXPECT_EQ(linkOf(c, mesh(1, 4, 2, 1), "data").rate, 1e9 / 2);
}

TEST(Cost, TermsAddUp) {
  for (const Strategy &s : {mesh(1, 8, 1, 2), mesh(2, 2, 2, 1), mesh(4, 1, 2, 4)}) {
    Cost cost = predictStep(gpt(8, 512), twoHosts(), job(32), s);
    EXPECT_NEAR(cost.seconds, sum(cost.time), 1e-12);
    EXPECT_NEAR(cost.bytes, sum(cost.memory), 1);
    EXPECT_GT(cost.seconds, 0);
  }
}

TEST(Cost, CountsAllParametersOnce) {
  // One device: parameters, gradients and two moments of every parameter, in f32.
  ModelConfig m = gpt(8, 512);
  Cost cost = predictStep(m, twoHosts(), job(8), mesh(1, 1, 1, 1));
  EXPECT_DOUBLE_EQ(cost.memory[0].second + cost.memory[1].second, 16.0 * double(m.parameters()));
}

TEST(Cost, BubbleShrinksWithMicroBatches) {
  auto share = [&](int64_t micro) {
    Cost cost = predictStep(gpt(8, 512), twoHosts(), job(64), mesh(8, 1, 1, micro));
    for (const CostTerm &term : cost.time)
      if (term.first == "bubble")
        return term.second / cost.seconds;
    return -1.0;
  };
  EXPECT_GT(share(16), share(4));
  EXPECT_GT(share(4), share(1));
  EXPECT_GT(share(1), 0);
}

TEST(Cost, GPipeKeepsAllMicroBatches) {
  Strategy s = mesh(4, 2, 1, 1);
  Cost one = predictStep(gpt(8, 512), twoHosts(), job(64), s);
  s.schedule = PipelineSchedule::GPipe;
  Cost all = predictStep(gpt(8, 512), twoHosts(), job(64), s);
  EXPECT_GT(all.bytes, one.bytes);
  EXPECT_EQ(all.seconds, one.seconds);
}

TEST(Choose, TakesTheFastestThatFits) {
  ModelConfig m = gpt(8, 512);
  Cluster c = twoHosts();
  Job j = job(32);
  Choice choice = chooseStrategy(m, c, j);
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->devices(), 8);
  EXPECT_LE(choice.cost.bytes, usableBytes(c, j));
  int64_t legal = 0;
  for (int64_t tensor : {1, 2, 4, 8})
    for (int64_t pipeline = 1; pipeline * tensor <= 8; pipeline *= 2)
      for (int64_t micro = 1; micro <= 32; micro *= 2) {
        Strategy s = mesh(pipeline, 8 / tensor / pipeline, tensor, micro);
        Diagnostics quiet;
        if (!checkLegal(m, c, j, s, quiet))
          continue;
        ++legal;
        Cost cost = predictStep(m, c, j, s);
        if (cost.bytes <= usableBytes(c, j))
          EXPECT_GE(cost.seconds, choice.cost.seconds);
      }
  EXPECT_EQ(legal, choice.legal);
}

TEST(Choose, IsRepeatable) {
  Choice a = chooseStrategy(gpt(8, 512), twoHosts(), job(32)),
         b = chooseStrategy(gpt(8, 512), twoHosts(), job(32));
  ASSERT_TRUE(a.best && b.best);
  EXPECT_EQ(toToml(*a.best), toToml(*b.best));
  EXPECT_EQ(a.cost.seconds, b.cost.seconds);
}

TEST(Choose, PinsTheMicroBatch) {
  Choice choice = chooseStrategy(gpt(8, 512), twoHosts(), job(32), 2);
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->microBatch, 2);
}

TEST(Choose, CompletesAMesh) {
  Choice choice = chooseMicroBatch(gpt(8, 512), twoHosts(), job(32), mesh(2, 2, 2, 0));
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->pipeline, 2);
  EXPECT_EQ(choice.best->data, 2);
  EXPECT_EQ(16 % choice.best->microBatch, 0);
}

TEST(Choose, SaysWhatIsClosestWhenNothingFits) {
  Cluster c = twoHosts();
  c.device.memory = 1 << 20;
  Choice choice = chooseStrategy(gpt(8, 512), c, job(32));
  EXPECT_FALSE(choice.best);
  ASSERT_TRUE(choice.closest);
  EXPECT_GT(choice.cost.bytes, usableBytes(c, job(32)));
  EXPECT_GT(choice.legal, 0);
}

TEST(Choose, SaysWhenNothingIsLegal) {
  ModelConfig m = gpt(1, 64); // one head, one layer
  Choice choice = chooseStrategy(m, twoHosts(), job(3));
  EXPECT_FALSE(choice.best || choice.closest);
  EXPECT_EQ(choice.legal, 0);
}

} // namespace
