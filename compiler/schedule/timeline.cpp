#include "compiler/schedule/timeline.h"
#include <algorithm>
#include <numeric>
#include <tuple>

namespace hocket::schedule {

std::vector<int64_t> colour(const std::vector<Interval> &intervals) {
  std::vector<size_t> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(intervals[a].begin, a) < std::pair(intervals[b].begin, b);
  });
  std::vector<int64_t> slot(intervals.size()), freeAt;
  for (size_t i : order) {
    size_t s = 0;
    while (s < freeAt.size() && freeAt[s] > intervals[i].begin)
      ++s;
    if (s == freeAt.size())
      freeAt.push_back(0);
    freeAt[s] = intervals[i].end;
    slot[i] = s;
  }
  return slot;
}

namespace {

using Key = std::tuple<unsigned, std::string, int64_t>; // stage, task, micro

/// Index of every (stage, task, micro) in its list.
std::optional<std::map<Key, size_t>> index(const std::vector<std::vector<Item>> &stages) {
  std::map<Key, size_t> at;
  for (unsigned s = 0; s < stages.size(); ++s)
    for (size_t i = 0; i < stages[s].size(); ++i)
      if (!at.emplace(Key{s, stages[s][i].task, stages[s][i].micro}, i).second)
        return std::nullopt;
  return at;
}

const Item *lastOf(const std::vector<Item> &list, const std::string &task) {
  for (auto it = list.rbegin(); it != list.rend(); ++it)
    if (it->task == task)
      return &*it;
  return nullptr;
}

/// Start of the next item of stage `s`, or -1 while a producer has not finished.
int64_t ready(const std::vector<std::vector<Item>> &stages, const std::vector<const Flow *> &into,
              const std::map<Key, size_t> &at, unsigned s, size_t next) {
  const Item &item = stages[s][next];
  int64_t start = next ? stages[s][next - 1].finish : 0;
  for (const Flow *flow : into) {
    if (std::find(flow->consumers.begin(), flow->consumers.end(), item.task) == flow->consumers.end())
      continue;
    const Item *producer = nullptr;
    if (flow->last) {
      producer = lastOf(stages[flow->fromStage], flow->producer);
    } else if (auto it = at.find({flow->fromStage, flow->producer, item.micro}); it != at.end()) {
      producer = &stages[flow->fromStage][it->second];
    }
    if (!producer || producer->finish < 0)
      return -1;
    start = std::max(start, producer->finish);
  }
  return start;
}

bool run(std::vector<std::vector<Item>> &stages, const std::vector<Flow> &flows,
         const std::map<Key, size_t> &at) {
  std::vector<std::vector<const Flow *>> into(stages.size());
  for (const Flow &flow : flows)
    into[flow.toStage].push_back(&flow);
  std::vector<size_t> next(stages.size(), 0);
  size_t left = at.size();
  for (bool progress = true; progress && left;) {
    progress = false;
    bool together = true;
    int64_t meet = 0;
    for (unsigned s = 0; s < stages.size(); ++s) {
      while (next[s] < stages[s].size()) {
        Item &item = stages[s][next[s]];
        if (item.start < 0 && (item.start = ready(stages, into[s], at, s, next[s])) < 0)
          break;
        if (item.together)
          break;
        item.finish = item.start + item.units;
        ++next[s], --left;
        progress = true;
      }
      bool waits = next[s] < stages[s].size() && stages[s][next[s]].together && stages[s][next[s]].start >= 0;
      together &= waits;
      if (waits)
        meet = std::max(meet, stages[s][next[s]].start + stages[s][next[s]].units);
    }
    if (together && !progress)
      for (unsigned s = 0; s < stages.size(); ++s) {
        stages[s][next[s]++].finish = meet;
        --left;
        progress = true;
      }
  }
  return !left;
}

} // namespace

static void colourSlots(Timeline &t, const std::vector<Flow> &flows, const std::map<Key, size_t> &at,
                        const std::string &keptFrom, const std::string &keptTo) {
  std::map<std::pair<unsigned, std::string>, std::map<int64_t, Interval>> busy;
  auto item = [&](unsigned s, const std::string &task, int64_t m) -> const Item * {
    auto it = at.find({s, task, m});
    return it == at.end() ? nullptr : &t.stages[s][it->second];
  };
  for (unsigned s = 0; s < t.stages.size(); ++s)
    for (const Item &first : t.stages[s])
      if (first.task == keptFrom) {
        const Item *last = item(s, keptTo, first.micro);
        busy[{s, "stash"}][first.micro] = {first.start, last ? last->finish : first.finish};
      }
  for (const Transfer &x : t.transfers) {
    const Flow &flow = flows[x.flow];
    if (!flow.slotted)
      continue;
    if (const Item *producer = item(flow.fromStage, flow.producer, x.micro))
      busy[{flow.fromStage, flow.from}][x.micro] = {producer->start, x.level};
    int64_t end = x.level + 1;
    for (const std::string &task : flow.consumers)
      if (const Item *consumer = item(flow.toStage, task, flow.last ? 0 : x.micro))
        end = std::max(end, consumer->finish);
    busy[{flow.toStage, flow.to}][x.micro] = {x.level, end};
  }
  for (auto &[home, byMicro] : busy) {
    std::vector<Interval> intervals;
    for (auto &[micro, interval] : byMicro)
      intervals.push_back(interval);
    std::vector<int64_t> slots = colour(intervals);
    size_t i = 0;
    for (auto &[micro, interval] : byMicro)
      t.slots[home][micro] = slots[i++];
  }
  for (Transfer &x : t.transfers) {
    const Flow &flow = flows[x.flow];
    if (!flow.slotted)
      continue;
    x.sendSlot = t.slots[{flow.fromStage, flow.from}][x.micro];
    x.recvSlot = t.slots[{flow.toStage, flow.to}][x.micro];
  }
}

static void orderIssue(Timeline &t, const std::vector<Flow> &flows) {
  for (unsigned s = 0; s < t.stages.size(); ++s) {
    std::vector<Issue> list;
    size_t x = 0;
    // Transfers of this stage up to `level`, one group for each level.
    auto flush = [&](int64_t level) {
      for (; x < t.transfers.size() && t.transfers[x].level <= level; ++x) {
        const Flow &flow = flows[t.transfers[x].flow];
        if (flow.fromStage != s && flow.toStage != s)
          continue;
        if (list.empty() || list.back().item >= 0 || list.back().level != t.transfers[x].level)
          list.push_back({-1, t.transfers[x].level, {}});
        list.back().transfers.push_back(x);
      }
    };
    for (size_t i = 0; i < t.stages[s].size(); ++i) {
      flush(t.stages[s][i].start);
      list.push_back({int64_t(i), 0, {}});
    }
    flush(INT64_MAX);
    t.issue.push_back(std::move(list));
  }
}

std::optional<Timeline> simulate(std::vector<std::vector<Item>> stages, const std::vector<Flow> &flows,
                                 const std::string &keptFrom, const std::string &keptTo) {
  auto at = index(stages);
  if (!at || !run(stages, flows, *at))
    return std::nullopt;
  Timeline t;
  t.stages = std::move(stages);
  for (unsigned f = 0; f < flows.size(); ++f) {
    const Flow &flow = flows[f];
    if (flow.fromStage == flow.toStage)
      continue;
    if (flow.last) {
      const Item *producer = lastOf(t.stages[flow.fromStage], flow.producer);
      if (!producer)
        return std::nullopt;
      t.transfers.push_back({f, 0, producer->finish});
      continue;
    }
    for (const Item &item : t.stages[flow.fromStage])
      if (item.task == flow.producer)
        t.transfers.push_back({f, item.micro, item.finish});
  }
  std::sort(t.transfers.begin(), t.transfers.end(), [](const Transfer &a, const Transfer &b) {
    return std::tie(a.level, a.flow, a.micro) < std::tie(b.level, b.flow, b.micro);
  });
  colourSlots(t, flows, *at, keptFrom, keptTo);
  orderIssue(t, flows);
  return t;
}

} // namespace hocket::schedule
