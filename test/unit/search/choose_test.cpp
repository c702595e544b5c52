//===- choose_test.cpp - From a user's inputs to a judged strategy -----------===//
#include "compiler/search/choose.h"
#include "compiler/search/tactics_of.h"

#include "gtest/gtest.h"

using namespace hocket;

namespace {

/// Two hosts of four CPU devices: 10 GB/s inside, 1 GB/s between.
Cluster twoHosts() {
  Cluster c;
  c.hosts = 2;
  c.devicesPerHost = 4;
  c.device.isa = "x86-64-v3";
  c.device.memory = int64_t(8) << 30;
  c.device.rateF32 = 1e11;
  c.device.memoryRate = 1e10;
  c.levels = {{"host", {}, "memory", 4, 1e10, 1e-6, 1, 1e10}, {"rack", {}, "switch", 2, 1e9, 2e-5, 1, 2.5e8}};
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

Strategy mesh(int64_t pipeline, int64_t data, int64_t tensor, int64_t micro) {
  Strategy s;
  s.pipeline = pipeline, s.data = data, s.tensor = tensor, s.microBatch = micro;
  return s;
}

Choice choose(const ModelConfig &m, const Cluster &c, const Job &j, SearchRequest request = {}) {
  Diagnostics d;
  std::optional<Choice> choice = judge(m, c, j, "", d);
  EXPECT_TRUE(choice) << d.str();
  chooseStrategy(*choice, m, c, j, request);
  return *choice;
}

Choice judged(const ModelConfig &m, const Cluster &c, const Job &j, const Strategy &s) {
  Diagnostics d;
  std::optional<Choice> choice = judge(m, c, j, "", d);
  EXPECT_TRUE(choice) << d.str();
  judgeStrategy(*choice, m, c, j, s);
  return *choice;
}

TEST(Choose, TakesTheFastestThatFitsAndIsExecuted) {
  ModelConfig m = gpt(8, 512);
  Cluster c = twoHosts();
  Job j = job(32);
  Choice choice = choose(m, c, j);
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(planner::notExecuted(choice.best->tactics), "");
  EXPECT_TRUE(choice.best->fits);
  EXPECT_TRUE(choice.certificate->complete);
  EXPECT_EQ(choice.certificate->gap, 0);
  int legal = 0;
  for (int64_t tensor : {1, 2, 4, 8})
    for (int64_t pipeline = 1; pipeline * tensor <= 8; pipeline *= 2)
      for (int64_t micro = 1; micro <= 32; micro *= 2)
        for (PipelineSchedule schedule : {PipelineSchedule::GPipe, PipelineSchedule::OneFOneB}) {
          Strategy s = mesh(pipeline, 8 / tensor / pipeline, tensor, micro);
          s.schedule = schedule;
          Diagnostics quiet;
          if (!checkLegal(m, c, j, s, quiet))
            continue;
          ++legal;
          planner::Priced priced = planner::price(choice.facts, tacticsOf(s, j, m.layers));
          if (priced.fits)
            EXPECT_GE(priced.time.total, choice.best->time.total * (1 - 1e-12)) << meshText(s);
        }
  EXPECT_GT(legal, 40);
  // What is faster is named with what it would need.
  ASSERT_TRUE(choice.faster);
  EXPECT_LT(choice.faster->time.total, choice.best->time.total);
  EXPECT_NE(planner::notExecuted(choice.faster->tactics), "");
}

TEST(Choose, WhatIfTakesTheFastestOfAll) {
  SearchRequest request;
  request.execute = false;
  Choice all = choose(gpt(8, 512), twoHosts(), job(32), request),
         ours = choose(gpt(8, 512), twoHosts(), job(32));
  ASSERT_TRUE(all.best && ours.faster);
  EXPECT_EQ(all.best->time.total, ours.faster->time.total);
  EXPECT_FALSE(all.faster);
}

TEST(Choose, IsRepeatable) {
  Choice a = choose(gpt(8, 512), twoHosts(), job(32)), b = choose(gpt(8, 512), twoHosts(), job(32));
  ASSERT_TRUE(a.best && b.best);
  EXPECT_EQ(toToml(strategyOf(a.best->tactics)), toToml(strategyOf(b.best->tactics)));
  EXPECT_EQ(a.best->time.total, b.best->time.total);
  EXPECT_EQ(a.certificate->checksum, b.certificate->checksum);
}

TEST(Choose, PinsTheMicroBatch) {
  SearchRequest request;
  request.microBatch = 2;
  Choice choice = choose(gpt(8, 512), twoHosts(), job(32), request);
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->tactics.microBatch, 2);
}

TEST(Choose, CompletesAMesh) {
  Choice choice = judged(gpt(8, 512), twoHosts(), job(32), mesh(2, 2, 2, 0));
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->tactics.pipeline, 2);
  EXPECT_EQ(choice.best->tactics.data, 2);
  EXPECT_EQ(16 % choice.best->tactics.microBatch, 0);
  EXPECT_FALSE(choice.certificate);
}

TEST(Choose, ObeysRequirements) {
  Diagnostics d;
  SearchRequest request;
  for (const char *text : {"tensor = 2", "pipeline in {2, 4}"}) {
    auto r = planner::parseRequirement(text, d.at(d.addSource("--require", text), 0, 1), d);
    ASSERT_TRUE(r) << d.str();
    request.requirements.push_back(*r);
  }
  Choice choice = choose(gpt(8, 512), twoHosts(), job(32), request);
  ASSERT_TRUE(choice.best);
  EXPECT_EQ(choice.best->tactics.tensor, 2);
  EXPECT_GE(choice.best->tactics.pipeline, 2);
}

TEST(Choose, NamesRequirementsThatCannotHold) {
  Diagnostics d;
  SearchRequest request;
  for (const char *text : {"tensor = 4", "pipeline = 4", "micro_batch <= 8"})
    request.requirements.push_back(
        *planner::parseRequirement(text, d.at(d.addSource("--require", text), 0, 1), d));
  Choice choice = choose(gpt(8, 512), twoHosts(), job(32), request);
  EXPECT_FALSE(choice.best);
  EXPECT_EQ(choice.conflict, (std::vector<size_t>{0, 1})); // 4 x 4 of 8 devices
}

TEST(Choose, SaysWhatIsNearestWhenNothingFits) {
  Cluster c = twoHosts();
  c.device.memory = 1 << 20;
  Choice choice = choose(gpt(8, 512), c, job(32));
  EXPECT_FALSE(choice.best);
  ASSERT_TRUE(choice.nearest);
  EXPECT_GT(choice.nearest->over, 0);
  EXPECT_DOUBLE_EQ(choice.nearest->over, choice.nearest->priced.memory.memory.total() - double(1 << 20));
}

TEST(Choose, SaysWhenNothingIsLegal) {
  Choice choice = choose(gpt(1, 64), twoHosts(), job(3)); // one head, one layer
  EXPECT_FALSE(choice.best || choice.nearest);
}

TEST(Tactics, GoThereAndBack) {
  Strategy s = mesh(2, 4, 1, 3);
  s.dataGiven = true;
  s.schedule = PipelineSchedule::GPipe;
  s.order = {"data", "pipeline", "tensor"};
  s.layers = {3, 5};
  EXPECT_EQ(toToml(strategyOf(tacticsOf(s, job(24), 8))), toToml(s));
}

} // namespace
