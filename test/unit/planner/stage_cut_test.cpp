//===- stage_cut_test.cpp - Cuts against all cuts ---------------------------===//

#include "compiler/planner/stage_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace hocket::planner;

namespace {

struct Instance {
  std::vector<double> seconds, bytes; // of layers
  std::vector<double> extra, room;    // of stages
  double time(int64_t i, int64_t from, int64_t to) const {
    double sum = extra[size_t(i)];
    for (int64_t l = from; l < to; ++l)
      sum += seconds[size_t(l)];
    return sum;
  }
  bool fits(int64_t i, int64_t from, int64_t to) const {
    double sum = 0;
    for (int64_t l = from; l < to; ++l)
      sum += bytes[size_t(l)];
    return sum <= room[size_t(i)];
  }
};

/// The least slowest stage over every cut.
double exhaustive(const Instance &in, size_t stage, int64_t from) {
  int64_t layers = int64_t(in.seconds.size()), stages = int64_t(in.extra.size());
  if (int64_t(stage) == stages)
    return from == layers ? 0 : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (int64_t to = from + 1; to <= layers; ++to)
    if (in.fits(int64_t(stage), from, to))
      best = std::min(best, std::max(in.time(int64_t(stage), from, to), exhaustive(in, stage + 1, to)));
  return best;
}

TEST(StageCut, EqualsAllCuts) {
  std::mt19937_64 random(3);
  int found = 0, none = 0;
  for (int round = 0; round < 500; ++round) {
    Instance in;
    size_t layers = 1 + random() % 9, stages = 1 + random() % 5;
    for (size_t l = 0; l < layers; ++l)
      in.seconds.push_back(double(1 + random() % 5)), in.bytes.push_back(double(1 + random() % 5));
    for (size_t i = 0; i < stages; ++i)
      in.extra.push_back(double(random() % 4)), in.room.push_back(double(2 + random() % 15));
    double want = exhaustive(in, 0, 0);
    auto cut = cutStages(
        int64_t(layers), int64_t(stages), [&](auto... a) { return in.time(a...); },
        [&](auto... a) { return in.fits(a...); });
    ASSERT_EQ(cut.has_value(), want != std::numeric_limits<double>::infinity());
    if (!cut) {
      ++none;
      continue;
    }
    ++found;
    EXPECT_EQ(cut->slowest, want);
    double slowest = 0;
    int64_t from = 0;
    for (size_t i = 0; i < stages; ++i) {
      int64_t to = from + cut->layers[i];
      EXPECT_GE(cut->layers[i], 1);
      EXPECT_TRUE(in.fits(int64_t(i), from, to));
      slowest = std::max(slowest, in.time(int64_t(i), from, to));
      from = to;
    }
    EXPECT_EQ(from, int64_t(layers));
    EXPECT_EQ(slowest, want);
  }
  EXPECT_GT(found, 100);
  EXPECT_GT(none, 50);
}

// 126 equal layers over 16 stages: 14 of 8, 2 of 7, the first stages more.
TEST(StageCut, EqualLayersAreEven) {
  auto cut = cutStages(
      126, 16, [](int64_t, int64_t from, int64_t to) { return double(to - from); },
      [](int64_t, int64_t, int64_t) { return true; });
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->slowest, 8);
  EXPECT_TRUE(std::is_sorted(cut->layers.rbegin(), cut->layers.rend()));
}

// A head as heavy as three layers: the last stage gets three fewer.
TEST(StageCut, TheHeadCounts) {
  auto cut = cutStages(
      29, 4, [](int64_t i, int64_t from, int64_t to) { return double(to - from) + (i == 3 ? 3 : 0); },
      [](int64_t, int64_t, int64_t) { return true; });
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->layers, (std::vector<int64_t>{8, 8, 8, 5}));
}

} // namespace
