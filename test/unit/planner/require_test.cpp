//===- require_test.cpp - The language of requirements ----------------------===//

#include "compiler/planner/require.h"

#include <gtest/gtest.h>

#include <random>

using namespace hocket;
using namespace hocket::planner;

namespace {

struct Parsed {
  std::optional<Requirement> requirement;
  std::string messages;
};

Parsed parse(const std::string &text) {
  Diagnostics diags;
  int32_t source = diags.addSource("--require", text);
  Parsed p;
  p.requirement = parseRequirement(text, diags.at(source, 0, text.size()), diags);
  p.messages = diags.str(MessageFormat::Short);
  return p;
}

bool holds(const std::string &text, const cost::Tactics &t) {
  Parsed p = parse(text);
  EXPECT_TRUE(p.requirement) << text << ": " << p.messages;
  return p.requirement && p.requirement->holds(t);
}

TEST(Require, Holds) {
  cost::Tactics t;
  t.pipeline = 4, t.tensor = 8, t.data = 2;
  EXPECT_TRUE(holds("tensor <= 8", t));
  EXPECT_FALSE(holds("tensor < 8", t));
  EXPECT_TRUE(holds("tensor >= 8", t));
  EXPECT_FALSE(holds("tensor>8", t));
  EXPECT_TRUE(holds("pipeline in {1,2,4}", t));
  EXPECT_FALSE(holds("pipeline in { 1 , 2 }", t));
  EXPECT_TRUE(holds("  devices = 64 ", t));
  EXPECT_TRUE(holds("recompute = none", t));
  EXPECT_TRUE(holds("schedule != gpipe", t));
  EXPECT_TRUE(holds("schedule in {1f1b, interleaved-1f1b}", t));
  EXPECT_TRUE(holds("offload = none", t));
  t.offloadOptimizer = true;
  EXPECT_TRUE(holds("offload = optimizer", t));
  t.offloadActivations = 0.5;
  EXPECT_TRUE(holds("offload = both", t));
}

TEST(Require, MessagesPointAndSayWhatIsLegal) {
  EXPECT_EQ(parse("tenser <= 8").messages.find("--require:1:1: error: no dimension is called 'tenser'"), 0u);
  EXPECT_NE(parse("tenser <= 8").messages.find("did you mean 'tensor'?"), std::string::npos);
  EXPECT_EQ(parse("tensor <= eight").messages,
            "--require:1:11: error: 'tensor' is a number; 'eight' is not\n");
  EXPECT_EQ(parse("tensor <= -1").messages, "--require:1:11: error: 'tensor' is a number; '-1' is not\n");
  EXPECT_EQ(parse("tensor <=").messages, "--require:1:10: error: 'tensor' is a number; '' is not\n");
  EXPECT_EQ(parse("tensor 8").messages,
            "--require:1:8: error: after 'tensor' comes one of = != < <= > >= in\n");
  EXPECT_EQ(parse("recompute = al").messages,
            "--require:1:13: error: 'recompute' has no value 'al'; legal: none, selective, layers, full\n");
  EXPECT_EQ(parse("recompute < full").messages,
            "--require:1:11: error: 'recompute' has names for values: only =, != and in compare them\n");
  EXPECT_EQ(parse("pipeline in 1,2").messages,
            "--require:1:10: error: 'in' is followed by a set: {1, 2, 4}\n");
  EXPECT_EQ(parse("pipeline in {1,2").messages, "--require:1:17: error: a set ends with '}'\n");
  EXPECT_EQ(parse("tensor <= 8 and data = 2").messages,
            "--require:1:13: error: a requirement ends here; one string each\n");
  EXPECT_EQ(parse("").messages, "--require:1:1: error: a requirement begins with a name: \"tensor <= 8\"\n");
  EXPECT_EQ(parse("tensor <= 99999999999999999999").messages,
            "--require:1:11: error: 'tensor' is a number; '99999999999999999999' is not\n");
}

TEST(Require, WhatIsNotExecutedIsNamed) {
  cost::Tactics t;
  t.precision = cost::Precision::F32;
  EXPECT_EQ(notExecuted(t), "");
  t.context = 2, t.recompute = cost::Recompute::Full, t.contextKind = cost::ContextKind::Ulysses;
  EXPECT_EQ(notExecuted(t), "context = 2, context_kind = ulysses, recompute = full");
  t = {};
  t.pipeline = 2, t.schedule = cost::ScheduleKind::ZbV, t.chunks = 2;
  EXPECT_EQ(notExecuted(t), "schedule = zb-v, chunks = 2, precision = bf16");
}

// The names of schedules in the table are those of the schedules.
TEST(Require, ScheduleNames) {
  const Dimension *d = dimension("schedule");
  ASSERT_TRUE(d);
  ASSERT_EQ(d->values.size(), pipeline::kSchedules);
  for (size_t i = 0; i < pipeline::kSchedules; ++i)
    EXPECT_EQ(d->values[i].name, pipeline::name(pipeline::Schedule(i)));
}

TEST(Require, ConflictIsMinimal) {
  EXPECT_TRUE(conflict(3, {0b000, 0b111}).empty());
  EXPECT_EQ(conflict(3, {0b001, 0b011}), (std::vector<size_t>{0}));
  EXPECT_EQ(conflict(3, {0b001, 0b010}), (std::vector<size_t>{0, 1}));
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    size_t n = 1 + random() % 8;
    std::vector<uint64_t> broken;
    for (size_t k = random() % 12 + 1; k > 0; --k)
      broken.push_back(random() % (1u << n));
    auto unmet = [&](uint64_t set) {
      return std::all_of(broken.begin(), broken.end(), [&](uint64_t b) { return b & set; });
    };
    std::vector<size_t> set = conflict(n, broken);
    bool none = unmet((1u << n) - 1);
    ASSERT_EQ(set.empty(), !none);
    uint64_t bits = 0;
    for (size_t r : set)
      bits |= uint64_t(1) << r;
    if (none) {
      EXPECT_TRUE(unmet(bits));
      for (size_t r : set)
        EXPECT_FALSE(unmet(bits & ~(uint64_t(1) << r)));
    }
  }
}

} // namespace
