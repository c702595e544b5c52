//===- ops_test.cpp - Every op, sharded by every letter, through all phases --===//
//
// A program around one op is compiled for 2, 3 and 4 ranks, by each of the op's
// letters, and trained for two steps in this process; losses, gradients and new
// parameters must be those of one rank. One rank must compute what the reference
// interpreter does. A fixed slice, one size for each op and letter, always runs;
// tools/ops-sweep.sh runs all of it.
//
//===----------------------------------------------------------------------===//
#include "compile.h"

#include "gtest/gtest.h"

using namespace hocket;
using namespace hocket::test::ops;

namespace {

constexpr double kTolerance = 1e-12;

const Program &programOf(const std::string &name) {
  static const std::vector<Program> all = programs();
  return *std::find_if(all.begin(), all.end(), [&](const Program &p) { return p.name == name; });
}

Rows rowsOf(const Extents &e) { return Rows(e.at('b'), e.at('s'), e.at('v')); }

Trained run(const Program &program, char letter, int64_t size) {
  Diagnostics diags;
  Strategy strategy = strategyOf(program, extents(), letter, size);
  std::optional<format::Plan> plan = compile(program, extents(), strategy, diags);
  EXPECT_TRUE(plan.has_value()) << diags.str() << moduleText(program, extents());
  return plan ? train(*plan, rowsOf(extents())) : Trained{};
}

const Trained &oneRank(const std::string &name) {
  static std::map<std::string, Trained> cache;
  auto it = cache.find(name);
  return it != cache.end() ? it->second : cache[name] = run(programOf(name), 'b', 1);
}

} // namespace

namespace hocket::test::ops {
void PrintTo(const Sharded &c, std::ostream *os) { *os << c.name << " by " << c.letter << " on " << c.size; }
} // namespace hocket::test::ops

namespace {
std::string label(const testing::TestParamInfo<Sharded> &info) {
  return info.param.name + "_" + info.param.letter + std::to_string(info.param.size);
}

class Ops : public testing::TestWithParam<Sharded> {};

void check(const Sharded &c) {
  const Program &program = programOf(c.name);
  if (auto it = program.refused.find(c.letter); it != program.refused.end()) {
    Diagnostics diags;
    Strategy strategy = strategyOf(program, extents(), c.letter, c.size);
    ASSERT_FALSE(compile(program, extents(), strategy, diags));
    std::string text = diags.str();
    EXPECT_NE(text.find(it->second), std::string::npos) << text;
    EXPECT_NE(text.find(c.name + ".mlir:"), std::string::npos) << text;
    EXPECT_EQ(diags.exitCode(), kExitBadInput) << text;
    return;
  }
  Trained found = run(program, c.letter, c.size);
  const Trained &expected = oneRank(c.name);
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(expected.losses.size(), 2u);
  auto [error, what] = difference(found, expected);
  EXPECT_LE(error, kTolerance) << what;
}

TEST_P(Ops, EqualsOneRank) { check(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Sharded, Ops, testing::ValuesIn(cases()), label);

class OneRank : public testing::TestWithParam<std::string> {};

TEST_P(OneRank, EqualsTheInterpreter) {
  const Trained &found = oneRank(GetParam());
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.losses.size(), 2u);
  Trained expected = interpret(programOf(GetParam()), extents(), rowsOf(extents()), found);
  expected.gradients = found.gradients;
  auto [error, what] = difference(found, expected);
  EXPECT_LE(error, 1e-11) << what;
}

std::vector<std::string> allNames() {
  std::vector<std::string> result;
  for (const Program &p : programs())
    result.push_back(p.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Programs, OneRank, testing::ValuesIn(allNames()),
                         [](const auto &info) { return info.param; });

/// What no rule pads must divide; the message says by what it would.
TEST(Undivided, IsRefusedAtItsPlace) {
  struct Undivided {
    std::string name;
    char letter;
    int64_t extent, size;
    std::string says;
  };
  const std::vector<Undivided> cases{
      {"dot", 'b', 9, 2, "batch of 9 does not divide over data=2 and micro-batches of 1"},
      {"dot", 'h', 10, 4,
       "letter 'h' of 'x' has extent 10, which {tensor} = 4 does not divide; legal "
       "sizes of \"tensor\": 1, 2, 5, 10"},
      {"rope", 'g', 3, 2, "letter 'g' of 'wq' has extent 3, which {tensor} = 2 does not divide"},
      {"rope", 'r', 4, 3, "letter 'r' of 'wq' has extent 4, which {tensor} = 3 does not divide"},
      {"attention", 'd', 6, 4, "letter 'd' of 'wq' has extent 6, which {tensor} = 4 does not divide"},
      {"attention_keys", 't', 7, 3, "letter 't' of 'keys' has extent 7, which {tensor} = 3 does not"},
      {"gather_rows", 'p', 25, 2, "letter 'p' of 'table' has extent 25, which {tensor} = 2 does not divide"},
      {"dot", 'l', 2, 3, "has 2 layers, fewer than the 3 stages of the pipeline"},
  };
  for (const Undivided &c : cases) {
    SCOPED_TRACE(c.name + " by " + c.letter);
    Extents sizes = extents();
    sizes[c.letter] = c.extent;
    Strategy strategy = strategyOf(programOf(c.name), sizes, c.letter, c.size);
    if (c.letter == 'b')
      strategy.microBatch = 1;
    Diagnostics diags;
    EXPECT_FALSE(compile(programOf(c.name), sizes, strategy, diags));
    std::string text = diags.str();
    EXPECT_NE(text.find(c.says), std::string::npos) << text;
    EXPECT_NE(text.find(c.name + ".mlir:"), std::string::npos) << text;
    EXPECT_EQ(diags.exitCode(), kExitBadInput) << text;
  }
}

} // namespace
