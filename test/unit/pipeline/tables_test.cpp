//===- tables_test.cpp - Order tables are complete and can run --------------===//

#include "compiler/pipeline/simulate.h"

#include <gtest/gtest.h>

#include <map>

using namespace hocket::pipeline;

namespace {

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (size_t k = 0; k < kSchedules; ++k)
    for (int64_t devices : {1, 2, 3, 4, 5, 8, 13, 16})
      for (int64_t chunks : {1, 2, 3, 4})
        for (int64_t micro : {1, 2, 3, 4, 7, 8, 16, 33, 64})
          if (Shape shape{Schedule(k), devices, chunks, micro}; illegal(shape).empty())
            all.push_back(shape);
  return all;
}

std::string text(const Shape &s) {
  return std::string(name(s.schedule)) + " " + std::to_string(s.devices) + " devices " +
         std::to_string(s.chunks) + " chunks " + std::to_string(s.micro) + " micro-batches";
}

TEST(Tables, EveryPassOnceAndInMicroBatchOrder) {
  for (const Shape &s : shapes()) {
    Tables all = tables(s);
    ASSERT_EQ(int64_t(all.size()), s.devices) << text(s);
    for (const std::vector<Pass> &list : all) {
      // Micro-batches seen so far by (what, chunk); each must come as the next one.
      std::map<std::pair<char, int32_t>, int32_t> seen;
      auto next = [&](char what, int32_t chunk, int32_t micro) {
        int32_t &count = seen[{what, chunk}];
        EXPECT_EQ(micro, count) << text(s) << " " << what << " of chunk " << chunk;
        ++count;
      };
      for (const Pass &p : list) {
        if (p.kind == PassKind::Forward || p.kind == PassKind::Pair)
          next('F', p.chunk, p.micro);
        if (p.kind == PassKind::Backward || p.kind == PassKind::Input)
          next('I', p.chunk, p.micro);
        if (p.kind == PassKind::Pair)
          next('I', p.backChunk, p.backMicro);
        if (p.kind == PassKind::Backward || p.kind == PassKind::Weight)
          next('W', p.chunk, p.micro);
        if (p.kind == PassKind::Pair)
          next('W', p.backChunk, p.backMicro);
      }
      for (char what : {'F', 'I', 'W'})
        for (int32_t c = 0; c < s.chunks; ++c)
          EXPECT_EQ((seen[{what, c}]), s.micro) << text(s);
    }
  }
}

TEST(Tables, NoneWaitsInACircle) {
  for (const Shape &s : shapes()) {
    std::vector<StageTime> stages(size_t(s.devices * s.chunks), StageTime{1, 1, 1, 0.25, 0.25});
    EXPECT_TRUE(simulate(s, tables(s), stages)) << text(s);
  }
}

// 2 devices, 3 micro-batches, by hand.
TEST(Tables, OneFOneBByHand) {
  using enum PassKind;
  Tables want = {{{Forward, 0, 0},
                  {Forward, 0, 1},
                  {Backward, 0, 0},
                  {Forward, 0, 2},
                  {Backward, 0, 1},
                  {Backward, 0, 2}},
                 {{Forward, 0, 0},
                  {Backward, 0, 0},
                  {Forward, 0, 1},
                  {Backward, 0, 1},
                  {Forward, 0, 2},
                  {Backward, 0, 2}}};
  EXPECT_EQ(tables({Schedule::OneFOneB, 2, 1, 3}), want);
}

TEST(Tables, ACircleIsSeen) {
  // Device 0 wants the gradient of micro-batch 0 before it has sent its activations.
  using enum PassKind;
  Shape s{Schedule::OneFOneB, 2, 1, 1};
  Tables circle = {{{Backward, 0, 0}, {Forward, 0, 0}}, {{Forward, 0, 0}, {Backward, 0, 0}}};
  std::vector<StageTime> stages(2, StageTime{1, 1, 1});
  EXPECT_FALSE(simulate(s, circle, stages));
}

TEST(Tables, IllegalShapesSayWhatIsLegal) {
  EXPECT_EQ(illegal({Schedule::Interleaved, 4, 2, 6}),
            "interleaved-1f1b needs micro-batches in multiples of its 4 stages, not 6");
  EXPECT_EQ(illegal({Schedule::Interleaved, 4, 1, 8}), "interleaved-1f1b needs 2 chunks or more");
  EXPECT_EQ(illegal({Schedule::ZbV, 4, 3, 8}), "zb-v needs 2 chunks, not 3");
  EXPECT_EQ(illegal({Schedule::OneFOneB, 4, 2, 8}), "1f1b needs 1 chunk, not 2");
  EXPECT_EQ(illegal({Schedule::GPipe, 4, 1, 0}), "gpipe needs at least one device, chunk and micro-batch");
}

TEST(Tables, NamesRoundTrip) {
  for (size_t k = 0; k < kSchedules; ++k)
    EXPECT_EQ(scheduleOf(name(Schedule(k))), Schedule(k));
  EXPECT_FALSE(scheduleOf("1F1B"));
}

} // namespace
