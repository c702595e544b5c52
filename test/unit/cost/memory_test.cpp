//===- memory_test.cpp - Bytes of a step against what is published ----------===//

#include "compiler/cost/step_memory.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace hocket::cost;

namespace {

ModelShape gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocab) {
  ModelShape m;
  m.layers = layers, m.hidden = hidden, m.heads = m.kvHeads = heads, m.headDim = hidden / heads;
  m.ffn = 4 * hidden, m.vocab = vocab, m.biased = true;
  return m;
}

ModelShape llama(int64_t layers, int64_t hidden, int64_t heads, int64_t kvHeads, int64_t headDim, int64_t ffn,
                 int64_t vocab) {
  ModelShape m;
  m.layers = layers, m.hidden = hidden, m.heads = heads, m.kvHeads = kvHeads, m.headDim = headDim;
  m.ffn = ffn, m.vocab = vocab, m.gated = true;
  return m;
}

double parameters(const ModelShape &m, const Tactics &t = {}) {
  double sum = 0;
  for (int64_t k = 0; k < t.pipeline; ++k) {
    StageParameters p = stageParameters(m, t, k);
    sum += p.dense + p.experts;
  }
  return sum;
}

// Exact counts as published; of DeepSeek-V3 without the 58 x 256 routing biases that no gradient reaches.
TEST(Memory, ParametersOfPublishedModels) {
  EXPECT_EQ(parameters(llama(126, 16384, 128, 8, 128, 53248, 128256)), 405853388800.0);
  ModelShape small = llama(16, 2048, 32, 8, 64, 8192, 128256);
  small.tied = true;
  EXPECT_EQ(parameters(small), 1235814400.0);
  ModelShape gpt2 = gpt(12, 768, 12, 50257);
  gpt2.tied = true, gpt2.learnedPositions = 1024;
  EXPECT_EQ(parameters(gpt2), 124439808.0);
  ModelShape mixtral = llama(32, 4096, 32, 8, 128, 14336, 32000);
  mixtral.experts = {8, 2, 14336, 0, 0};
  EXPECT_EQ(parameters(mixtral), 46702792704.0);
  ModelShape deepseek = llama(61, 7168, 128, 128, 128, 18432, 129280);
  deepseek.experts = {256, 8, 2048, 1, 3};
  deepseek.latent = {1536, 512, 128, 64, 128};
  EXPECT_EQ(parameters(deepseek), 671026404352.0);
}

// Pipeline positions hold each layer once, whatever the schedule; a tied
// head is a copy unless it lies with the embedding, as it does in a V.
TEST(Memory, PositionsHoldEveryLayerOnce) {
  ModelShape m = llama(126, 16384, 128, 8, 128, 53248, 128256);
  Tactics t;
  for (int64_t p : {1, 2, 4, 9, 16}) {
    t.pipeline = p;
    EXPECT_EQ(parameters(m, t), parameters(m)) << p;
    t.schedule = ScheduleKind::ZbV, t.chunks = 2;
    EXPECT_EQ(parameters(m, t), parameters(m)) << p;
    t.schedule = ScheduleKind::OneFOneB, t.chunks = 1;
  }
  m.tied = true;
  t.pipeline = 4;
  EXPECT_EQ(parameters(m, t), parameters(m) + 128256.0 * 16384);
  t.schedule = ScheduleKind::ZbV, t.chunks = 2;
  EXPECT_EQ(parameters(m, t), parameters(m));
}

// arXiv 2205.05198, Table 2, without its dropout masks (2 s b h; with flash attention also the
// 5 a s^2 b of scores go), and 4 bytes a token and head for the log-sums that a fused kernel keeps.
TEST(Memory, ActivationsOfALayer) {
  ModelShape m = gpt(96, 12288, 96, 51200);
  Workload w{2048, 64, true};
  Tactics t;
  MemoryConstants fused, plain;
  plain.scoreBytes = 5;
  double sbh = 2048.0 * 12288, lse = 2048.0 * 96 * 4;
  EXPECT_DOUBLE_EQ(layerActivations(m, w, t, fused), 32 * sbh + lse);
  EXPECT_DOUBLE_EQ(layerActivations(m, w, t, plain), 32 * sbh + lse + 5.0 * 96 * 2048 * 2048);
  t.tensor = 8;
  EXPECT_DOUBLE_EQ(layerActivations(m, w, t, fused), (8 + 24 / 8.0) * sbh + lse / 8);
  t.sequenceParallel = true;
  EXPECT_DOUBLE_EQ(layerActivations(m, w, t, plain), 32 / 8.0 * sbh + lse / 8 + 5.0 * 96 / 8 * 2048 * 2048);
  t.context = 2;
  EXPECT_DOUBLE_EQ(layerActivations(m, w, t, fused), (32 / 8.0 * sbh + lse / 8) / 2);
}

TEST(Memory, RecomputeKeepsInputs) {
  ModelShape m = gpt(96, 12288, 96, 51200);
  Workload w{2048, 64, true};
  Tactics t;
  t.tensor = 8, t.pipeline = 8, t.recompute = Recompute::Full;
  MemoryConstants c;
  double sbh = 2048.0 * 12288;
  // 12 layers of 2 s b h for each of the 8 micro-batches in flight; on the last position one.
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, c, 0).activations, 8 * 12 * 2 * sbh);
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, c, 7).activations, 12 * 2 * sbh);
  double layer = layerActivations(m, w, t, c);
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, c, 0).working, layer);
  t.recompute = Recompute::Layers, t.recomputeLayers = 5;
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, c, 7).activations, 5 * 2 * sbh + 7 * layer);
  t.recompute = Recompute::None;
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, c, 7).activations, 12 * layer);
}

// ZeRO, arXiv 1910.02054, and Megatron-Core's distributed optimizer: bytes per parameter.
TEST(Memory, StateByZeroLevel) {
  ModelShape m = llama(32, 4096, 32, 8, 128, 14336, 128256);
  Workload w{8192, 128, true};
  MemoryConstants c;
  double n = parameters(m);
  auto perParameter = [&](Zero zero, bool gradientsF32) {
    Tactics t;
    t.data = 16, t.zero = zero, t.gradientsF32 = gradientsF32;
    StageMemory s = stageMemory(m, w, t, c, 0);
    return (s.parameters + s.gradients + s.optimizer) / n;
  };
  EXPECT_DOUBLE_EQ(perParameter(Zero::None, false), 16);
  EXPECT_DOUBLE_EQ(perParameter(Zero::None, true), 18);
  EXPECT_DOUBLE_EQ(perParameter(Zero::Optimizer, false), 4 + 12 / 16.0);
  EXPECT_DOUBLE_EQ(perParameter(Zero::Optimizer, true), 6 + 12 / 16.0);
  EXPECT_DOUBLE_EQ(perParameter(Zero::Gradients, false), 2 + 14 / 16.0);
  EXPECT_DOUBLE_EQ(perParameter(Zero::Parameters, false), 16 / 16.0);
}

// Routed experts are divided by their own groups (Megatron-LM #4050, #2439): 8 of 256 experts each,
// their state over the 2 replicas that hold the same ones, not over all 64.
TEST(Memory, ExpertsHaveTheirOwnDivisors) {
  ModelShape m = llama(61, 7168, 128, 128, 128, 18432, 129280);
  m.experts = {256, 8, 2048, 1, 3};
  m.latent = {1536, 512, 128, 64, 128};
  Tactics t;
  t.data = 64, t.expert = 32, t.zero = Zero::Optimizer;
  double experts = 58.0 * 8 * 3 * 7168 * 2048;
  EXPECT_EQ(stageParameters(m, t, 0).experts, experts);
  Workload w{4096, 512, true};
  StageMemory s = stageMemory(m, w, t, {}, 0);
  EXPECT_NEAR(s.optimizer, 12 * (experts / 2 + stageParameters(m, t, 0).dense / 64), 1);
  // What a token's experts keep does not depend on how experts are spread.
  double before = layerActivations(m, w, t, {});
  t.expert = 64;
  EXPECT_EQ(layerActivations(m, w, t, {}), before);
}

// With a fused kernel no scores are kept, so selective recompute drops the output of every other product:
// torchtitan's per-operator checkpoints of a Llama-3.1-8B layer keep its input, q, v, attention's output, one
// feed-forward product and the last: (1 + 1 + 1/4 + 1 + 3.5 + 1) h in 16 bits.  Half of all is within 10 %.
TEST(Memory, SelectiveRecompute) {
  ModelShape m = llama(32, 4096, 32, 8, 128, 14336, 128256);
  Workload w{8192, 16, true};
  Tactics t;
  t.microBatch = 2, t.data = 8, t.recompute = Recompute::Selective;
  MemoryConstants fused, plain;
  plain.scoreBytes = 5;
  double n = 2 * 8192, h = 4096;
  double perToken = stageMemory(m, w, t, fused, 0).activations / (32 * n);
  double logSums = 4 * 32;
  // Input and attention's output; half of q, k, v, its projection, gate, up and down.
  EXPECT_DOUBLE_EQ(perToken, 2 * 2 * h + logSums + (2 * (h + 2 * 1024) + 2 * 2 * 14336 + 2 * 2 * h) / 2);
  EXPECT_NEAR(perToken, 2 * 7.75 * h, 0.1 * 2 * 7.75 * h);
  double all = layerActivations(m, w, t, fused);
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, fused, 0).working, all - perToken * n);
  // Where scores are kept they are what goes.
  double scores = 5.0 * 32 * 8192 * n;
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, plain, 0).activations, 32 * all);
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, plain, 0).working, scores);
}

// ZeRO-3 gathers two layers at a time; embedding and head stay, as the outermost unit of FSDP does.
TEST(Memory, GatheredParameters) {
  ModelShape m = llama(32, 4096, 32, 8, 128, 14336, 128256);
  Workload w{8192, 64, true};
  Tactics t;
  t.data = 64, t.zero = Zero::Parameters, t.gradientsF32 = false;
  double tables = 2.0 * 128256 * 4096, layer = (parameters(m) - tables) / 32;
  EXPECT_EQ(stageParameters(m, t, 0).tables, tables);
  // The gradients of the tables are more than two layers and the gradients of one.
  EXPECT_DOUBLE_EQ(stageMemory(m, w, t, {}, 0).gathered, tables * 4);
  m.vocab = 32000, tables = 2.0 * 32000 * 4096, layer = (parameters(m) - tables) / 32;
  EXPECT_NEAR(stageMemory(m, w, t, {}, 0).gathered, tables * 2 + layer * 6, 1);
  t.overlapParameters = false;
  EXPECT_NEAR(stageMemory(m, w, t, {}, 0).gathered, tables * 2 + layer * 4, 1);
}

// What stacks add, each in its own place.
TEST(Memory, ConstantsOfStacks) {
  ModelShape m = gpt(24, 4096, 32, 51200);
  Workload w{2048, 64, true};
  Tactics t;
  t.pipeline = 4, t.data = 8, t.recompute = Recompute::Full, t.zero = Zero::Optimizer;
  MemoryConstants c;
  StageMemory before = stageMemory(m, w, t, c, 0);
  StageParameters p = stageParameters(m, t, 0);
  double residual = 2.0 * 2048 * 4096;
  auto with = [&](auto change) {
    MemoryConstants changed;
    change(changed);
    return stageMemory(m, w, t, changed, 0);
  };
  // One tensor more for each of four micro-batches in flight.
  EXPECT_DOUBLE_EQ(with([](MemoryConstants &c) { c.stageTensors = 1; }).activations - before.activations,
                   4 * residual);
  EXPECT_DOUBLE_EQ(with([](MemoryConstants &c) { c.optimizerScratch = 6; }).optimizer - before.optimizer,
                   6 * p.dense / 8);
  // 16-bit gradients of all parameters, and the embedding's, the widest, once in f32.
  EXPECT_DOUBLE_EQ(with([](MemoryConstants &c) { c.accumulationCopy = 2; }).gradients - before.gradients,
                   2 * p.dense + 4.0 * 51200 * 4096);
  StageMemory larger = with([](MemoryConstants &c) { c.reserve = 1e9, c.activationFactor = 1.5; });
  EXPECT_DOUBLE_EQ(larger.total() - before.total(), 1e9 + (before.activations + before.working) / 2);
  // Sequence parallelism gathers a product's input and a gradient for a moment.
  t.tensor = 4;
  double without = stageMemory(m, w, t, c, 1).working;
  t.sequenceParallel = true;
  double norms = 3 * residual; // of the four of the layer that is computed again: now sharded
  EXPECT_NEAR(stageMemory(m, w, t, c, 1).working, without - norms + 2 * residual, 1);
}

TEST(Memory, Verdict) {
  EXPECT_EQ(fitOf(84, 100), Fit::Fits);
  EXPECT_EQ(fitOf(86, 100), Fit::AtLimit);
  EXPECT_EQ(fitOf(109, 100), Fit::AtLimit);
  EXPECT_EQ(fitOf(111, 100), Fit::TooLarge);
}

// Averages over stages under-report the fullest (Megatron-Bridge PR 5077).
TEST(Memory, TheFullestPositionCounts) {
  ModelShape m = gpt(30, 4096, 32, 51200);
  Workload w{2048, 64, true};
  Tactics t;
  t.pipeline = 4, t.stageLayers = {12, 6, 6, 6};
  MemoryVerdict v = fullest(m, w, t, {});
  EXPECT_EQ(v.device, 0);
  EXPECT_EQ(v.memory.total(), stageMemory(m, w, t, {}, 0).total());
  t.stageLayers = {2, 2, 14, 12};
  EXPECT_EQ(fullest(m, w, t, {}).device, 2);
}

// A large vocabulary shows (Megatron-LM #92), on the position of the head only.
TEST(Memory, Logits) {
  ModelShape m = gpt(32, 4096, 32, 250880);
  Workload w{2048, 64, true};
  Tactics t;
  t.pipeline = 4, t.tensor = 4;
  EXPECT_EQ(stageMemory(m, w, t, {}, 0).logits, 0);
  EXPECT_EQ(stageMemory(m, w, t, {}, 3).logits, 8.0 * 2048 * 250880 / 4);
}

// What is left over goes to the middle first; spelled out it is the same.
TEST(Memory, LayersThatDoNotDivide) {
  auto layers = [](int64_t pipeline, int64_t chunks, ScheduleKind schedule, int64_t n) {
    Tactics t;
    t.pipeline = pipeline, t.chunks = chunks, t.schedule = schedule;
    Tactics spelled = t;
    spelled.stageLayers = evenStages(t, n);
    std::vector<int64_t> out;
    int64_t sum = 0;
    for (int64_t k = 0; k < pipeline; ++k) {
      out.push_back(layersOf(t, n, k));
      EXPECT_EQ(layersOf(spelled, n, k), out.back());
      sum += out.back();
    }
    EXPECT_EQ(sum, n);
    return out;
  };
  using List = std::vector<int64_t>;
  EXPECT_EQ(layers(4, 1, ScheduleKind::OneFOneB, 10), (List{2, 3, 3, 2}));
  EXPECT_EQ(layers(4, 1, ScheduleKind::OneFOneB, 11), (List{3, 3, 3, 2}));
  EXPECT_EQ(layers(1, 1, ScheduleKind::OneFOneB, 7), (List{7}));
  EXPECT_EQ(layers(2, 1, ScheduleKind::OneFOneB, 7), (List{4, 3}));
  // Llama-3.1-405B as Megatron cuts it: 126 layers, 8 x 8 virtual stages.
  EXPECT_EQ(layers(8, 8, ScheduleKind::Interleaved, 126), (List{15, 16, 16, 16, 16, 16, 16, 15}));
  EXPECT_EQ(layers(4, 2, ScheduleKind::ZbV, 11), (List{2, 3, 3, 3}));
}

} // namespace
