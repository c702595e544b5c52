//===- theory_test.cpp - Closed forms are what the simulation gives ---------===//

#include "compiler/pipeline/theory.h"

#include <gtest/gtest.h>

#include <random>

using namespace hocket::pipeline;

namespace {

/// Equal virtual stages of a device that takes `device` over all its chunks.
std::vector<StageTime> equalStages(const Shape &s, const StageTime &device) {
  double v = double(s.chunks);
  return std::vector<StageTime>(size_t(s.devices * s.chunks),
                                StageTime{device.forward / v, device.input / v, device.weight / v});
}

std::vector<Shape> steadyShapes(Schedule schedule) {
  std::vector<Shape> all;
  for (int64_t p : {2, 4, 6, 8, 16, 32})
    for (int64_t v : {1, 2, 3, 5})
      for (int64_t m : {2 * p, 3 * p, 8 * p})
        if (Shape s{schedule, p, v, m}; illegal(s).empty() && (schedule != Schedule::VHalf || p >= 4))
          all.push_back(s);
  return all;
}

// Numbers in halves, thirds and fifths of what they stand for stay exact in f64 up to rounding.
void expectClosedForm(const Shape &s, const StageTime &t) {
  std::vector<StageTime> stages = equalStages(s, t);
  auto got = simulate(s, tables(s), stages);
  ASSERT_TRUE(got);
  double work = double(s.micro) * (t.forward + t.backward()), want = work + idleSeconds(s, t);
  double have = idleIsOfPeriod(s.schedule) ? got->span : got->makespan;
  EXPECT_NEAR(have, want, 1e-9 * want)
      << name(s.schedule) << " p=" << s.devices << " v=" << s.chunks << " m=" << s.micro << " F=" << t.forward
      << " I=" << t.input << " W=" << t.weight;
}

TEST(Theory, ClosedFormsOfFusedSchedules) {
  for (Schedule k : {Schedule::GPipe, Schedule::OneFOneB, Schedule::Interleaved})
    for (const Shape &s : steadyShapes(k))
      for (StageTime t : {StageTime{1, 1, 1}, {3, 4, 2}, {30, 31, 30}})
        expectClosedForm(s, t);
}

// A flush of fewer micro-batches than stages: (m + p - 1)(F + B).
TEST(Theory, FewMicroBatches) {
  for (Schedule k : {Schedule::GPipe, Schedule::OneFOneB})
    for (int64_t p : {2, 4, 8})
      for (int64_t m : {int64_t(1), p / 2, p - 1})
        expectClosedForm({k, p, 1, m}, {3, 4, 2});
}

TEST(Theory, ClosedFormsOfZeroBubble) {
  for (Schedule k : {Schedule::ZbH1, Schedule::ZbH2})
    for (const Shape &s : steadyShapes(k))
      for (StageTime t : {StageTime{1, 1, 1}, {10, 12, 8}, {10, 11, 10}, {12, 14, 6}})
        expectClosedForm(s, t);
}

TEST(Theory, ClosedFormsOfVShapes) {
  for (const Shape &s : steadyShapes(Schedule::ZbV))
    for (StageTime t : {StageTime{2, 2, 2}, {20, 24, 16}, {22, 24, 16}, {20, 20, 20}, {20, 26, 16}})
      expectClosedForm(s, t);
  for (const Shape &s : steadyShapes(Schedule::VHalf))
    for (StageTime t : {StageTime{2, 2, 2}, {20, 24, 16}, {22, 24, 16}, {20, 24, 18}})
      expectClosedForm(s, t);
  for (const Shape &s : steadyShapes(Schedule::DualPipeV))
    for (StageTime t : {StageTime{2, 2, 2}, {20, 20, 20}, {24, 24, 16}})
      expectClosedForm(s, t);
}

// Any number of micro-batches and devices, also fewer than a schedule's steady state needs.
TEST(Theory, IdleOfEqualPasses) {
  for (size_t k = 0; k < kSchedules; ++k)
    for (int64_t p = 1; p <= 11; ++p)
      for (int64_t m = 1; m <= 3 * p + 2; ++m)
        for (int64_t chunks : {1, 2, 3}) {
          Shape s{Schedule(k), p, chunks, m};
          if (!illegal(s).empty())
            continue;
          double pass = 1 / double(chunks);
          std::vector<StageTime> stages(size_t(p * chunks), StageTime{pass, pass, pass});
          std::optional<Outcome> o = simulate(s, tables(s), stages);
          ASSERT_TRUE(o);
          double all = idleIsOfPeriod(s.schedule) ? o->span : o->makespan;
          EXPECT_NEAR(all, 3 * (double(m) + idleMicros(s)), 1e-9)
              << name(s.schedule) << " p " << p << " m " << m << " chunks " << chunks;
        }
}

TEST(Theory, PeaksOfActivations) {
  for (size_t k = 0; k < kSchedules; ++k)
    for (const Shape &s : steadyShapes(Schedule(k))) {
      std::vector<double> bytes(size_t(s.devices * s.chunks), 1.0 / double(s.chunks));
      std::vector<double> peaks = peakActivations(s, tables(s), bytes);
      // Of the schedules whose devices all hold as much, the fullest counts.
      bool each = s.schedule <= Schedule::Interleaved;
      double fullest = *std::max_element(peaks.begin(), peaks.end());
      for (int64_t d = 0; d < s.devices; ++d)
        EXPECT_NEAR(each ? peaks[size_t(d)] : fullest, peakMicros(s, d), 1e-9)
            << name(s.schedule) << " p=" << s.devices << " v=" << s.chunks << " m=" << s.micro << " device "
            << d;
    }
}

// A schedule's idle time shrinks in the order in which it was invented.
TEST(Theory, OrderOfSchedules) {
  StageTime t{10, 12, 8};
  auto idle = [&](Schedule k, int64_t v) { return idleSeconds({k, 8, v, 64}, t); };
  EXPECT_GT(idle(Schedule::OneFOneB, 1), idle(Schedule::Interleaved, 2));
  EXPECT_GT(idle(Schedule::OneFOneB, 1), idle(Schedule::ZbH1, 1));
  EXPECT_GT(idle(Schedule::ZbH1, 1), idle(Schedule::ZbH2, 1));
  EXPECT_GT(idle(Schedule::OneFOneB, 1), idle(Schedule::VHalf, 2));
  EXPECT_GT(idle(Schedule::VHalf, 2), idle(Schedule::ZbV, 2));
}

TEST(Theory, BoundsAreNeverAboveTheSimulation) {
  std::mt19937_64 random(20261201);
  auto real = [&](double least, double most) {
    return least + (most - least) * double(random() >> 11) / double(1ull << 53);
  };
  int instances = 0;
  double tightest = 0;
  while (instances < 3000) {
    Shape s{Schedule(random() % kSchedules), int64_t(1 + random() % 12), int64_t(1 + random() % 4),
            int64_t(1 + random() % 40)};
    if (isV(s.schedule))
      s.chunks = 2;
    if (s.schedule == Schedule::Interleaved)
      s.micro = s.devices * int64_t(1 + random() % 5);
    if (!illegal(s).empty())
      continue;
    std::vector<StageTime> stages;
    bool free = random() % 2;
    for (int64_t k = 0; k < s.devices * s.chunks; ++k)
      stages.push_back(
          {real(0.1, 2), real(0.1, 2), real(0.1, 2), free ? 0 : real(0, 0.5), free ? 0 : real(0, 0.5)});
    double pair = s.schedule == Schedule::DualPipeV ? real(0.7, 1) : 1;
    auto got = simulate(s, tables(s), stages, pair);
    ASSERT_TRUE(got);
    double bound = lowerBound(s, stages, pair);
    ASSERT_LE(bound, got->makespan * (1 + 1e-12))
        << name(s.schedule) << " p=" << s.devices << " v=" << s.chunks << " m=" << s.micro;
    tightest = std::max(tightest, bound / got->makespan);
    ++instances;
  }
  EXPECT_GT(tightest, 0.999); // some are met, so the bound is not idle
}

} // namespace
