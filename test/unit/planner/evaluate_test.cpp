//===- evaluate_test.cpp - The cost model behind the search -----------------===//

#include "compiler/planner/plan.h"

#include <gtest/gtest.h>

#include <random>

using namespace hocket;
using namespace hocket::cost;
using namespace hocket::planner;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Random {
  std::mt19937_64 engine;
  int64_t of(std::initializer_list<int64_t> values) { return values.begin()[engine() % values.size()]; }
  double real(double least, double most) {
    return least + (most - least) * double(engine() >> 11) / double(1ull << 53);
  }
};

/// Small problems on machines of two or three levels.
Question instance(Random &r) {
  Question q;
  Facts &f = q.facts;
  ModelShape &m = f.problem.model;
  m.layers = r.of({1, 2, 3, 5, 6, 8, 12}), m.heads = r.of({4, 8, 12}), m.kvHeads = r.of({1, 2, 4});
  m.headDim = 64, m.hidden = m.heads * m.headDim, m.ffn = 4 * m.hidden, m.vocab = r.of({257, 32000});
  m.gated = r.engine() % 2, m.tied = r.engine() % 2;
  if (r.engine() % 4 == 0)
    m.experts = {r.of({4, 8}), 2, m.hidden, r.of({0, 1}), r.of({0, 1})};
  m.experts.denseLayers = std::min(m.experts.denseLayers, m.layers - 1);
  f.problem.work = {r.of({64, 96, 256}), r.of({4, 6, 8, 16, 24}), true};
  Machine &machine = f.machine;
  int64_t inHost = r.of({1, 2, 4}), hosts = r.of({1, 2, 3}), pods = r.of({1, 1, 2});
  machine.levels = {
      {"host", FabricKind::NvSwitch, inHost, r.real(50e9, 400e9), 0, 1, false},
      {"rail", FabricKind::Rail, hosts, r.real(1e9, 50e9), 0, 1, false},
      {"spine", FabricKind::Switch, pods, r.real(1e9, 50e9), 0, r.real(1, 4), false},
  };
  machine.devices = inHost * hosts * pods, machine.devicesPerHost = inHost;
  machine.device.peak.fill(r.real(1e12, 300e12));
  machine.device.memoryRate = r.real(100e9, 2e12), machine.device.hostRate = r.real(5e9, 60e9);
  machine.hostMemory = r.engine() % 2 ? 0 : r.real(1e8, 1e11);
  f.problem.devices = machine.devices, f.problem.devicesPerHost = inHost;
  f.memory.reserve = 1e6;
  if (r.engine() % 2) // an arena of our own
    f.memory.workTensors = 5, f.memory.endTensors = 2;
  else
    f.memory.stageTensors = 1, f.memory.optimizerScratch = 6, f.memory.accumulationCopy = 2;
  f.constants.stack.launch = r.real(1e-7, 1e-5);
  q.space = r.engine() % 3 ? Space::whole(Precision::F16) : Space::executable(Precision::F32);
  machine.device.memory = fullest(m, f.problem.work, Tactics(), f.memory).memory.total() * r.real(0.03, 1.5);
  return q;
}

TEST(Evaluate, EqualsTheModelAndItsBoundsHold) {
  Random r{std::mt19937_64(3)};
  int64_t candidates = 0;
  for (int round = 0; round < 60; ++round) {
    Question q = instance(r);
    StepEvaluator evaluator(q.facts, q.space);
    for (const Tactics &mesh : meshes(q.facts.problem, q.space)) {
      double bound = evaluator.bound(mesh);
      std::unique_ptr<MeshCost> costs = evaluator.open(mesh);
      Evaluation least;
      completions(
          q.facts.problem, q.space, mesh,
          [&](const Tactics &t) {
            EXPECT_EQ(illegal(q.facts.problem, t), "");
            Evaluation e = costs->evaluate(t);
            Priced p = price(q.facts, t);
            EXPECT_EQ(e.seconds, p.time.total);
            EXPECT_NEAR(e.bytes, p.memory.memory.total(), 1e-12 * e.bytes);
            EXPECT_EQ(e.fits, p.fits);
            EXPECT_LE(bound, e.seconds);
            if (e.fits) {
              EXPECT_LE(least.seconds, e.seconds);
            }
            EXPECT_LE(least.bytes, e.bytes);
            EXPECT_TRUE(least.fits || !e.fits);
            ++candidates;
            return !testing::Test::HasFailure();
          },
          [&](const Tactics &first) {
            least = costs->enter(first, kNever);
            EXPECT_LE(bound, least.seconds * (1 + 1e-11));
            return true;
          });
      ASSERT_FALSE(HasFailure()) << "round " << round;
    }
  }
  EXPECT_GT(candidates, 50000);
}

// The search leaves out nothing that matters.
TEST(Evaluate, SearchEqualsExhaustiveEnumeration) {
  Random r{std::mt19937_64(4)};
  int solved = 0, infeasible = 0;
  int64_t pruned = 0;
  for (int round = 0; round < 400; ++round) {
    Question q = instance(r);
    StepEvaluator evaluator(q.facts, q.space);
    std::optional<Candidate> best, closest;
    int64_t all = 0;
    for (const Tactics &mesh : meshes(q.facts.problem, q.space)) {
      std::unique_ptr<MeshCost> costs = evaluator.open(mesh);
      completions(
          q.facts.problem, q.space, mesh,
          [&](const Tactics &t) {
            Candidate c{t, costs->evaluate(t)};
            ++all;
            if (c.evaluation.fits && (!best || c.evaluation.seconds < best->evaluation.seconds))
              best = c;
            if (!closest || c.evaluation.bytes < closest->evaluation.bytes)
              closest = c;
            return true;
          },
          [&](const Tactics &first) {
            costs->enter(first, kNever);
            return true;
          });
    }
    Answer a = search(q.facts.problem, q.space, evaluator);
    ASSERT_EQ(a.best.has_value(), best.has_value()) << "round " << round;
    EXPECT_LE(a.certificate.evaluated, all);
    if (!best) {
      ++infeasible;
      ASSERT_EQ(a.closest.has_value(), closest.has_value());
      if (closest) {
        EXPECT_EQ(a.closest->evaluation.bytes, closest->evaluation.bytes);
      }
      continue;
    }
    ++solved;
    EXPECT_EQ(a.best->evaluation.seconds, best->evaluation.seconds) << "round " << round;
    EXPECT_EQ(a.certificate.gap, 0);
    pruned += a.certificate.evaluated < all;
    Answer again = search(q.facts.problem, q.space, evaluator);
    EXPECT_EQ(a.certificate.checksum, again.certificate.checksum);
  }
  EXPECT_GE(solved, 300);
  EXPECT_GE(infeasible, 10);
  EXPECT_GE(pruned, 200);
}

/// GPT-3 175B on 128 hosts of eight A100.
Question gpt3() {
  Question q;
  ModelShape &m = q.facts.problem.model;
  m.layers = 96, m.hidden = 12288, m.heads = m.kvHeads = 96, m.headDim = 128, m.ffn = 49152, m.vocab = 51200;
  m.tied = m.biased = true;
  q.facts.problem.work = {2048, 1536, true};
  Machine &machine = q.facts.machine;
  machine.device.peak.fill(312e12);
  machine.device.memoryRate = 2039e9, machine.device.memory = 80e9, machine.device.hostRate = 25e9;
  machine.levels = {{"nvlink", FabricKind::NvSwitch, 8, 300e9, 0, 1, false},
                    {"network", FabricKind::Rail, 128, 25e9, 0, 1, false}};
  machine.devices = q.facts.problem.devices = 1024;
  machine.devicesPerHost = q.facts.problem.devicesPerHost = 8;
  q.space = Space::whole(Precision::F16);
  return q;
}

Tactics megatron() {
  Tactics t;
  t.tensor = 8, t.pipeline = 16, t.data = 8, t.sequenceParallel = true;
  return t;
}

// What each dimension costs, against the same strategy without it.
TEST(Evaluate, EveryDimensionIsPriced) {
  Question q = gpt3();
  auto with = [&](auto edit) {
    Tactics t = megatron();
    edit(t);
    return price(q.facts, t);
  };
  Priced plain = with([](Tactics &) {});
  Priced host = with([](Tactics &t) { t.offloadOptimizer = true; });
  // Moments and master weights, 12 bytes a parameter, both ways at once.
  double state = plain.memory.memory.optimizer;
  EXPECT_NEAR(host.time.offload, state / 25e9, 0.02 * state / 25e9);
  EXPECT_EQ(plain.time.offload, 0);
  EXPECT_NEAR(host.memory.memory.total(), plain.memory.memory.total() - state, 1);
  EXPECT_NEAR(host.host, state, 0.02 * state); // of another position

  Priced half = with([](Tactics &t) { t.offloadActivations = 0.5; });
  EXPECT_GT(half.time.offload, 0);
  EXPECT_EQ(half.memory.memory.activations, plain.memory.memory.activations / 2);
  q.facts.machine.device.hostRate = 1e9;
  EXPECT_GT(with([](Tactics &t) { t.offloadActivations = 0.5; }).time.offload, 10 * half.time.offload);
  q = gpt3();

  // ZeRO-1 moves what an all-reduce moves less half of it in 16 bits; ZeRO-2 sums at every micro-batch.
  Priced one = with([](Tactics &t) { t.zero = Zero::Optimizer; });
  Priced two = with([](Tactics &t) { t.zero = Zero::Gradients; });
  Priced three = with([](Tactics &t) { t.zero = Zero::Parameters; });
  EXPECT_LT(one.time.gradients, plain.time.gradients);
  EXPECT_GT(two.time.gradients, 50 * one.time.gradients);
  EXPECT_GT(three.time.gradients, one.time.gradients);
  EXPECT_LT(one.memory.memory.total(), plain.memory.memory.total());
  EXPECT_LT(two.memory.memory.total(), one.memory.memory.total());

  // Parameters within a host of data parallel devices: gathered faster, held by more.
  auto fsdp = [&](int64_t group) {
    Tactics t;
    t.data = 1024, t.zero = Zero::Parameters, t.shardGroup = group, t.recompute = Recompute::Full;
    Question small = gpt3(); // eight micro-batches over a slow network
    small.facts.problem.model.layers = 12, small.facts.problem.work.globalBatch = 8192;
    small.facts.machine.levels[1].rate = 2e9;
    return price(small.facts, t);
  };
  EXPECT_LT(fsdp(8).time.gradients, fsdp(0).time.gradients);
  EXPECT_GT(fsdp(8).memory.memory.parameters, 100 * fsdp(0).memory.memory.parameters);

  // Replicas side by side sum within hosts; stages send further.
  Tactics inner = megatron();
  inner.tensor = 1, inner.data = 64, inner.sequenceParallel = false;
  Tactics outer = inner;
  outer.order = {Axis::Data, Axis::Pipeline, Axis::Context, Axis::Tensor};
  EXPECT_LT(price(q.facts, inner).time.gradients, price(q.facts, outer).time.gradients);
  EXPECT_GT(price(q.facts, inner).time.stages, price(q.facts, outer).time.stages);

  // A ring hides behind attention, a gather does not; heads move less than keys of all tokens.
  auto context = [&](ContextKind kind) {
    return with([&](Tactics &t) { t.tensor = 2, t.context = 4, t.contextKind = kind; }).time.tensor;
  };
  EXPECT_LT(context(ContextKind::Ring), context(ContextKind::AllGather));
  EXPECT_LT(context(ContextKind::Ulysses), context(ContextKind::AllGather));

  Priced late = with([](Tactics &t) { t.overlapGradients = false; });
  EXPECT_GT(late.time.gradients, plain.time.gradients);
  EXPECT_GT(with([](Tactics &t) { t.bucketBytes = 1 << 20; }).time.gradients, plain.time.gradients);
}

Requirement require(const std::string &text) {
  Diagnostics diags;
  std::optional<Requirement> r = parseRequirement(text, {}, diags);
  EXPECT_TRUE(r) << diags.str();
  return r.value_or(Requirement());
}

TEST(Plan, BestRunnersUpAndProof) {
  Plan p = plan(gpt3());
  ASSERT_TRUE(p.best);
  EXPECT_TRUE(p.best->fits);
  EXPECT_EQ(p.others.size(), 3u);
  for (const Priced &o : p.others)
    EXPECT_GE(o.time.total, p.best->time.total);
  EXPECT_FALSE(p.executable) << "no GPU computes in f32 today";
  EXPECT_TRUE(p.certificate.complete);
  EXPECT_EQ(p.certificate.gap, 0);
  Question same = gpt3();
  EXPECT_EQ(plan(same).certificate.checksum, p.certificate.checksum);
}

TEST(Plan, RequirementsAndWhatExecutes) {
  Question q = gpt3();
  q.space = Space::whole(Precision::F32);
  q.facts.machine.device.memory = 1e12;
  for (const char *text : {"tensor <= 4", "pipeline in {8, 16}", "recompute = none", "offload = none",
                           "order = pipeline-data-context-tensor"})
    q.requirements.push_back(require(text));
  Plan p = plan(q);
  ASSERT_TRUE(p.best);
  ASSERT_TRUE(p.executable) << notExecuted(p.best->tactics);
  EXPECT_EQ(notExecuted(p.executable->tactics), "");
  EXPECT_GE(p.executable->time.total, p.best->time.total);
  for (const Requirement &r : q.requirements) {
    EXPECT_TRUE(r.holds(p.best->tactics)) << r.text;
    EXPECT_TRUE(r.holds(p.executable->tactics)) << r.text;
  }
}

TEST(Plan, NothingFits) {
  Question q = gpt3();
  q.facts.machine.levels[1].count = 1;
  q.facts.machine.devices = q.facts.problem.devices = 8;
  Plan p = plan(q);
  EXPECT_FALSE(p.best);
  ASSERT_TRUE(p.nearest);
  EXPECT_GT(p.nearest->over, 0);
  EXPECT_NEAR(p.nearest->over, p.nearest->priced.memory.memory.total() - 0.94 * 80e9, 1);
  EXPECT_TRUE(p.conflict.empty()) << "it would not fit without any requirement";
}

TEST(Plan, AMinimalConflict) {
  Question q = gpt3();
  for (const char *text : {"micro_batch <= 4", "zero = none", "pipeline = 1", "tensor <= 8", "data >= 2"})
    q.requirements.push_back(require(text));
  Plan p = plan(q);
  EXPECT_FALSE(p.best);
  // 175 billion parameters over eight devices, whole on each of these groups.
  EXPECT_EQ(p.conflict, (std::vector<size_t>{1, 2, 3}));
}

} // namespace
