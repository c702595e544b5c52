//===- collective_test.cpp - Seconds of collectives and their lower bound ---===//
#include "compiler/cost/collective.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace hocket::cost;

namespace {

constexpr Collective kAll[] = {Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter,
                               Collective::AllToAll,  Collective::Broadcast, Collective::SendReceive};

/// All bandwidth, no latency: what remains is the formula's bytes.
FabricConstants ideal() {
  FabricConstants c;
  c.startup = 0;
  c.hop = 0;
  c.inner = 1;
  c.outer = 1;
  c.ramp = 0;
  c.low = 0.1;
  return c;
}

Group hosts(double inside, double islands, double rate = 100e9, double nic = 10e9) {
  Group group;
  group.levels = 2;
  group.level[0] = {inside, rate, 1, 1, false};
  group.level[1] = {islands, nic, 1, 1, false};
  return group;
}

/// Steps inside an island cost time that no constant takes away: Simple's, 3.4 us.
constexpr double kStep = 3.4e-6;

TEST(Collective, RingBytes) {
  double bytes = 1e12;
  for (double n : {2., 3., 8., 72.}) {
    EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, bytes, hosts(n, 1), ideal(), kRing),
                2 * (n - 1) / n * bytes / 100e9 + 2 * (n - 1) * kStep, 1e-9);
    EXPECT_NEAR(collectiveSeconds(Collective::AllGather, bytes, hosts(n, 1), ideal(), kRing),
                (n - 1) / n * bytes / 100e9 + (n - 1) * kStep, 1e-9);
  }
  // Two hosts of 8: all 16 members in one ring, at the rate of a host's 8 NICs of 10 GB/s.
  EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, bytes, hosts(8, 2), ideal(), kRing),
              2. * 15 / 16 * bytes / 80e9 + 28 * kStep, 1e-9);
}

TEST(Collective, SwitchThatSums) {
  Group group = hosts(8, 1);
  group.level[0].reduces = true;
  double bytes = 1e12;
  // 2 x 7/8 M at 1.27 of the ring's rate.
  EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, bytes, group, ideal()),
              bytes * 1.75 / 127e9 + 2 * kStep, 1e-9);
}

TEST(Collective, HierarchicalBeatsTheFlatRing) {
  double bytes = 1e12;
  Group group = hosts(8, 4, 200e9);
  double ring = collectiveSeconds(Collective::AllGather, bytes, group, ideal(), kRing);
  double rails = collectiveSeconds(Collective::AllGather, bytes, group, ideal(), kRing | kHierarchical);
  EXPECT_NEAR(rails / ring, (3. / 4) / (31. / 32), 1e-3);
}

TEST(Collective, AllToAllByOnesOwnNic) {
  // 8 of 16 destinations are away: half of the bytes by one NIC of 10 GB/s; twice as long at 2:1.
  Group group = hosts(8, 2);
  EXPECT_NEAR(collectiveSeconds(Collective::AllToAll, 1e12, group, ideal()), 50 + kStep, 1e-6);
  group.level[1].thinning = 2;
  EXPECT_NEAR(collectiveSeconds(Collective::AllToAll, 1e12, group, ideal()), 100 + kStep, 1e-6);
  group.level[1].sharers = 4;
  EXPECT_NEAR(collectiveSeconds(Collective::AllToAll, 1e12, group, ideal()), 400 + kStep, 1e-6);
}

TEST(Collective, LatencyTerms) {
  FabricConstants c;
  c.startup = 5e-6;
  c.hop = 10e-6;
  // LL: a ring of 8 takes 14 steps of 0.6 us inside a host.
  EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, 0, hosts(8, 1), c), 5e-6 + 14 * 0.6e-6, 1e-12);
  // 8 hosts of one member: the tree has 2 x log2(8) steps, the ring 14.
  EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, 0, hosts(1, 8), c), 5e-6 + 6 * 10e-6, 1e-12);
  EXPECT_NEAR(collectiveSeconds(Collective::AllReduce, 0, hosts(1, 8), c, kRing), 5e-6 + 14 * 10e-6, 1e-12);
  EXPECT_NEAR(collectiveSeconds(Collective::SendReceive, 0, hosts(1, 2), c), 5e-6 + 10e-6, 1e-12);
}

TEST(Collective, GroupOfOneIsFree) {
  for (Collective op : kAll) {
    EXPECT_EQ(collectiveSeconds(op, 1e9, hosts(1, 1), {}), 0);
    EXPECT_EQ(collectiveSeconds(op, 1e9, Group{}, {}), 0);
    EXPECT_EQ(cutBound(op, 1e9, hosts(1, 1)), 0);
  }
}

TEST(Collective, CutBounds) {
  // Two hosts of 8 at 450 and 50 GB/s: the cut is one device with both its links, 15/8 M / 500 GB/s;
  // the cut of a host, 1 M / 400 GB/s, is wider.
  EXPECT_NEAR(cutBound(Collective::AllReduce, 1e12, hosts(8, 2, 450e9, 50e9)), 1.875e12 / 500e9, 1e-9);
  // Slow NICs: the cut of a host.
  EXPECT_NEAR(cutBound(Collective::AllReduce, 1e12, hosts(8, 2, 100e9, 1e9)), 1e12 / 8e9, 1e-9);
  EXPECT_NEAR(cutBound(Collective::AllToAll, 1e12, hosts(8, 2)), 8e12 * 0.5 / 80e9, 1e-9);
  Group group = hosts(8, 1);
  group.level[0].reduces = true;
  EXPECT_NEAR(cutBound(Collective::AllReduce, 1e12, group), 10, 1e-9);
  EXPECT_NEAR(cutBound(Collective::AllReduce, 1e12, group, false), 17.5, 1e-9);
}

TEST(Collective, GroupOnFabric) {
  std::vector<FabricLevel> fabric(2);
  fabric[0].rate = 100e9;
  fabric[0].reduces = true;
  fabric[1].rate = 10e9;
  fabric[1].oversubscription = 2;
  std::vector<int64_t> counts = {4, 2}, sharers = {2, 4};
  Group group = groupOn(fabric, counts, sharers);
  EXPECT_EQ(group.levels, 2);
  EXPECT_EQ(group.members(), 8);
  EXPECT_EQ(group.level[0].sharers, 2);
  EXPECT_TRUE(group.level[0].reduces);
  EXPECT_EQ(group.level[1].thinning, 2);
  EXPECT_EQ(group.level[1].rate, 10e9);
}

TEST(Collective, WithoutLinksForEver) {
  for (Collective op : kAll)
    for (uint32_t algorithms : {uint32_t(kRing), uint32_t(kNccl), uint32_t(kNvls), 0u})
      EXPECT_EQ(collectiveSeconds(op, 1e6, hosts(8, 2, 0, 0), {}, algorithms), INFINITY);
}

TEST(Collective, DeepFabricsKeepTheirMembers) {
  std::vector<FabricLevel> fabric(8);
  std::vector<int64_t> counts(8, 2);
  for (int i = 0; i < 8; ++i)
    fabric[i].rate = 100e9 / (i + 1);
  Group group = groupOn(fabric, counts);
  EXPECT_EQ(group.members(), 256);
  EXPECT_EQ(group.level[kMaxLevels - 1].rate, 100e9 / 8);
}

/// 3,000 fabrics of one to five levels, with any constants in range.
TEST(Collective, NeverBelowTheCutAndMonotone) {
  std::mt19937_64 random(20240607);
  auto uniform = [&](double from, double to) {
    return from + (to - from) * (double(random() >> 11) / double(uint64_t(1) << 53));
  };
  for (int i = 0; i < 3000; ++i) {
    Group group;
    group.levels = 1 + int(random() % 5);
    for (int level = 0; level < group.levels; ++level)
      group.level[level] = {double(1 + random() % 9), std::exp(uniform(std::log(1e9), std::log(1e12))),
                            double(1 + random() % 4), uniform(1, 4), random() % 3 == 0};
    FabricConstants c;
    c.startup = uniform(0, 1e-4);
    c.hop = uniform(0, 1e-4);
    c.inner = uniform(0.2, 1);
    c.outer = uniform(0.2, 1);
    c.ramp = uniform(0, 1e-4);
    c.low = uniform(0.01, 0.5);
    uint32_t algorithms = 1 + uint32_t(random() % 63);
    for (Collective op : kAll) {
      double before = 0;
      for (double bytes = 1; bytes < 1e11; bytes *= 7.3) {
        double seconds = collectiveSeconds(op, bytes, group, c, algorithms);
        ASSERT_TRUE(std::isfinite(seconds));
        ASSERT_GE(seconds, cutBound(op, bytes, group)) << i;
        ASSERT_GE(seconds, before) << i;
        before = seconds;
      }
    }
  }
}

} // namespace
