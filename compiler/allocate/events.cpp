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
  uint32_t from, to;         ///< instructions of the class
  unsigned fromSlot, toSlot; ///< slot positions if one event per slot
  bool operator<(const Edge &o) const {
    return std::tie(from, to, fromSlot, toSlot) < std::tie(o.from, o.to, o.fromSlot, o.toSlot);
  }
};

using Clock = std::vector<uint32_t>;

class Deriver {
public:
  Deriver(ClassProgram &program, const Plan &plan)
      : program(program), plan(plan), streams(program.streams.size()) {
    unroll();
    group();
    findNeeds();
  }

  void run() {
    while (simulate(true))
      ;
    // Greedy, in the order of the edges: what the others imply goes.
    std::vector<size_t> order(edges.size());
    for (size_t e = 0; e < order.size(); ++e)
      order[e] = e;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return edges[a] < edges[b]; });
    for (size_t e : order) {
      alive[e] = false;
      alive[e] = simulate(false);
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
  /// One execution of an instruction, or of a whole group.
  struct Node {
    size_t first, last;    ///< steps [first, last)
    uint32_t anchor;       ///< instruction that waits and records stand at
    uint32_t stream, tick; ///< clock component of its accesses
    size_t firstNeed = 0, lastNeed = 0;
  };
  struct Touch {
    uint64_t end;
    uint32_t node;
    unsigned slotPosition;
    uint16_t slot;
  };
  /// Node `earlier`, of another stream, must come before.
  struct Need {
    uint32_t earlier;
    unsigned fromSlot, toSlot; ///< slot positions if both touched the same slot of a transfer region
    bool operator==(const Need &) const = default;
  };

  void unroll();
  void unrollList(const std::vector<ListEntry> &list);
  std::vector<Access> accesses(const Step &step) const;
  void group();
  void findNeeds();
  size_t addEdge(const Edge &edge);
  bool simulate(bool add);
  void rewrite();
  uint16_t slotOf(const Node &node, unsigned position) const {
    return position ? steps[node.first].entry.slot[position - 1] : 0;
  }

  ClassProgram &program;
  const Plan &plan;
  size_t streams;
  uint32_t slots = 1; ///< highest slot number of any list entry + 1
  std::vector<Step> steps;
  std::vector<std::vector<Access>> touched; ///< by step
  std::vector<Node> nodes;
  std::vector<Need> needs;
  std::vector<Edge> edges;
  std::vector<bool> alive;
  std::map<Edge, size_t> edgeIndex;
  std::vector<std::vector<size_t>> into, from; ///< edges by instruction
  std::vector<Clock> recorded;                 ///< of edge e and slot s: e * slots + s; empty: not yet
};

void Deriver::unrollList(const std::vector<ListEntry> &list) {
  for (const ListEntry &entry : list) {
    const Template &t = program.templates[entry.templateIndex];
    for (uint32_t i = t.first; i < t.first + t.count;) {
      const Instr &instr = program.instrs[i];
      if (instr.op == Op::Repeat) {
        // The first two and the last two layers show every hazard between neighbours, into the loop
        // and out of it; runtime/verify unrolls all of them.
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
      touch(i, kernel.args[i].bytes,
            kernel.args[i].access == format::Access::Read ||
                kernel.args[i].access == format::Access::ReadWrite,
            kernel.args[i].access == format::Access::Write ||
                kernel.args[i].access == format::Access::ReadWrite);
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

void Deriver::group() {
  std::vector<uint32_t> ticks(streams, 0);
  for (size_t n = 0; n < steps.size();) {
    size_t last = n + 1;
    while (last < steps.size() && steps[last].group == steps[n].group && steps[n].group != steps[n].instr &&
           steps[last].instr == steps[last - 1].instr + 1)
      ++last;
    uint32_t stream = program.instrs[steps[n].instr].stream;
    nodes.push_back({n, last, steps[n].group, stream, ++ticks[stream]});
    n = last;
  }
  for (const Step &step : steps)
    for (uint16_t slot : step.entry.slot)
      slots = std::max<uint32_t>(slots, uint32_t(slot) + 1);
  into.resize(program.instrs.size());
  from.resize(program.instrs.size());
}

/// The conflicts of every node with what came before it: they depend on the lists alone, not on
/// the edges.  A write hides what it covers from later nodes: it is ordered behind it.
void Deriver::findNeeds() {
  struct History {
    std::map<uint64_t, Touch> writes;             // by begin, disjoint
    std::map<uint64_t, std::vector<Touch>> reads; // by begin of the exact range read
    uint64_t longestRead = 0;
    auto firstRead(uint64_t begin) {
      return reads.lower_bound(begin < longestRead ? 0 : begin - longestRead);
    }
    auto firstWrite(uint64_t begin) {
      auto w = writes.upper_bound(begin);
      if (w != writes.begin() && std::prev(w)->second.end > begin)
        --w;
      return w;
    }
  };
  std::vector<History> history(program.regions.size());
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    Node &node = nodes[n];
    node.firstNeed = needs.size();
    auto need = [&](const Touch &earlier, unsigned toSlot, uint16_t slot) {
      if (nodes[earlier.node].stream == node.stream)
        return;
      bool perSlot = earlier.slotPosition && toSlot && earlier.slot == slot;
      Need entry{earlier.node, perSlot ? earlier.slotPosition : 0, perSlot ? toSlot : 0};
      if (std::find(needs.begin() + node.firstNeed, needs.end(), entry) == needs.end())
        needs.push_back(entry);
    };
    for (size_t m = node.first; m < node.last; ++m)
      for (const Access &access : touched[m]) {
        uint16_t slot = access.slotPosition ? steps[m].entry.slot[access.slotPosition - 1] : 0;
        History &h = history[access.region];
        for (auto w = h.firstWrite(access.begin); w != h.writes.end() && w->first < access.end; ++w)
          need(w->second, access.slotPosition, slot);
        if (access.write)
          for (auto r = h.firstRead(access.begin); r != h.reads.end() && r->first < access.end; ++r)
            for (const Touch &t : r->second)
              if (t.end > access.begin)
                need(t, access.slotPosition, slot);
      }
    node.lastNeed = needs.size();
    for (size_t m = node.first; m < node.last; ++m)
      for (const Access &access : touched[m]) {
        uint16_t slot = access.slotPosition ? steps[m].entry.slot[access.slotPosition - 1] : 0;
        Touch touch{access.end, n, access.slotPosition, slot};
        History &h = history[access.region];
        if (!access.write) {
          h.longestRead = std::max(h.longestRead, access.end - access.begin);
          std::vector<Touch> &list = h.reads[access.begin];
          bool replaced = false;
          for (Touch &t : list)
            if (nodes[t.node].stream == node.stream && t.end == touch.end) {
              t = touch;
              replaced = true;
            }
          if (!replaced)
            list.push_back(touch);
          continue;
        }
        // The write replaces what it covers; pieces beside it stay.
        auto w = h.firstWrite(access.begin);
        while (w != h.writes.end() && w->first < access.end) {
          uint64_t begin = w->first;
          Touch old = w->second;
          w = h.writes.erase(w);
          if (begin < access.begin) {
            Touch left = old;
            left.end = access.begin;
            h.writes[begin] = left;
          }
          if (old.end > access.end)
            w = h.writes.insert({access.end, old}).first;
        }
        h.writes[access.begin] = touch;
        for (auto r = h.firstRead(access.begin); r != h.reads.end() && r->first < access.end;) {
          auto &list = r->second;
          std::erase_if(list,
                        [&](const Touch &t) { return r->first >= access.begin && t.end <= access.end; });
          r = list.empty() ? h.reads.erase(r) : std::next(r);
        }
      }
  }
}

size_t Deriver::addEdge(const Edge &edge) {
  auto [it, fresh] = edgeIndex.emplace(edge, edges.size());
  if (fresh) {
    into[edge.to].push_back(edges.size());
    from[edge.from].push_back(edges.size());
    edges.push_back(edge);
    alive.push_back(true);
    recorded.resize(recorded.size() + slots);
  }
  return it->second;
}

/// Runs all nodes on vector clocks.  True if an unordered conflict was found; with `add` each
/// one becomes an edge, without it the first one ends the run.
bool Deriver::simulate(bool add) {
  std::vector<Clock> now(streams, Clock(streams, 0));
  for (Clock &clock : recorded)
    clock.clear();
  bool found = false;
  for (const Node &node : nodes) {
    Clock &clock = now[node.stream];
    for (size_t e : into[node.anchor])
      if (alive[e])
        if (const Clock &r = recorded[e * slots + slotOf(node, edges[e].toSlot)]; !r.empty())
          for (size_t s = 0; s < streams; ++s)
            clock[s] = std::max(clock[s], r[s]);
    clock[node.stream] = node.tick;
    for (size_t i = node.firstNeed; i < node.lastNeed; ++i) {
      const Node &earlier = nodes[needs[i].earlier];
      if (clock[earlier.stream] >= earlier.tick)
        continue;
      if (!add)
        return true;
      found = true;
      addEdge({earlier.anchor, node.anchor, needs[i].fromSlot, needs[i].toSlot});
      clock[earlier.stream] = earlier.tick;
    }
    for (size_t e : from[node.anchor])
      if (alive[e])
        recorded[e * slots + slotOf(node, edges[e].fromSlot)] = clock;
  }
  return found;
}

/// Puts records behind and waits before the instructions; one event per source instruction
/// (and slot), shared by all its targets.
void Deriver::rewrite() {
  std::map<std::pair<uint32_t, unsigned>, uint32_t> eventOf; // (from, fromSlot) -> first number
  uint32_t events = 0;
  std::set<Edge> kept;
  for (size_t e = 0; e < edges.size(); ++e)
    if (alive[e])
      kept.insert(edges[e]);
  for (const Edge &e : kept) {
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
  for (const Edge &e : kept) {
    Instr wait;
    wait.op = Op::Wait;
    wait.index = eventOf[{e.from, e.fromSlot}];
    wait.flags = e.toSlot;
    wait.stream =
        program.instrs[e.to].op == Op::Group ? program.instrs[e.to + 1].stream : program.instrs[e.to].stream;
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

  // A wait that can come before any record of its event counts as done the first time. Text order
  // is enough: the wait of a repeat's body that stands before its record comes first in layer one.
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
