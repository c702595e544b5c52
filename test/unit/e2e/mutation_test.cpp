//===- mutation_test.cpp - Every wait and every transfer of a plan matters --===//
//
// Each deleted wait must be refused by `verify`; each deleted or exchanged
// operation must be refused, or change what two steps and an evaluation compute.
// HOCKET_MUTATION=full takes all mutations of all plans (tools/mutation.sh),
// else a part that runs in a minute.
//
//===----------------------------------------------------------------------===//

#include "test/unit/e2e/mutation.h"
#include "test/unit/e2e/mutation_plans.h"

#include <cstdlib>

using namespace hocket;
using namespace hocket::test;

namespace {

bool full() {
  const char *value = std::getenv("HOCKET_MUTATION");
  return value && std::string_view(value) == "full";
}

struct PlanCase {
  const char *model, *strategy;
  int64_t globalBatch;
  size_t stride; ///< of the mutations that a short run takes; 0: none
};

/// Per process, since the share of equivalent mutations is asked of all plans together.
struct Totals {
  std::map<std::string, Counts> counts;
  int total = 0, equivalent = 0;
};

void sweep(const PlanCase &c, Totals &totals) {
  std::optional<format::Plan> plan = twoLayerPlan(c.model, c.strategy, c.globalBatch);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->microBatches, 4u);
  std::string text = randomText(), why;
  Outcome expected = outcomeOf(*plan, text, 60);
  ASSERT_EQ(expected.error, "");
  ASSERT_EQ(difference(outcomeOf(*plan, text, 60), expected), 0) << "a run does not repeat itself";
  // A rank with a class of its own computes what it computed before.
  for (uint32_t r = 0; r < plan->ranks(); ++r) {
    Mutation none;
    none.rank = r;
    EXPECT_EQ(judge(apply(*plan, none), expected, text, why), Verdict::Equivalent)
        << "rank " << r << ": " << why;
  }
  size_t stride = full() ? 1 : c.stride, number = 0;
  for (const Mutation &m : mutationsOf(*plan)) {
    if (number++ % stride)
      continue;
    Verdict verdict = judge(apply(*plan, m), expected, text, why);
    static constexpr const char *kinds[] = {"", "delete wait", "delete operation", "swap operations"};
    Counts &count = totals.counts[std::string(kinds[m.kind]) + (m.rank < 0 ? ", class" : ", one rank")];
    ++count.total, ++totals.total;
    switch (verdict) {
    case Verdict::Verify:
      ++count.verify;
      break;
    case Verdict::Equality:
      ++count.equality;
      EXPECT_NE(m.kind, Mutation::DeleteWait) << "verify accepts: " << describe(*plan, m);
      break;
    case Verdict::Error:
      ++count.error;
      ADD_FAILURE() << "verify accepts what cannot run: " << describe(*plan, m) << ": " << why;
      break;
    case Verdict::Equivalent: {
      ++count.equivalent, ++totals.equivalent;
      std::string reason = reasonOf(*plan, m);
      EXPECT_NE(reason, "") << "nobody notices: " << describe(*plan, m);
      std::printf("equivalent: %s %s: %s (%s)\n", c.model, c.strategy, describe(*plan, m).c_str(),
                  reason.c_str());
      break;
    }
    }
  }
}

TEST(Mutation, CompiledPlans) {
  std::vector<PlanCase> cases = {
      {"llama", "data=2,tensor=2", 8, 3},   {"llama", "data=1,pipeline=2,tensor=2", 4, 3},
      {"llama", "data=2,pipeline=2", 8, 1}, {"gpt2", "data=1,pipeline=2,tensor=2", 4, 4},
      {"gpt2", "data=2,tensor=2", 8, 0},    {"gpt2", "data=2,pipeline=2", 8, 0},
  };
  Totals totals;
  for (const PlanCase &c : cases)
    if (full() || c.stride) {
      SCOPED_TRACE(std::string(c.model) + " " + c.strategy);
      sweep(c, totals);
    }
  for (auto &[kind, c] : totals.counts)
    std::printf(
        "%-26s %4d mutations: %4d refused by verify, %3d change the numbers, %d equivalent, %d errors\n",
        kind.c_str(), c.total, c.verify, c.equality, c.equivalent, c.error);
  EXPECT_GT(totals.total, 100);
  EXPECT_LE(totals.equivalent * 20, totals.total) << "more than 5 % are equivalent";
}

} // namespace
