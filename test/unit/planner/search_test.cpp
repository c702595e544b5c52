//===- search_test.cpp - The search against exhaustive enumeration ----------===//

#include "compiler/cost/step_memory.h"
#include "compiler/planner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace hocket;
using namespace hocket::cost;
using namespace hocket::planner;

namespace {

/// Random weights on what makes strategies differ, with memory by the model's own terms.  The bound
/// leaves out the terms that depend on the rest of a strategy.
struct RandomCost : Evaluator {
  Problem problem;
  double capacity = 0, compute = 0, tensorCost = 0, dataCost = 0, again = 0, sharding = 0;
  std::map<ScheduleKind, double> idle;

  double meshSeconds(const Tactics &t) const {
    double micros = double(problem.work.globalBatch) / double(t.data * t.microBatch);
    double work = compute * double(problem.work.globalBatch) / double(t.devices());
    return work * (1 + tensorCost * double(t.tensor - 1) / double(t.microBatch)) +
           dataCost * double(t.data - 1) / double(t.pipeline) + 0.01 * micros;
  }
  Evaluation evaluate(const Tactics &t) const {
    double micros = double(problem.work.globalBatch) / double(t.data * t.microBatch);
    double bubble = idle.at(t.schedule) * double(t.pipeline - 1) / (micros * double(t.chunks));
    double extra = t.recompute == Recompute::Full        ? again
                   : t.recompute == Recompute::Selective ? again / 4
                                                         : 0;
    Evaluation e;
    e.seconds = meshSeconds(t) * (1 + bubble + extra) + sharding * double(int(t.zero)) +
                (t.offloadOptimizer ? 3 * sharding : 0) + (t.sequenceParallel ? -0.0 : 0.001);
    e.bytes = fullest(problem.model, problem.work, t, {}).memory.total();
    e.fits = e.bytes <= capacity;
    return e;
  }
  double bound(const Tactics &mesh) const override { return meshSeconds(mesh); }

  struct Mesh : MeshCost {
    const RandomCost &of;
    explicit Mesh(const RandomCost &of) : of(of) {}
    Evaluation enter(const Tactics &first, double) override { return {of.meshSeconds(first), 0, true}; }
    Evaluation evaluate(const Tactics &t) override { return of.evaluate(t); }
  };
  std::unique_ptr<MeshCost> open(const Tactics &) const override { return std::make_unique<Mesh>(*this); }
};

struct Instance {
  RandomCost cost;
  Space space;
};

Instance instance(std::mt19937_64 &random) {
  auto of = [&](std::initializer_list<int64_t> values) { return values.begin()[random() % values.size()]; };
  auto real = [&](double least, double most) {
    return least + (most - least) * double(random() >> 11) / double(1ull << 53);
  };
  Instance i;
  Problem &p = i.cost.problem;
  ModelShape &m = p.model;
  m.layers = of({1, 2, 3, 6, 8, 12}), m.heads = of({4, 8, 12}), m.kvHeads = of({1, 2, 4}), m.headDim = 64;
  m.hidden = m.heads * m.headDim, m.ffn = 4 * m.hidden, m.vocab = of({257, 32000}), m.gated = random() % 2;
  if (random() % 4 == 0)
    m.experts = {of({4, 8}), 2, m.hidden, 0, 0};
  p.work = {of({64, 96, 256}), of({4, 6, 8, 16, 24}), true};
  p.devices = of({1, 2, 4, 6, 8, 12, 16});
  p.devicesPerHost = of({1, 2, 4});
  i.space = random() % 2 ? Space::whole(Precision::F16) : Space::executable(Precision::F32);
  RandomCost &c = i.cost;
  c.compute = real(0.5, 2), c.tensorCost = real(0, 0.4), c.dataCost = real(0, 0.3), c.again = real(0.1, 0.5);
  c.sharding = real(0, 0.05);
  for (size_t k = 0; k < pipeline::kSchedules; ++k)
    c.idle[ScheduleKind(k)] = real(0, 1);
  Tactics one;
  c.capacity = fullest(m, p.work, one, {}).memory.total() * real(0.05, 1.5);
  return i;
}

TEST(Search, EqualsExhaustiveEnumeration) {
  std::mt19937_64 random(20261201);
  int solved = 0, infeasible = 0, pruned = 0;
  for (int round = 0; round < 400; ++round) {
    Instance i = instance(random);
    const Problem &p = i.cost.problem;
    // Exhaustively: the first of least cost, and the first of least bytes.
    std::optional<Candidate> best, closest;
    int64_t all = 0;
    for (const Tactics &mesh : meshes(p, i.space))
      completions(p, i.space, mesh, [&](const Tactics &t) {
        EXPECT_EQ(illegal(p, t), "");
        Candidate c{t, i.cost.evaluate(t)};
        EXPECT_LE(i.cost.bound(mesh), c.evaluation.seconds);
        ++all;
        if (c.evaluation.fits && (!best || c.evaluation.seconds < best->evaluation.seconds))
          best = c;
        if (!closest || c.evaluation.bytes < closest->evaluation.bytes)
          closest = c;
        return true;
      });
    Answer a = search(p, i.space, i.cost);
    ASSERT_EQ(a.best.has_value(), best.has_value());
    if (!best) {
      ++infeasible;
      ASSERT_EQ(a.closest.has_value(), closest.has_value());
      if (closest) {
        EXPECT_EQ(a.closest->evaluation.bytes, closest->evaluation.bytes);
      }
      EXPECT_EQ(a.certificate.evaluated, all);
      continue;
    }
    ++solved;
    EXPECT_EQ(a.best->evaluation.seconds, best->evaluation.seconds);
    EXPECT_EQ(a.best->tactics.tensor, best->tactics.tensor);
    EXPECT_EQ(a.best->tactics.microBatch, best->tactics.microBatch);
    EXPECT_TRUE(a.certificate.complete);
    EXPECT_EQ(a.certificate.gap, 0);
    EXPECT_EQ(a.certificate.bound, best->evaluation.seconds);
    pruned += a.certificate.evaluated < all;
    double last = a.best->evaluation.seconds;
    for (const Candidate &o : a.others) {
      EXPECT_GE(o.evaluation.seconds, last);
      EXPECT_TRUE(o.evaluation.fits);
      last = o.evaluation.seconds;
    }
  }
  EXPECT_GE(solved, 300);
  EXPECT_GE(infeasible, 10);
  EXPECT_GE(pruned, 100);
}

// Out of budget: the answer is the same on every machine and the bound holds.
TEST(Search, ABudgetLeavesAGap) {
  std::mt19937_64 random(7);
  int open = 0;
  for (int round = 0; round < 100; ++round) {
    Instance i = instance(random);
    Answer whole = search(i.cost.problem, i.space, i.cost);
    Limits limits;
    limits.evaluations = 5;
    Answer cut = search(i.cost.problem, i.space, i.cost, limits);
    EXPECT_LE(cut.certificate.evaluated, 5);
    if (!whole.best || !cut.best)
      continue;
    EXPECT_LE(cut.certificate.bound, whole.best->evaluation.seconds);
    EXPECT_GE(cut.best->evaluation.seconds, whole.best->evaluation.seconds);
    open += cut.certificate.gap > 0;
  }
  EXPECT_GT(open, 10);
}

TEST(Search, RequirementsAreKept) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    Instance i = instance(random);
    Limits limits;
    limits.allowed = [](const Tactics &t, Decided d) {
      return d != Decided::All || (t.tensor <= 2 && t.recompute == Recompute::None);
    };
    Answer a = search(i.cost.problem, i.space, i.cost, limits);
    if (a.best) {
      EXPECT_LE(a.best->tactics.tensor, 2);
      EXPECT_EQ(a.best->tactics.recompute, Recompute::None);
    }
  }
}

TEST(Space, ReasonsNameTheLegalValues) {
  Problem p;
  p.model.layers = 30, p.model.heads = 52, p.model.kvHeads = 52;
  p.work = {2048, 96, true};
  p.devices = 64;
  auto why = [&](auto edit) {
    Tactics t;
    edit(t);
    return illegal(p, t);
  };
  EXPECT_EQ(why([](Tactics &t) { t.tensor = 8; }),
            "52 heads are not divisible by tensor=8; nearest legal: 4 or 13");
  EXPECT_EQ(why([](Tactics &t) { t.pipeline = 32; }),
            "30 layers are fewer than 32 stages; at most pipeline=30");
  EXPECT_EQ(why([](Tactics &t) { t.data = 64; }),
            "96 sequences of the batch are not divisible by data=64; nearest legal: 48 or 96");
  EXPECT_EQ(why([](Tactics &t) { t.microBatch = 5; }),
            "96 sequences of a replica are not divisible by micro_batch=5; nearest legal: 4 or 6");
  EXPECT_EQ(why([](Tactics &t) { t.context = 3; }),
            "2048 tokens of a sequence are not divisible by context=3; nearest legal: 2 or 4");
  EXPECT_EQ(why([](Tactics &t) { t.expert = 2; }), "the model has no experts");
  EXPECT_EQ(why([](Tactics &t) { t.sequenceParallel = true; }),
            "sequence parallelism shards over tensor, which is 1");
  EXPECT_EQ(why([](Tactics &t) {
              t.pipeline = 4, t.schedule = ScheduleKind::Interleaved, t.chunks = 2, t.microBatch = 16;
            }),
            "interleaved-1f1b needs micro-batches in multiples of its 4 stages, not 6");
  EXPECT_EQ(why([](Tactics &t) { t.pipeline = 16, t.data = 8; }), "the mesh has 128 devices; there are 64");
  EXPECT_EQ(why([](Tactics &) {}), "");
}

} // namespace
