#include "compiler/allocate/events.h"
#include <algorithm>
#include <map>
#include <set>

namespace hocket::allocate {
namespace {

using namespace format;

struct Access {
  uint32_t region;
  uint64_t begin, end; ///< in the region
  bool write;
  unsigned slotPosition; ///< of a slotted transfer region, else 0
};

/// Static position of an instruction and what it must be ordered after.
struct Edge {
  uint32_t from, to;              ///< instructions of the class
  unsigned fromSlot, toSlot;      ///< slot positions if one event per slot
  bool operator<(const Edge &o) const {
    return std::tie(from, to, fromSlot, toSlot) < std::tie(o.from, o.to, o.fromSlot, o.toSlot);
  }
};

using Clock = std::vector<uint32_t>;

class Deriver {
public:
  Deriver(ClassProgram &program, const Plan &plan) : program(program), plan(plan), streams(program.streams.size()) {
    unroll();
  }

  void run() {
    while (simulate(true))
      ;
    for (auto it = edges.begin(); it != edges.end();) {
      Edge edge = *it;
      it = edges.erase(it);
      if (simulate(false))
        edges.insert(edge);
    }
    rewrite();
  }

private:
  struct Step {
    uint32_t instr;
    uint32_t group; ///< first instruction of the group it belongs to, or itself
    ListEntry entry;
    int32_t l;
  };
  struct Touch {
    uint64_t end;
    uint32_t instr;
    uint32_t stream, tick; ///< clock component of the access
    unsigned slotPosition;
    uint16_t slot;
  };

  void unroll();
  void unrollList(const std::vector<ListEntry> &list);
  std::vector<Access> accesses(const Step &step) const;
  bool simulate(bool add);
  void rewrite();

  ClassProgram &program;
  const Plan &plan;
  size_t streams;
  std::vector<Step> steps;
  std::vector<std::vector<Access>> touched;
  std::set<Edge> edges;
};

void Deriver::unrollList(const std::vector<ListEntry> &list) {
  for (const ListEntry &entry : list) {
    const Template &t = program.templates[entry.templateIndex];
    for (uint32_t i = t.first; i < t.first + t.count;) {
      const Instr &instr = program.instrs[i];
      if (instr.op == Op::Repeat) {
        // Three layers show every hazard: first, steady, last.
        std::vector<int32_t> layers;
        for (int32_t l = instr.from; l != instr.to; l += instr.step)
          layers.push_back(l);
        if (layers.size() > 4)
          layers.erase(layers.begin() + 2, layers.end() - 2);
        for (int32_t l : layers)
          for (int32_t k = 1; k <= instr.arg; ++k)
            steps.push_back({i + k, i + k, entry, l});
        i += instr.arg + 1;
        continue;
      }
      if (instr.op == Op::Group) {
        for (int32_t k = 1; k <= instr.arg; ++k)
          steps.push_back({i + k, i, entry, 0});
        i += instr.arg + 1;
        continue;
      }
      steps.push_back({i, i, entry, 0});
      ++i;
    }
  }
}

void Deriver::unroll() {
  unrollList(program.init);
  for (int twice = 0; twice < 2; ++twice)
    unrollList(program.step);
  for (int twice = 0; twice < 2; ++twice)
    unrollList(program.eval);
  unrollList(program.step);
  for (const Step &step : steps)
    touched.push_back(accesses(step));
}

std::vector<Access> Deriver::accesses(const Step &step) const {
  const Instr &instr = program.instrs[step.instr];
  std::vector<Access> result;
  auto touch = [&](uint32_t i, uint64_t bytes, bool read, bool write) {
    const Operand &at = program.operands[instr.firstOperand + i];
    if (at.kind != OperandKind::Region || (!read && !write))
      return;
    const Region &region = program.regions[at.index];
    uint64_t address = at.offset;
    unsigned position = at.flags & kSlotMask;
    if (position)
      address += step.entry.slot[position - 1] * region.slotStride;
    if (at.flags & kLayered)
      address += step.l * region.layerStride;
    if (at.flags & kMicro)
      address += step.entry.micro * region.microStride;
    bool perSlot = region.kind == RegionKind::Transfer && region.slots > 1;
    result.push_back({at.index, address, address + bytes, write, perSlot ? position : 0});
  };
  switch (instr.op) {
  case Op::Launch: {
    const Kernel &kernel = plan.kernels[instr.index];
    for (uint32_t i = 0; i < instr.operandCount; ++i)
      touch(i, kernel.args[i].bytes, kernel.args[i].access == format::Access::Read || kernel.args[i].access == format::Access::ReadWrite,
            kernel.args[i].access == format::Access::Write || kernel.args[i].access == format::Access::ReadWrite);
    break;
  }
  case Op::Gemm: {
    const Gemm &g = plan.gemms[instr.index];
    uint64_t e = sizeOf(g.dtype);
    touch(0, uint64_t(g.m) * g.k * e, true, false);
    touch(1, uint64_t(g.k) * g.n * e, true, false);
    touch(2, uint64_t(g.m) * g.n * e, g.accumulate, true);
    if (instr.operandCount > 3)
      touch(3, g.scratchBytes, false, true);
    break;
  }
  case Op::Collective:
    touch(0, instr.bytes, true, true);
    break;
  case Op::Send:
    touch(0, instr.bytes, true, false);
    break;
  case Op::Recv:
  case Op::Fill:
    touch(0, instr.bytes, false, true);
    break;
  case Op::Copy:
    touch(0, instr.bytes, true, false);
    touch(1, instr.bytes, false, true);
    break;
  case Op::Metric:
    touch(0, sizeOf(plan.metrics[instr.index].dtype), true, false);
    break;
  default:
    break;
  }
  return result;
}

/// Runs all steps on vector clocks.  True if an unordered conflict was found; with `add` each
/// one becomes an edge, without it the first one ends the run.
bool Deriver::simulate(bool add) {
  // Edges by target and by source instruction (a group's first stands for its members).
  std::multimap<uint32_t, const Edge *> into, from;
  auto index = [&](const Edge &e) {
    into.emplace(e.to, &e);
    from.emplace(e.from, &e);
  };
  for (const Edge &e : edges)
    index(e);
  std::vector<Clock> now(streams, Clock(streams, 0));
  std::map<std::pair<const Edge *, uint16_t>, Clock> recorded;
  struct History {
    std::map<uint64_t, Touch> writes;             // by begin, disjoint
    std::map<uint64_t, std::vector<Touch>> reads; // by begin of the exact range read
    uint64_t longestRead = 0;
    auto firstRead(uint64_t begin) { return reads.lower_bound(begin < longestRead ? 0 : begin - longestRead); }
  };
  std::vector<History> history(program.regions.size());
  bool found = false;

  for (size_t n = 0; n < steps.size();) {
    size_t last = n + 1;
    while (last < steps.size() && steps[last].group == steps[n].group && steps[n].group != steps[n].instr &&
           steps[last].instr == steps[last - 1].instr + 1)
      ++last;
    uint32_t stream = program.instrs[steps[n].instr].stream;
    uint32_t anchor = steps[n].group;
    Clock &clock = now[stream];
    auto [a, b] = into.equal_range(anchor);
    for (auto it = a; it != b; ++it) {
      const Edge &e = *it->second;
      uint16_t slot = e.toSlot ? steps[n].entry.slot[e.toSlot - 1] : 0;
      auto r = recorded.find({&e, slot});
      if (r != recorded.end())
        for (size_t s = 0; s < streams; ++s)
          clock[s] = std::max(clock[s], r->second[s]);
    }
    uint32_t tick = ++clock[stream];
    auto need = [&](const Touch &earlier, unsigned toSlot, uint16_t slot) {
      if (earlier.stream == stream || clock[earlier.stream] >= earlier.tick)
        return true;
      found = true;
      if (!add)
        return false;
      bool perSlot = earlier.slotPosition && toSlot && earlier.slot == slot;
      Edge edge{earlier.instr, anchor, perSlot ? earlier.slotPosition : 0, perSlot ? toSlot : 0};
      auto [it, fresh] = edges.insert(edge);
      if (fresh)
        index(*it);
      clock[earlier.stream] = std::max(clock[earlier.stream], earlier.tick);
      return true;
    };
    for (size_t m = n; m < last; ++m)
      for (const Access &access : touched[m]) {
        uint16_t slot = access.slotPosition ? steps[m].entry.slot[access.slotPosition - 1] : 0;
        auto &[writes, reads, longest] = history[access.region];
        auto w = writes.upper_bound(access.begin);
        if (w != writes.begin() && std::prev(w)->second.end > access.begin)
          --w;
        for (; w != writes.end() && w->first < access.end; ++w)
          if (!need(w->second, access.slotPosition, slot))
            return true;
        if (access.write)
          for (auto r = history[access.region].firstRead(access.begin); r != reads.end() && r->first < access.end; ++r)
            for (const Touch &t : r->second)
              if (t.end > access.begin && !need(t, access.slotPosition, slot))
                return true;
      }
    for (size_t m = n; m < last; ++m)
      for (const Access &access : touched[m]) {
        uint16_t slot = access.slotPosition ? steps[m].entry.slot[access.slotPosition - 1] : 0;
        Touch touch{access.end, anchor, stream, tick, access.slotPosition, slot};
        auto &[writes, reads, longest] = history[access.region];
        if (!access.write) {
          longest = std::max(longest, access.end - access.begin);
          std::vector<Touch> &list = reads[access.begin];
          bool replaced = false;
          for (Touch &t : list)
            if (t.stream == stream && t.end == touch.end) {
              t = touch;
              replaced = true;
            }
          if (!replaced)
            list.push_back(touch);
          continue;
        }
        // The write replaces what it covers; pieces beside it stay.
        auto w = writes.upper_bound(access.begin);
        if (w != writes.begin() && std::prev(w)->second.end > access.begin)
          --w;
        while (w != writes.end() && w->first < access.end) {
          uint64_t begin = w->first;
          Touch old = w->second;
          w = writes.erase(w);
          if (begin < access.begin) {
            Touch left = old;
            left.end = access.begin;
            writes[begin] = left;
          }
          if (old.end > access.end)
            w = writes.insert({access.end, old}).first;
        }
        writes[access.begin] = touch;
        for (auto r = history[access.region].firstRead(access.begin); r != reads.end() && r->first < access.end;) {
          auto &list = r->second;
          std::erase_if(list, [&](const Touch &t) { return r->first >= access.begin && t.end <= access.end; });
          r = list.empty() ? reads.erase(r) : std::next(r);
        }
      }
    auto [c, d] = from.equal_range(anchor);
    for (auto it = c; it != d; ++it) {
      const Edge &e = *it->second;
      uint16_t slot = e.fromSlot ? steps[n].entry.slot[e.fromSlot - 1] : 0;
      recorded[{&e, slot}] = clock;
    }
    n = last;
  }
  return found;
}

/// Puts records behind and waits before the instructions; one event per source instruction
/// (and slot), shared by all its targets.
void Deriver::rewrite() {
  std::map<std::pair<uint32_t, unsigned>, uint32_t> eventOf; // (from, fromSlot) -> first number
  uint32_t events = 0;
  uint16_t slots = 1;
  for (const auto *list : {&program.init, &program.step, &program.eval})
    for (const ListEntry &entry : *list)
      for (uint16_t s : entry.slot)
        slots = std::max<uint16_t>(slots, s + 1);
  for (const Edge &e : edges) {
    auto [it, fresh] = eventOf.emplace(std::pair{e.from, e.fromSlot}, events);
    if (fresh)
      events += e.fromSlot ? slots : 1;
  }
  std::map<uint32_t, std::vector<Instr>> before, after;
  for (auto [key, event] : eventOf) {
    Instr record;
    record.op = Op::Record;
    record.index = event;
    record.flags = key.second;
    record.stream = program.instrs[key.first].op == Op::Group ? program.instrs[key.first + 1].stream
                                                                : program.instrs[key.first].stream;
    after[key.first].push_back(record);
  }
  for (const Edge &e : edges) {
    Instr wait;
    wait.op = Op::Wait;
    wait.index = eventOf[{e.from, e.fromSlot}];
    wait.flags = e.toSlot;
    wait.stream = program.instrs[e.to].op == Op::Group ? program.instrs[e.to + 1].stream : program.instrs[e.to].stream;
    before[e.to].push_back(wait);
  }
  std::vector<Instr> result;
  std::vector<Template> templates = program.templates;
  for (Template &t : templates) {
    uint32_t first = result.size();
    size_t repeatAt = 0;
    uint32_t repeatEnd = 0;
    for (uint32_t i = t.first; i < t.first + t.count;) {
      for (const Instr &wait : before[i])
        result.push_back(wait);
      const Instr &instr = program.instrs[i];
      uint32_t next = i + 1;
      if (instr.op == Op::Repeat) {
        repeatAt = result.size();
        repeatEnd = i + 1 + instr.arg;
      }
      result.push_back(instr);
      if (instr.op == Op::Group) {
        for (int32_t k = 1; k <= instr.arg; ++k)
          result.push_back(program.instrs[i + k]);
        next = i + 1 + instr.arg;
      }
      for (const Instr &record : after[i])
        result.push_back(record);
      i = next;
      if (repeatEnd && i == repeatEnd) {
        result[repeatAt].arg = int32_t(result.size() - repeatAt - 1);
        repeatEnd = 0;
      }
    }
    t = {t.name, first, uint32_t(result.size() - first)};
  }
  program.instrs = std::move(result);
  program.templates = std::move(templates);
  program.events = events;

  // A wait that can come before any record of its event counts as done the first time.
  std::set<uint32_t> firstUse;
  auto scan = [&](std::initializer_list<const std::vector<ListEntry> *> lists) {
    std::vector<bool> seen(events, false);
    for (const auto *list : lists)
      for (const ListEntry &entry : *list) {
        const Template &t = program.templates[entry.templateIndex];
        for (uint32_t i = t.first; i < t.first + t.count; ++i) {
          const Instr &instr = program.instrs[i];
          if (instr.op != Op::Record && instr.op != Op::Wait)
            continue;
          uint32_t event = instr.index + (instr.flags ? entry.slot[instr.flags - 1] : 0);
          if (instr.op == Op::Record)
            seen[event] = true;
          else if (!seen[event])
            firstUse.insert(event);
        }
        // A repeat's body wraps around: a wait before the record inside it is a first use too.
      }
  };
  scan({&program.init, &program.step});
  scan({&program.step});
  scan({&program.eval});
  program.firstUse.assign(firstUse.begin(), firstUse.end());
}

} // namespace

void deriveEvents(ClassProgram &program, const Plan &plan) { Deriver(program, plan).run(); }

} // namespace hocket::allocate
