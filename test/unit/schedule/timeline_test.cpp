//===- timeline_test.cpp - No schedule of lists hangs, no slot is lost ------===//
//
// Every pipeline here is run as ranks would run it, at its most blocking: a
// rank issues its list in order, a group of transfers ends when every transfer
// in it has met its partner, and the rank goes no further before.  Buffers
// carry the micro-batch that wrote them, so a slot reused too early is seen.
//
//===----------------------------------------------------------------------===//
#include "compiler/schedule/tables.h"
#include "compiler/schedule/timeline.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace hocket::schedule;

namespace {

std::vector<Flow> flowsOf(unsigned stages, bool tied = false) {
  std::vector<Flow> flows;
  for (unsigned s = 0; s + 1 < stages; ++s) {
    flows.push_back({"send x", "recv x", s, s + 1, "F", {"F"}});
    flows.push_back({"send dx", "recv dx", s + 1, s, "B", {"B"}});
  }
  for (unsigned s = 0; s < stages; ++s)
    flows.push_back({"", "", s, s, "F", {"B"}, false, false});
  if (tied && stages > 1) {
    flows.push_back({"grad e", "recv grad.e", stages - 1, 0, "B", {"N"}, true, false});
    flows.push_back({"param e", "param e", 0, stages - 1, "U", {}, true, false});
  }
  return flows;
}

std::vector<std::vector<Item>> itemsOf(const std::vector<Table> &tables, bool update) {
  std::vector<std::vector<Item>> stages;
  for (const Table &table : tables) {
    std::vector<Item> list;
    for (const Entry &e : table)
      list.push_back({std::string(1, e.task), e.micro, e.task == 'B' ? 2 : 1});
    if (update) {
      list.push_back({"N", 0, 1, tables.size() > 1});
      list.push_back({"U", 0, 1});
    }
    stages.push_back(std::move(list));
  }
  return stages;
}

/// Runs `t`; empty if every list ends and every buffer holds what it should.
std::string execute(const Timeline &t, const std::vector<Flow> &flows) {
  using Slot = std::tuple<unsigned, std::string, int64_t>;
  std::map<Slot, int64_t> holds;
  auto slot = [&](unsigned s, const std::string &home, int64_t m) {
    auto at = t.slots.find({s, home});
    if (at == t.slots.end() || !at->second.count(m))
      return Slot{s, home, 0};
    return Slot{s, home, at->second.at(m)};
  };
  unsigned stages = t.stages.size();
  std::vector<size_t> next(stages, 0);
  std::vector<bool> met(t.transfers.size(), false);
  std::string wrong;
  auto fail = [&](const std::string &what) { wrong = wrong.empty() ? what : wrong; };
  auto inGroup = [&](unsigned s, unsigned x) {
    if (next[s] == t.issue[s].size())
      return false;
    const std::vector<unsigned> &list = t.issue[s][next[s]].transfers;
    return std::find(list.begin(), list.end(), x) != list.end();
  };
  for (bool progress = true; progress && wrong.empty();) {
    progress = false;
    for (unsigned s = 0; s < stages; ++s) {
      while (next[s] < t.issue[s].size() && t.issue[s][next[s]].item >= 0) {
        const Item &item = t.stages[s][t.issue[s][next[s]].item];
        if (item.together) {
          bool all = true;
          for (unsigned o = 0; o < stages; ++o)
            all &= next[o] < t.issue[o].size() && t.issue[o][next[o]].item >= 0 &&
                   t.stages[o][t.issue[o][next[o]].item].together;
          if (!all && t.stages.size() > 1)
            break;
        }
        for (unsigned f = 0; f < flows.size(); ++f) {
          const Flow &flow = flows[f];
          if (flow.fromStage == flow.toStage)
            continue;
          bool reads =
              flow.toStage == s && std::count(flow.consumers.begin(), flow.consumers.end(), item.task);
          if (reads) {
            Slot at = slot(s, flow.to, item.micro);
            if (!holds.count(at) || holds[at] != item.micro)
              fail("stage " + std::to_string(s) + " reads " + flow.to + " before micro-batch " +
                   std::to_string(item.micro) + " is there");
            holds.erase(at);
          }
          if (flow.fromStage == s && flow.producer == item.task && flow.slotted) {
            Slot at = slot(s, flow.from, item.micro);
            if (holds.count(at))
              fail("stage " + std::to_string(s) + " overwrites " + flow.from);
            holds[at] = item.micro;
          }
        }
        Slot stash = slot(s, "stash", item.micro);
        if (item.task == "F") {
          if (holds.count(stash))
            fail("overwrites a stash slot");
          holds[stash] = item.micro;
        } else if (item.task == "B") {
          if (!holds.count(stash) || holds[stash] != item.micro)
            fail("reads another micro-batch's stash");
          holds.erase(stash);
        }
        if (item.together) {
          for (unsigned o = 0; o < stages; ++o)
            if (o != s && next[o] < t.issue[o].size() && t.issue[o][next[o]].item >= 0 &&
                t.stages[o][t.issue[o][next[o]].item].together) {
              // Its reads were checked by the same rule.
              for (const Flow &flow : flows)
                if (flow.toStage == o && flow.fromStage != o &&
                    std::count(flow.consumers.begin(), flow.consumers.end(), "N")) {
                  if (!holds.count(slot(o, flow.to, 0)))
                    fail("reads " + flow.to + " before it is there");
                  holds.erase(slot(o, flow.to, 0));
                }
              ++next[o];
            }
        }
        ++next[s];
        progress = true;
      }
      if (next[s] == t.issue[s].size())
        continue;
      const Issue &group = t.issue[s][next[s]];
      if (group.item >= 0)
        continue;
      bool all = true;
      for (unsigned x : group.transfers) {
        const Flow &flow = flows[t.transfers[x].flow];
        if (!met[x] && inGroup(flow.fromStage, x) && inGroup(flow.toStage, x)) {
          met[x] = progress = true;
          int64_t m = t.transfers[x].micro;
          Slot from{flow.fromStage, flow.from, t.transfers[x].sendSlot},
              to{flow.toStage, flow.to, t.transfers[x].recvSlot};
          if (flow.slotted) {
            if (!holds.count(from) || holds[from] != m)
              fail("sends what is not there");
            holds.erase(from);
          }
          if (holds.count(to) && flow.to != flow.from)
            fail("receives over micro-batch " + std::to_string(holds[to]) + " in " + flow.to);
          if (!flow.consumers.empty())
            holds[to] = m;
        }
        all &= met[x];
      }
      if (all) {
        ++next[s];
        progress = true;
      }
    }
  }
  if (!wrong.empty())
    return wrong;
  for (unsigned s = 0; s < stages; ++s)
    if (next[s] != t.issue[s].size())
      return "stage " + std::to_string(s) + " hangs";
  if (!holds.empty())
    return std::get<1>(holds.begin()->first) + " is left full";
  return "";
}

int64_t slotCount(const Timeline &t, unsigned stage, const std::string &home) {
  int64_t n = 0;
  for (auto &[micro, slot] : t.slots.at({stage, home}))
    n = std::max(n, slot + 1);
  return n;
}

TEST(Tables, AllPipelinesRun) {
  for (const char *schedule : {"gpipe", "1f1b"})
    for (int64_t stages = 1; stages <= 8; ++stages)
      for (int64_t micro = 1; micro <= 16; ++micro)
        for (bool tied : {false, true}) {
          auto tables = orderTables(schedule, stages, micro);
          ASSERT_TRUE(tables);
          std::vector<Flow> flows = flowsOf(stages, tied);
          auto t = simulate(itemsOf(*tables, true), flows, "F", "B");
          ASSERT_TRUE(t) << schedule << " " << stages << " " << micro;
          EXPECT_EQ(execute(*t, flows), "")
              << schedule << " " << stages << " stages " << micro << " micro-batches";
        }
}

// Random lists: any order in which each stage's tasks could run.
TEST(Tables, RandomListsRun) {
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    int64_t stages = 1 + random() % 6, micro = 1 + random() % 7;
    std::vector<Table> tables(stages);
    std::vector<std::vector<bool>> f(stages, std::vector<bool>(micro)), b = f;
    for (int64_t left = 2 * stages * micro; left;) {
      int64_t s = random() % stages, m = random() % micro;
      if (!f[s][m] && (s == 0 || f[s - 1][m])) {
        f[s][m] = true;
        tables[s].push_back({'F', m});
        --left;
      } else if (f[s][m] && !b[s][m] && (s + 1 == stages || b[s + 1][m])) {
        b[s][m] = true;
        tables[s].push_back({'B', m});
        --left;
      }
    }
    std::vector<Flow> flows = flowsOf(stages);
    auto t = simulate(itemsOf(tables, false), flows, "F", "B");
    ASSERT_TRUE(t);
    EXPECT_EQ(execute(*t, flows), "") << "round " << round;
  }
}

// What the levels are for: a send right after its task and a receive right
// before it, each alone, hang.
TEST(Tables, TaskOrderHangs) {
  std::vector<Flow> flows = flowsOf(2);
  auto t = simulate(itemsOf(*orderTables("1f1b", 2, 2), false), flows, "F", "B");
  ASSERT_TRUE(t);
  for (unsigned s = 0; s < 2; ++s) {
    std::vector<Issue> list;
    for (int64_t i = 0; i < int64_t(t->stages[s].size()); ++i) {
      const Item &item = t->stages[s][i];
      auto add = [&](bool send) {
        for (unsigned x = 0; x < t->transfers.size(); ++x) {
          const Flow &flow = flows[t->transfers[x].flow];
          bool mine = send ? flow.fromStage == s && flow.producer == item.task
                           : flow.toStage == s && flow.consumers[0] == item.task;
          if (mine && t->transfers[x].micro == item.micro)
            list.push_back({-1, t->transfers[x].level, {x}});
        }
      };
      add(false);
      list.push_back({i, 0, {}});
      add(true);
    }
    t->issue[s] = list;
  }
  EXPECT_EQ(execute(*t, flows), "stage 0 hangs");
}

TEST(Tables, OneForwardOneBackwardKeepsFewStashes) {
  auto tables = orderTables("1f1b", 4, 16);
  std::vector<Flow> flows = flowsOf(4);
  auto t = simulate(itemsOf(*tables, false), flows, "F", "B");
  ASSERT_TRUE(t);
  for (unsigned s = 0; s < 4; ++s)
    EXPECT_EQ(slotCount(*t, s, "stash"), 4 - s);
  tables = orderTables("gpipe", 4, 16);
  t = simulate(itemsOf(*tables, false), flows, "F", "B");
  EXPECT_EQ(slotCount(*t, 0, "stash"), 16);
}

// The worked case of two stages and two micro-batches.
TEST(Timeline, LevelsOfTwoStages) {
  auto tables = orderTables("1f1b", 2, 2);
  std::vector<Flow> flows = flowsOf(2);
  auto t = simulate(itemsOf(*tables, false), flows, "F", "B");
  ASSERT_TRUE(t);
  std::vector<int64_t> levels;
  for (const Transfer &x : t->transfers)
    levels.push_back(x.level);
  EXPECT_EQ(levels, (std::vector<int64_t>{1, 2, 4, 7}));
}

TEST(Timeline, RejectsCirclesAndRepeats) {
  std::vector<Flow> flows = flowsOf(2);
  // B before F on one stage.
  EXPECT_FALSE(simulate({{{"B", 0, 2}, {"F", 0}}, {{"F", 0}, {"B", 0, 2}}}, flows, "F", "B"));
  // A task twice.
  EXPECT_FALSE(simulate({{{"F", 0}, {"F", 0}}, {}}, flows, "F", "B"));
  // Nobody makes what stage 1 takes.
  EXPECT_FALSE(simulate({{}, {{"F", 0}}}, flows, "F", "B"));
}

TEST(Timeline, SmallestFreeSlot) {
  EXPECT_EQ(colour({{0, 4}, {1, 2}, {2, 3}, {3, 6}, {4, 5}}), (std::vector<int64_t>{0, 1, 1, 1, 0}));
  EXPECT_EQ(colour({}), std::vector<int64_t>{});
}

TEST(Tables, UnknownScheduleIsNone) { EXPECT_FALSE(orderTables("1f2b", 2, 2)); }

} // namespace
