//===- memory.cpp - Ranges, waits and races on the unrolled lists -----------===//
//
// Each class alone: init, step, step, eval, eval, step in a row, since hazards
// wrap around.  (The executor empties its streams between lists; the proof does
// not lean on that.)  What a list reads it wrote itself, or init or the runtime
// did, so that the lists may run in any order after init.
//
// Happens-before is same-stream order plus record -> wait, where a wait takes
// the last earlier record of its event in issue order.  It is kept as one
// vector clock per stream.  The arena is cut at every address where an access
// begins or ends; each piece holds its last writer and, per stream, its last
// reader, so that every access is compared only with what can conflict.
// Members of a group get one clock: they are unordered among themselves.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/context.h"
#include "runtime/verify/unroll.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace hocket::verify {

namespace {

struct Range {
  uint64_t begin, end;
};

class ClassMemory {
public:
  ClassMemory(Context &cx, uint32_t cls, uint64_t &budget)
      : cx(cx), cls(cls), c(cx.plan.classes[cls]), facts(cx.facts[cls]), streams(c.streams.size()),
        budget(budget) {}

  void run() {
    for (auto [name, list] : {std::pair("init", &c.init), {"step", &c.step}, {"eval", &c.eval}})
      survey(name, *list);
    if (cx.findings.any())
      return;
    cutArena();
    if (cuts.size() * streams > kMaxPieces)
      return cx.classFinding(cls, num(cuts.size()) + " pieces of memory on " + num(streams) + " streams",
                             "at most " + num(kMaxPieces) + " of them together");
    reset();
    facts.resultRead.assign(facts.accesses.size(), false);
    pass(c.init);
    for (size_t i = 0; i < writers.size(); ++i)
      initWrote[i] = writers[i].written;
    for (const std::vector<ListEntry> *list : {&c.step, &c.step, &c.eval, &c.eval, &c.step})
      pass(*list);
  }

private:
  Context &cx;
  uint32_t cls;
  const ClassProgram &c;
  ClassFacts &facts;
  const size_t streams;
  uint64_t &budget; ///< pieces that may still be visited, over the whole plan

  std::vector<uint64_t> cuts;     ///< ascending; piece i is [cuts[i], cuts[i+1])
  std::vector<RegionKind> kindOf; ///< of each piece
  std::vector<bool> perMicro;     ///< templates that run for a micro-batch, in the list at hand

  struct Writer {
    uint32_t clock = 0, instr = 0; ///< clock 0: nobody
    uint32_t access = 0;           ///< number in ClassFacts::accesses
    uint16_t stream = 0;
    bool written = false;
    int64_t micro = -1; ///< of the last write by a template that runs per micro-batch
  };
  struct Reader {
    uint32_t clock = 0, instr = 0;
  };
  using Clock = std::vector<uint32_t>;
  std::vector<Writer> writers;
  std::vector<bool> initWrote;                  ///< pieces written at init
  std::vector<Reader> readers;                  ///< piece * streams + stream
  std::vector<Clock> now;                       ///< of each stream
  std::unordered_map<uint64_t, Clock> recorded; ///< of each event that was
  struct Last {
    uint32_t clock = 0, instr = 0;
    uint16_t stream = 0;
  };
  std::map<std::array<int64_t, 3>, Last> lastOn; ///< of each order of communication, see comm()

  void survey(const char *name, const std::vector<ListEntry> &list);
  bool locate(const Point &p, const ListEntry &e, const AccessRule &rule, Range &out);
  Range rangeOf(const Point &p, const ListEntry &e, const AccessRule &rule) const;
  void cutArena();
  void reset();
  void pass(const std::vector<ListEntry> &list);
  void access(const Point &p, const ListEntry &e, const AccessRule &rule, uint16_t stream, uint32_t clock);
  void comm(const Instr &in, uint32_t instr, uint32_t clock);
  void scalars(const char *list, const Instr &in, uint32_t instr);
  void race(const char *mine, uint32_t instr, const char *theirs, uint32_t other, uint64_t address);
  std::string nameAt(uint64_t address) const;
  std::vector<bool> runsPerMicro(const std::vector<ListEntry> &list) const;
};

/// Ranges, events and waits; collects the addresses to cut at.
void ClassMemory::survey(const char *name, const std::vector<ListEntry> &list) {
  std::vector<bool> done(c.events);
  for (uint32_t e : c.firstUse)
    done[e] = true;
  size_t compacted = 0;
  unroll(c, list, [&](const Point &p) {
    const Instr &in = c.instrs[p.instr];
    const ListEntry &e = list[p.entry];
    if (in.op == Op::Record || in.op == Op::Wait) {
      uint64_t event = eventOf(in, e);
      if (event >= c.events)
        cx.instrFinding(cls, p.instr,
                        "event " + num(event) + " in entry " + num(p.entry) + " of list " + name,
                        "an event below " + num(c.events));
      else if (in.op == Op::Record)
        done[event] = true;
      else if (!done[event])
        cx.instrFinding(cls, p.instr,
                        "waits for event " + num(event) + ", which nothing recorded before (entry " +
                            num(p.entry) + " of list " + name + ")",
                        "an earlier record in issue order, or the event among the first uses");
    }
    scalars(name, in, p.instr);
    for (uint32_t a = facts.firstAccess[p.instr]; a < facts.firstAccess[p.instr + 1]; ++a)
      if (Range r; locate(p, e, facts.accesses[a], r)) {
        cuts.push_back(r.begin);
        cuts.push_back(r.end);
      }
    if (cuts.size() > 2 * compacted + (1 << 16)) {
      std::sort(cuts.begin(), cuts.end());
      cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
      compacted = cuts.size();
    }
    return !cx.findings.full();
  });
}

/// The seed is known at init only, the optimizer's scalars in a step only.
void ClassMemory::scalars(const char *list, const Instr &in, uint32_t instr) {
  if (in.op != Op::Launch)
    return;
  for (uint32_t k = 0; k < in.operandCount; ++k) {
    const Operand &o = c.operands[in.firstOperand + k];
    if (o.kind != OperandKind::Scalar)
      continue;
    bool seed = cx.plan.scalars[o.index].kind == ScalarKind::Seed;
    if (list != std::string_view(seed ? "init" : "step"))
      cx.instrFinding(cls, instr, std::string(seed ? "the seed" : "a step scalar") + " in list " + list,
                      seed ? "the seed in init only" : "step scalars in step only");
  }
}

/// Slot, layer and micro-batch against the region, then the range.
bool ClassMemory::locate(const Point &p, const ListEntry &e, const AccessRule &rule, Range &out) {
  const Operand &o = c.operands[c.instrs[p.instr].firstOperand + rule.operand];
  const Region &r = c.regions[o.index];
  auto fail = [&](const char *what, uint64_t has, uint64_t count) {
    cx.instrFinding(cls, p.instr,
                    "operand " + num(rule.operand) + " names " + what + " " + num(has) + " of region " +
                        quote(r.name) + " (entry " + num(p.entry) + ", layer " + num(uint64_t(p.layer)) + ")",
                    std::string(what) + "s below " + num(count));
    return false;
  };
  if (uint32_t s = o.flags & kSlotMask; s && e.slot[s - 1] >= r.slots)
    return fail("slot", e.slot[s - 1], r.slots);
  if (o.flags & kLayered && uint64_t(p.layer) >= r.layers)
    return fail("layer", uint64_t(p.layer), r.layers);
  if (o.flags & kMicro && e.micro >= r.micros)
    return fail("micro-batch", e.micro, r.micros);
  out = rangeOf(p, e, rule); // no overflow: all strides together stay inside the region, see program.cpp
  if (out.begin - r.offset > r.bytes || rule.bytes > r.bytes - (out.begin - r.offset)) {
    cx.instrFinding(cls, p.instr,
                    "operand " + num(rule.operand) + " is " + num(rule.bytes) + " bytes at byte " +
                        num(out.begin - r.offset) + " of region " + quote(r.name) + " (entry " +
                        num(p.entry) + ", layer " + num(uint64_t(p.layer)) + ")",
                    "a range within the region's " + num(r.bytes) + " bytes");
    return false;
  }
  return true;
}

Range ClassMemory::rangeOf(const Point &p, const ListEntry &e, const AccessRule &rule) const {
  const Operand &o = c.operands[c.instrs[p.instr].firstOperand + rule.operand];
  const Region &r = c.regions[o.index];
  uint64_t at = r.offset + uint64_t(o.offset);
  if (uint32_t s = o.flags & kSlotMask)
    at += e.slot[s - 1] * r.slotStride;
  if (o.flags & kLayered)
    at += uint64_t(p.layer) * r.layerStride;
  if (o.flags & kMicro)
    at += e.micro * r.microStride;
  return {at, at + rule.bytes};
}

void ClassMemory::cutArena() {
  for (const Region &r : c.regions) {
    cuts.push_back(r.offset);
    cuts.push_back(r.offset + r.bytes);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  kindOf.assign(cuts.size(), RegionKind::Scratch);
  for (const Region &r : c.regions) {
    auto begin = std::lower_bound(cuts.begin(), cuts.end(), r.offset) - cuts.begin();
    auto end = std::lower_bound(cuts.begin(), cuts.end(), r.offset + r.bytes) - cuts.begin();
    std::fill(kindOf.begin() + begin, kindOf.begin() + end, r.kind);
  }
}

void ClassMemory::reset() {
  writers.assign(cuts.size(), {});
  initWrote.assign(cuts.size(), false);
  readers.assign(cuts.size() * streams, {});
  recorded.clear();
  now.assign(streams, Clock(streams, 0));
  lastOn.clear();
}

/// A template runs per micro-batch if its micro-batch is seen: in an address,
/// in an affine, or by running for several.  Others have the number 0 without meaning.
std::vector<bool> ClassMemory::runsPerMicro(const std::vector<ListEntry> &list) const {
  std::vector<bool> out(c.templates.size());
  std::vector<int64_t> seen(c.templates.size(), -1);
  for (const ListEntry &e : list) {
    int64_t &first = seen[e.templateIndex];
    if (first < 0)
      first = e.micro;
    if (first != e.micro || e.micro != 0)
      out[e.templateIndex] = true;
  }
  for (uint32_t i = 0; i < c.instrs.size(); ++i)
    for (uint32_t k = 0; k < c.instrs[i].operandCount; ++k) {
      const Operand &o = c.operands[c.instrs[i].firstOperand + k];
      if ((o.kind == OperandKind::Region && o.flags & kMicro) ||
          (o.kind == OperandKind::Affine && cx.plan.affines[o.index].micro))
        out[facts.templateOf[i]] = true;
    }
  return out;
}

void ClassMemory::pass(const std::vector<ListEntry> &list) {
  perMicro = runsPerMicro(list);
  for (size_t i = 0; i < writers.size(); ++i) {
    writers[i].micro = -1;
    // What any list may find written: by the runtime, or at init where that lasts. The rest it writes itself.
    RegionKind k = kindOf[i];
    writers[i].written =
        k == RegionKind::Input ||
        (initWrote[i] && (k == RegionKind::Parameter || k == RegionKind::State || k == RegionKind::Buffer));
  }
  uint32_t groupLeft = 0;
  unroll(c, list, [&](const Point &p) {
    const Instr &in = c.instrs[p.instr];
    const ListEntry &e = list[p.entry];
    Clock &clock = now[in.stream];
    if (in.op == Op::Group) {
      groupLeft = uint32_t(in.arg);
      return true;
    }
    if (in.op == Op::Record) {
      recorded[eventOf(in, e)] = clock;
    } else if (in.op == Op::Wait) {
      if (auto it = recorded.find(eventOf(in, e)); it != recorded.end())
        for (size_t s = 0; s < streams; ++s)
          clock[s] = std::max(clock[s], it->second[s]);
    } else if (in.op != Op::Mark) {
      // Compared under the clock before this instruction (or group).
      uint32_t mine = clock[in.stream] + 1;
      if (in.op == Op::Collective || in.op == Op::Send || in.op == Op::Recv)
        comm(in, p.instr, mine);
      for (uint32_t a = facts.firstAccess[p.instr]; a < facts.firstAccess[p.instr + 1]; ++a)
        access(p, e, facts.accesses[a], in.stream, mine);
      if (groupLeft == 0 || --groupLeft == 0)
        clock[in.stream] = mine;
    }
    return !cx.findings.full();
  });
}

/// Operations that match by their number must be ordered in the class: those of
/// a group communicator; on a pair communicator, those of one direction and peer. Two communicators
/// may be in flight together where they share one rank: with two, each could hold what the other waits for.
void ClassMemory::comm(const Instr &in, uint32_t instr, uint32_t clock) {
  bool pair = cx.plan.communicators[in.index].pair;
  std::array<int64_t, 3> key = {int64_t(in.index), pair ? int64_t(in.op) : 0, pair ? in.arg : 0};
  Last &last = lastOn[key];
  bool sameGroup = last.stream == in.stream && last.clock == clock;
  if (last.clock > now[in.stream][last.stream] && !sameGroup)
    cx.instrFinding(cls, instr,
                    "unordered with " + cx.place(cls, last.instr) + " on communicator " +
                        quote(cx.plan.communicators[in.index].name),
                    "one stream, or a record and a wait between them");
  for (auto &[other, theirs] : lastOn)
    if (other[0] != key[0] && cx.sharedDevices(in.index, uint32_t(other[0])) > 1 &&
        theirs.stream != in.stream && theirs.clock > now[in.stream][theirs.stream])
      cx.instrFinding(
          cls, instr,
          "may be in flight on communicator " + quote(cx.plan.communicators[in.index].name) +
              " together with " + cx.place(cls, theirs.instr) + " on " +
              quote(cx.plan.communicators[size_t(other[0])].name) + ", which joins " +
              num(cx.sharedDevices(in.index, uint32_t(other[0]))) + " of the same ranks",
          "one stream, or a record and a wait between communicators that share two ranks or more");
  last = {clock, instr, in.stream};
}

/// "'stash'+512".
std::string ClassMemory::nameAt(uint64_t address) const {
  for (const Region &r : c.regions)
    if (address >= r.offset && address - r.offset < r.bytes)
      return quote(r.name) + "+" + num(address - r.offset);
  return "?";
}

void ClassMemory::race(const char *mine, uint32_t instr, const char *theirs, uint32_t other,
                       uint64_t address) {
  std::string problem = std::string(mine) + " region " + nameAt(address) + " unordered with the " + theirs +
                        " by " + (instr == other ? "itself" : cx.place(cls, other));
  cx.instrFinding(cls, instr, std::move(problem),
                  std::string("a record after the earlier ") + theirs +
                      " and a wait before this, or one stream" +
                      (instr == other ? "; operands of one instruction that do not overlap" : ""));
}

void ClassMemory::access(const Point &p, const ListEntry &e, const AccessRule &rule, uint16_t stream,
                         uint32_t mine) {
  Range r = rangeOf(p, e, rule);
  size_t first = std::lower_bound(cuts.begin(), cuts.end(), r.begin) - cuts.begin();
  const Clock &clock = now[stream];
  bool reads = rule.access != Access::Write, writes = rule.access != Access::Read;
  const Op op = c.instrs[p.instr].op;
  const bool accumulates =
      reads && writes && (op == Op::Gemm || op == Op::Launch) && perMicro[facts.templateOf[p.instr]];
  for (size_t i = first; cuts[i] < r.end; ++i) {
    if (budget == 0) {
      cx.plainFinding("more than " + num(kMaxRangeVisits) + " pieces of memory to compare",
                      "fewer overlapping ranges");
      return;
    }
    --budget;
    Writer &w = writers[i];
    if (w.clock > clock[w.stream])
      race(writes ? "writes" : "reads", p.instr, "write", w.instr, cuts[i]);
    if (reads && w.clock)
      facts.resultRead[w.access] = true;
    if (reads && !w.written) {
      cx.instrFinding(
          cls, p.instr,
          "reads region " + nameAt(cuts[i]) + ", which nothing wrote before (entry " + num(p.entry) + ")",
          "an earlier write in the same list; parameters, state and buffers may be written at init");
      w.written = true; // said once
    }
    if (!writes) {
      readers[i * streams + stream] = {mine, p.instr};
      continue;
    }
    for (size_t s = 0; s < streams; ++s) {
      Reader &reader = readers[i * streams + s];
      if (reader.clock > clock[s])
        race("writes", p.instr, "read", reader.instr, cuts[i]);
      reader = {};
    }
    if (accumulates && (kindOf[i] == RegionKind::Gradient || kindOf[i] == RegionKind::Buffer) &&
        int64_t(e.micro) < w.micro)
      cx.instrFinding(cls, p.instr,
                      "accumulates micro-batch " + num(e.micro) + " after micro-batch " +
                          num(uint64_t(w.micro)),
                      "accumulators fed in micro-batch order");
    w = {mine,   p.instr, uint32_t(&rule - facts.accesses.data()),
         stream, true,    perMicro[facts.templateOf[p.instr]] ? int64_t(e.micro) : -1};
  }
}

} // namespace

void verifyMemory(Context &cx) {
  uint64_t budget = kMaxRangeVisits;
  for (uint32_t i = 0; i < cx.plan.classes.size() && !cx.findings.full(); ++i)
    ClassMemory(cx, i, budget).run();
}

} // namespace hocket::verify
