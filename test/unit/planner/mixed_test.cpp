//===- mixed_test.cpp - Pipelines over unlike devices -----------------------===//

#include "compiler/planner/mixed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace hocket;
using namespace hocket::cost;
using namespace hocket::planner;

namespace {

struct Random {
  std::mt19937_64 engine;
  int64_t of(std::initializer_list<int64_t> values) { return values.begin()[engine() % values.size()]; }
  double real(double least, double most) {
    return least + (most - least) * double(engine() >> 11) / double(1ull << 53);
  }
};

MixedProblem instance(Random &r, MixedSpace &space) {
  MixedProblem p;
  ModelShape &m = p.model;
  m.layers = r.of({1, 3, 4, 5, 6, 7}), m.heads = r.of({2, 4}), m.kvHeads = r.of({1, 2}), m.headDim = 64;
  m.hidden = m.heads * m.headDim, m.ffn = 4 * m.hidden, m.vocab = r.of({257, 8000});
  p.work = {r.of({64, 128}), r.of({1, 2, 4, 6}), true};
  size_t pools = size_t(r.of({1, 2, 2, 3}));
  for (size_t i = 0; i < pools; ++i) {
    MixedPool pool;
    Machine &machine = pool.machine;
    machine.devices = pools == 3 ? r.of({1, 2}) : r.of({1, 2, 3, 4});
    machine.devicesPerHost = r.of({1, 2, 4});
    machine.levels = {{"host", FabricKind::Pcie, machine.devicesPerHost, r.real(5e9, 50e9), 0, 1, false},
                      {"net", FabricKind::Switch, 8, r.real(1e9, 20e9), 0, r.real(1, 2), false}};
    machine.device.peak.fill(r.real(1e12, 100e12));
    machine.device.memoryRate = r.real(100e9, 2e12);
    pool.constants.stack.launch = r.real(1e-8, 1e-6), pool.constants.stack.step = 1e-5;
    pool.constants.stack.micro = r.real(0, 1e-5), pool.constants.cluster.site = r.real(0.9, 1.2);
    pool.memory.reserve = 1e5;
    Tactics all;
    machine.device.memory = fullest(m, p.work, all, pool.memory).memory.total() * r.real(0.15, 1.3);
    p.pools.push_back(std::move(pool));
  }
  p.between = r.engine() % 2 ? 0 : r.real(1e8, 1e10);
  if (r.engine() % 2)
    space.recompute = {r.engine() % 2 ? Recompute::None : Recompute::Full};
  if (r.engine() % 2)
    space.zero = {Zero::None};
  return p;
}

/// Every choice of every pool, every order, every cut.
struct Exhaustive {
  const MixedProblem &p;
  const MixedSpace &space;
  double best = std::numeric_limits<double>::infinity();
  int64_t priced = 0;

  void cuts(MixedPlan &plan, size_t segment, size_t stage, int64_t left) {
    if (segment == plan.segments.size()) {
      if (left)
        return;
      MixedPlan copy = plan;
      ++priced;
      if (std::optional<double> seconds = priceMixed(p, copy))
        best = std::min(best, *seconds);
      return;
    }
    std::vector<int64_t> &layers = plan.segments[segment].layers;
    if (stage == layers.size())
      return cuts(plan, segment + 1, 0, left);
    for (int64_t n = 1; n <= left; ++n) {
      layers[stage] = n;
      cuts(plan, segment, stage + 1, left - n);
    }
  }
  void run() {
    for (int64_t wave = 1; wave <= p.work.globalBatch; ++wave) {
      if (p.work.globalBatch % wave)
        continue;
      std::vector<size_t> order(p.pools.size());
      std::iota(order.begin(), order.end(), size_t(0));
      do
        for (size_t used = 1; used <= order.size(); ++used) {
          // Orders that differ in idle pools only are tried once.
          if (!std::is_sorted(order.begin() + std::ptrdiff_t(used), order.end()))
            continue;
          MixedPlan plan;
          choose(plan, order, used, wave);
        }
      while (std::next_permutation(order.begin(), order.end()));
    }
  }
  void choose(MixedPlan &plan, const std::vector<size_t> &order, size_t used, int64_t wave) {
    size_t at = plan.segments.size();
    if (at == used)
      return cuts(plan, 0, 0, p.model.layers);
    const Machine &machine = p.pools[order[at]].machine;
    int64_t n = machine.devices;
    for (int64_t t = 1; t <= std::min(n, machine.devicesPerHost); ++t)
      for (int64_t stages = 1; stages * t <= n; ++stages) {
        if (n % (t * stages) || p.model.heads % t || (p.model.kvHeads % t && t % p.model.kvHeads))
          continue;
        int64_t d = n / t / stages;
        if (wave % d)
          continue;
        for (Recompute recompute : space.recompute)
          for (Zero zero : space.zero) {
            Tactics x;
            x.tensor = t, x.pipeline = stages, x.data = d, x.sequenceParallel = t > 1,
            x.microBatch = wave / d;
            x.recompute = recompute, x.zero = zero;
            plan.segments.push_back({order[at], x, std::vector<int64_t>(size_t(stages), 1), 0});
            choose(plan, order, used, wave);
            plan.segments.pop_back();
          }
      }
  }
};

TEST(Mixed, EqualsExhaustiveEnumeration) {
  Random r{std::mt19937_64(20261202)};
  int solved = 0, infeasible = 0, several = 0;
  for (int round = 0; round < 500; ++round) {
    MixedSpace space;
    MixedProblem p = instance(r, space);
    Exhaustive all{p, space};
    all.run();
    MixedAnswer a = searchMixed(p, space);
    ASSERT_EQ(a.best.has_value(), all.priced > 0 && all.best < 1e300) << "round " << round;
    if (!a.best) {
      ++infeasible;
      continue;
    }
    ++solved;
    several += a.best->segments.size() > 1;
    EXPECT_NEAR(a.best->seconds, all.best, 1e-11 * all.best) << "round " << round;
    MixedPlan again = *a.best;
    EXPECT_EQ(priceMixed(p, again), a.best->seconds);
    int64_t sum = 0;
    for (const Segment &s : a.best->segments)
      for (int64_t n : s.layers)
        sum += n;
    EXPECT_EQ(sum, p.model.layers);
  }
  EXPECT_GE(solved, 300);
  EXPECT_GE(infeasible, 10);
  EXPECT_GE(several, 50);
}

} // namespace
