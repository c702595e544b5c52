//===- program.cpp - Regions, templates, each instruction by itself ---------===//
//
// What can be said without unrolling.  Establishes for the parts that follow:
// templates tile the instructions, repeat bodies and groups lie within their
// template, every number names something, region strides cannot overflow, and
// ClassFacts lists every access with its bytes.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/context.h"

#include <algorithm>
#include <cstdlib>

namespace hocket::verify {

namespace {

class ClassCheck {
public:
  ClassCheck(Context &cx, uint32_t cls) : cx(cx), plan(cx.plan), cls(cls), c(cx.plan.classes[cls]) {}

  void run() {
    regions();
    events();
    if (!templates())
      return;
    for (const Template &t : c.templates)
      body(t);
    facts.firstAccess.push_back(uint32_t(facts.accesses.size()));
    for (auto [name, list] : {std::pair("init", &c.init), {"step", &c.step}, {"eval", &c.eval}})
      entries(name, *list);
  }

  ClassFacts facts;

private:
  Context &cx;
  const Plan &plan;
  uint32_t cls;
  const ClassProgram &c;

  void fail(std::string problem, std::string legal) {
    cx.classFinding(cls, std::move(problem), std::move(legal));
  }
  void fail(uint32_t instr, std::string problem, std::string legal) {
    cx.instrFinding(cls, instr, std::move(problem), std::move(legal));
  }

  void regions();
  void events();
  bool templates();
  void entries(const char *name, const std::vector<ListEntry> &list);
  void body(const Template &t);
  void repeat(uint32_t at, uint32_t end);
  void group(uint32_t at, uint32_t end);
  void instr(uint32_t at);
  bool operands(uint32_t at, size_t count, const char *what);
  void memory(uint32_t at, uint16_t operand, Access access, uint64_t bytes, uint64_t element);
  void value(uint32_t at, uint16_t operand, uint64_t bytes);
  void launch(uint32_t at);
  void gemm(uint32_t at);
  void collective(uint32_t at);
  void transfer(uint32_t at);
  void metric(uint32_t at);
  void unusedFields(uint32_t at);
  void payload(uint32_t at, size_t operandCount, const char *what);
};

void ClassCheck::regions() {
  if (c.arenaBytes > kMaxArenaBytes)
    return fail("arena of " + num(c.arenaBytes) + " bytes", "at most 2^62 bytes");
  std::vector<const Region *> order;
  for (const Region &r : c.regions) {
    std::string who = "region " + quote(r.name);
    if (r.offset > c.arenaBytes || r.bytes > c.arenaBytes - r.offset) {
      fail(who + " at [" + num(r.offset) + ", +" + num(r.bytes) + ")",
           "a range inside the arena of " + num(c.arenaBytes) + " bytes");
      continue;
    }
    if (r.offset % 64 != 0)
      fail(who + " begins at byte " + num(r.offset), "a multiple of 64");
    if (r.kind > RegionKind::Scratch)
      fail(who + " has kind " + num(uint64_t(r.kind)), "0 to " + num(uint64_t(RegionKind::Scratch)));
    uint64_t last = 0;
    bool fits = true;
    for (auto [name, count, stride] : {std::tuple("slots", r.slots, r.slotStride),
                                       {"layers", r.layers, r.layerStride},
                                       {"micro-batches", r.micros, r.microStride}}) {
      uint64_t term = 0;
      if (count == 0 || (count > 1 && stride == 0))
        fail(who + " has " + num(count) + " " + name + " of stride " + num(stride),
             "a count of at least 1, a stride above 0 if the count is above 1");
      else if (__builtin_mul_overflow(uint64_t(count) - 1, stride, &term) ||
               __builtin_add_overflow(last, term, &last))
        fits = false;
    }
    if (!fits || last > r.bytes || (last == r.bytes && r.bytes > 0))
      fail(who + ": its last slot, layer and micro-batch begin outside its " + num(r.bytes) + " bytes",
           "counts and strides that fit");
    if (r.bytes > 0)
      order.push_back(&r);
  }
  std::sort(order.begin(), order.end(), [](const Region *a, const Region *b) {
    return std::pair(a->offset, a) < std::pair(b->offset, b);
  });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      fail("regions " + quote(order[i - 1]->name) + " and " + quote(order[i]->name) + " overlap",
           "disjoint regions");
}

void ClassCheck::events() {
  if (c.streams.empty() || c.streams.size() > kMaxStreams)
    fail(num(c.streams.size()) + " streams", "1 to " + num(kMaxStreams));
  if (c.events > kMaxEvents)
    fail(num(c.events) + " events", "at most " + num(kMaxEvents));
  for (uint32_t e : c.firstUse)
    if (e >= c.events)
      fail("first use of event " + num(e), "an event below " + num(c.events));
}

/// In order and without gaps, so that an instruction is checked once and no
/// file can name the same long template, or the same operands, many times.
bool ClassCheck::templates() {
  uint64_t next = 0;
  for (uint32_t t = 0; t < c.templates.size(); ++t) {
    const Template &tmpl = c.templates[t];
    if (tmpl.first != next || tmpl.count > c.instrs.size() - next) {
      fail("template " + quote(tmpl.name) + " has instructions [" + num(tmpl.first) + ", +" +
               num(tmpl.count) + ")",
           "templates that follow each other without gaps within the class's " + num(c.instrs.size()) +
               " instructions; this one begins at " + num(next));
      return false;
    }
    facts.templateOf.insert(facts.templateOf.end(), tmpl.count, t);
    next += tmpl.count;
  }
  uint64_t operandCount = 0;
  for (const Instr &i : c.instrs)
    operandCount += i.operandCount;
  if (operandCount > c.operands.size()) {
    fail("its instructions have " + num(operandCount) + " operands",
         "at most its " + num(c.operands.size()) + " operand records");
    return false;
  }
  if (next != c.instrs.size())
    fail("instructions from " + num(next) + " on belong to no template", "templates that cover all");
  return next == c.instrs.size();
}

void ClassCheck::entries(const char *name, const std::vector<ListEntry> &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const ListEntry &e = list[i];
    if (e.templateIndex >= c.templates.size())
      fail(std::string("entry ") + num(i) + " of list " + name + " runs template " + num(e.templateIndex),
           "a template below " + num(c.templates.size()));
    else if (e.micro >= plan.microBatches)
      fail(std::string("entry ") + num(i) + " of list " + name + " runs micro-batch " + num(e.micro),
           "a micro-batch below " + num(plan.microBatches));
  }
}

void ClassCheck::body(const Template &t) {
  uint32_t end = t.first + t.count, repeatEnd = 0, groupEnd = 0;
  for (uint32_t i = t.first; i < end; ++i) {
    const Instr &in = c.instrs[i];
    facts.firstAccess.push_back(uint32_t(facts.accesses.size()));
    if (in.name >= plan.strings.size() && !(in.name == 0 && plan.strings.empty()))
      fail(i, "name " + num(in.name), "a string below " + num(plan.strings.size()));
    if (in.firstOperand > c.operands.size() || in.operandCount > c.operands.size() - in.firstOperand) {
      fail(i, "operands [" + num(in.firstOperand) + ", +" + num(in.operandCount) + ")",
           "a range within the class's " + num(c.operands.size()) + " operands");
      continue;
    }
    unusedFields(i);
    if (in.op == Op::Repeat) {
      operands(i, 0, "none");
      if (i < repeatEnd)
        fail(i, "a repeat inside a repeat", "flat repeat bodies");
      repeat(i, end);
      repeatEnd = uint32_t(std::min<uint64_t>(uint64_t(i) + 1 + uint64_t(std::max(in.arg, 0)), end));
      continue;
    }
    if (in.stream >= c.streams.size()) {
      fail(i, "stream " + num(in.stream), "a stream below " + num(c.streams.size()));
      continue;
    }
    if (in.op == Op::Group) {
      operands(i, 0, "none");
      if (i < groupEnd)
        fail(i, "a group inside a group", "flat groups");
      group(i, i < repeatEnd ? repeatEnd : end);
      groupEnd = uint32_t(std::min<uint64_t>(uint64_t(i) + 1 + uint64_t(std::max(in.arg, 0)), end));
      continue;
    }
    instr(i);
  }
}

void ClassCheck::repeat(uint32_t at, uint32_t end) {
  const Instr &in = c.instrs[at];
  if (in.arg < 1 || uint32_t(in.arg) > end - at - 1)
    fail(at, "a repeat of " + std::to_string(in.arg) + " instructions",
         "1 to the " + num(end - at - 1) + " that follow in the template");
  int64_t span = int64_t(in.to) - in.from, step = in.step;
  if (step == 0 || span % step != 0 || span / step < 0)
    fail(at,
         "repeat from " + std::to_string(in.from) + " to " + std::to_string(in.to) + " in steps of " +
             std::to_string(in.step),
         "a step that leads from the first to the last in whole steps");
  else if (span != 0 && (in.from < 0 || in.to - step < 0))
    fail(at,
         "repeat from " + std::to_string(in.from) + " to " + std::to_string(in.to) + " names negative layers",
         "layers from 0");
}

void ClassCheck::group(uint32_t at, uint32_t end) {
  const Instr &in = c.instrs[at];
  if (in.arg < 1 || uint32_t(in.arg) > end - at - 1)
    return fail(at, "a group of " + std::to_string(in.arg) + " instructions",
                "1 to the " + num(end - at - 1) + " that follow in the same template or repeat body");
  for (uint32_t i = at + 1; i <= at + uint32_t(in.arg); ++i) {
    const Instr &member = c.instrs[i];
    if ((member.op != Op::Send && member.op != Op::Recv) || member.stream != in.stream)
      fail(i,
           std::string(nameOf(member.op)) + " on stream " + num(member.stream) + " in a group of stream " +
               num(in.stream),
           "only sends and receives of the group's stream");
  }
}

void ClassCheck::instr(uint32_t at) {
  const Instr &in = c.instrs[at];
  switch (in.op) {
  case Op::Launch:
    return launch(at);
  case Op::Gemm:
    return gemm(at);
  case Op::Collective:
    return collective(at);
  case Op::Send:
  case Op::Recv:
    return transfer(at);
  case Op::Copy:
    payload(at, 2, "source and destination");
    if (in.operandCount == 2) {
      memory(at, 0, Access::Read, in.bytes, 1);
      memory(at, 1, Access::Write, in.bytes, 1);
    }
    return;
  case Op::Fill:
    payload(at, 1, "the destination");
    if (in.operandCount == 1)
      memory(at, 0, Access::Write, in.bytes, 1);
    return;
  case Op::Record:
  case Op::Wait:
    operands(at, 0, "none");
    if (in.flags > 4)
      fail(at, "slot number " + num(in.flags), "0 (none) to 4");
    if (in.index >= c.events)
      fail(at, "event " + num(in.index), "an event below " + num(c.events));
    return;
  case Op::Mark:
    operands(at, 0, "none");
    if (in.flags > 1)
      fail(at, "flags " + num(in.flags), "0 (begin) or 1 (end)");
    return;
  case Op::Metric:
    return metric(at);
  case Op::Group:
  case Op::Repeat:
    return;
  }
  fail(at, "instruction kind " + num(uint64_t(in.op)), "0 to " + num(uint64_t(Op::Metric)));
}

bool ClassCheck::operands(uint32_t at, size_t count, const char *what) {
  if (c.instrs[at].operandCount == count)
    return true;
  fail(at, num(c.instrs[at].operandCount) + " operands", num(count) + ": " + what);
  return false;
}

void ClassCheck::payload(uint32_t at, size_t operandCount, const char *what) {
  operands(at, operandCount, what);
  if (c.instrs[at].bytes == 0)
    fail(at, "0 bytes", "at least 1");
}

/// Fields without a meaning are 0, so that a later version can give them one
/// and a damaged plan shows.
void ClassCheck::unusedFields(uint32_t at) {
  const Instr &in = c.instrs[at];
  bool transfer = in.op == Op::Send || in.op == Op::Recv, event = in.op == Op::Record || in.op == Op::Wait;
  bool collective = in.op == Op::Collective, repeat = in.op == Op::Repeat, group = in.op == Op::Group;
  bool payload = transfer || collective || in.op == Op::Copy || in.op == Op::Fill;
  auto check = [&](const char *field, bool used, int64_t value) {
    if (!used && value != 0)
      fail(at, std::string(field) + " is " + std::to_string(value),
           "0, " + std::string(nameOf(in.op)) + " has no " + field);
  };
  check("flags", collective || event || in.op == Op::Mark, in.flags);
  check("stream", !repeat, in.stream);
  check("index",
        transfer || event || collective || in.op == Op::Launch || in.op == Op::Gemm || in.op == Op::Metric,
        in.index);
  check("arg", transfer || collective || repeat || group, in.arg);
  check("bytes", payload, int64_t(in.bytes));
  check("from", repeat, in.from);
  check("to", repeat, in.to);
  check("step", repeat, in.step);
}

/// The range itself depends on slot, layer and micro-batch: see memory.cpp.
void ClassCheck::memory(uint32_t at, uint16_t operand, Access access, uint64_t bytes, uint64_t element) {
  const Operand &o = c.operands[c.instrs[at].firstOperand + operand];
  std::string who = "operand " + num(operand);
  if (o.kind != OperandKind::Region)
    return fail(at, who + " is no address", "an operand of kind region");
  if (o.index >= c.regions.size())
    return fail(at, who + " names region " + num(o.index), "a region below " + num(c.regions.size()));
  if ((o.flags & kSlotMask) > 4 || (o.flags & ~(kSlotMask | kLayered | kMicro)))
    return fail(at, who + " has flags " + num(o.flags), "slot 0 to 4, layered, micro");
  const Region &r = c.regions[o.index];
  if (o.offset < 0 || uint64_t(o.offset) >= r.bytes || bytes > r.bytes)
    return fail(at,
                who + " is " + num(bytes) + " bytes at offset " + std::to_string(o.offset) + " of region " +
                    quote(r.name),
                "a range within the region's " + num(r.bytes) + " bytes");
  if (uint64_t(o.offset) % element || (o.flags & kLayered && r.layerStride % element) ||
      (o.flags & kMicro && r.microStride % element) || (o.flags & kSlotMask && r.slotStride % element))
    fail(at, who + " is not aligned to its elements",
         "offset and strides in multiples of " + num(element) + " bytes");
  facts.accesses.push_back({operand, access, bytes});
}

void ClassCheck::value(uint32_t at, uint16_t operand, uint64_t bytes) {
  const Operand &o = c.operands[c.instrs[at].firstOperand + operand];
  std::string who = "operand " + num(operand);
  uint64_t has = 8;
  switch (o.kind) {
  case OperandKind::Constant:
    break;
  case OperandKind::Affine:
    if (o.index >= plan.affines.size())
      return fail(at, who + " names affine " + num(o.index), "an affine below " + num(plan.affines.size()));
    break;
  case OperandKind::Scalar:
    if (o.index >= plan.scalars.size())
      return fail(at, who + " names scalar " + num(o.index), "a scalar below " + num(plan.scalars.size()));
    has = sizeOf(plan.scalars[o.index].dtype);
    break;
  default:
    return fail(at, who + " is an address, the kernel declares a value", "a constant, affine or scalar");
  }
  if (o.flags || (o.kind == OperandKind::Constant ? o.index : o.offset) != 0)
    fail(at,
         who + " has flags " + num(o.flags) + ", index " + num(o.index) + ", offset " +
             std::to_string(o.offset),
         "flags 0; a constant has only an offset, an affine or scalar only an index");
  if (bytes != has)
    fail(at, who + " has " + num(has) + " bytes, the kernel declares " + num(bytes), "equal sizes");
}

void ClassCheck::launch(uint32_t at) {
  const Instr &in = c.instrs[at];
  if (in.index >= plan.kernels.size())
    return fail(at, "kernel " + num(in.index), "a kernel below " + num(plan.kernels.size()));
  const Kernel &k = plan.kernels[in.index];
  if (!operands(at, k.args.size(), "as the kernel declares"))
    return;
  // A result that overwrites an operand in place: the same range once to read, once to write.
  std::set<std::tuple<Access, OperandKind, uint16_t, uint8_t, int64_t, uint64_t>> ranges;
  auto key = [&](uint16_t i, Access access) {
    const Operand &o = c.operands[in.firstOperand + i];
    return std::tuple(access, o.kind, o.index, o.flags, o.offset, k.args[i].bytes);
  };
  for (uint16_t i = 0; i < in.operandCount; ++i)
    if (k.args[i].access != Access::Value)
      ranges.insert(key(i, k.args[i].access));
  for (uint16_t i = 0; i < in.operandCount; ++i) {
    Access access = k.args[i].access;
    if (access == Access::Value) {
      value(at, i, k.args[i].bytes);
      continue;
    }
    if (access == Access::Read && ranges.count(key(i, Access::Write)))
      continue;
    if (access == Access::Write && ranges.count(key(i, Access::Read)))
      access = Access::ReadWrite;
    memory(at, i, access, k.args[i].bytes, k.args[i].bytes % 4 ? 1 : 4);
  }
}

void ClassCheck::gemm(uint32_t at) {
  const Instr &in = c.instrs[at];
  if (in.index >= plan.gemms.size())
    return fail(at, "gemm " + num(in.index), "a gemm below " + num(plan.gemms.size()));
  const Gemm &g = plan.gemms[in.index];
  if (!operands(at, g.scratchBytes ? 4 : 3, g.scratchBytes ? "a, b, c, scratch" : "a, b, c"))
    return;
  const GemmBytes &bytes = cx.gemmBytes[in.index];
  uint64_t element = sizeOf(g.dtype);
  memory(at, 0, Access::Read, bytes.a, element);
  memory(at, 1, Access::Read, bytes.b, element);
  memory(at, 2, g.accumulate ? Access::ReadWrite : Access::Write, bytes.c, element);
  if (g.scratchBytes)
    memory(at, 3, Access::Write, g.scratchBytes, element);
}

void ClassCheck::collective(uint32_t at) {
  const Instr &in = c.instrs[at];
  if (in.index >= plan.communicators.size())
    return fail(at, "communicator " + num(in.index),
                "a communicator below " + num(plan.communicators.size()));
  const Communicator &comm = plan.communicators[in.index];
  if (comm.pair)
    fail(at, "a collective on pair communicator " + quote(comm.name), "a group communicator");
  if (in.arg < 0 || in.arg > int32_t(CollectiveKind::ReduceScatter))
    return fail(at, "collective kind " + std::to_string(in.arg), "0 to 3");
  if (in.flags > uint16_t(DType::U8))
    return fail(at, "element type " + num(in.flags), "0 to 4");
  payload(at, 1, "the buffer");
  auto kind = CollectiveKind(in.arg);
  // One block of elements per member where members hold or get a part.
  uint64_t element = sizeOf(DType(in.flags)), unit = element;
  if (kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter)
    for (uint32_t a : comm.axes)
      unit *= plan.axes[a].size;
  if (in.bytes % unit)
    fail(at, describe(in), "a multiple of " + num(unit) + " bytes");
  // What a member of an all-gather already holds depends on its coordinate: as a whole it writes.
  if (in.operandCount == 1)
    memory(at, 0, kind == CollectiveKind::AllGather ? Access::Write : Access::ReadWrite, in.bytes, element);
}

void ClassCheck::transfer(uint32_t at) {
  const Instr &in = c.instrs[at];
  if (in.index >= plan.communicators.size())
    return fail(at, "communicator " + num(in.index),
                "a communicator below " + num(plan.communicators.size()));
  const Communicator &comm = plan.communicators[in.index];
  payload(at, 1, "the buffer");
  if (!comm.pair)
    return fail(at, std::string(nameOf(in.op)) + " on group communicator " + quote(comm.name),
                "a pair communicator");
  uint32_t axis = comm.axes[0];
  int64_t first = int64_t(c.first[axis]) + in.arg, last = int64_t(c.last[axis]) + in.arg;
  if (in.arg == 0 || first < 0 || last >= plan.axes[axis].size)
    return fail(at,
                "peer " + quote(plan.axes[axis].name) + snum(in.arg) + " for coordinates " +
                    num(c.first[axis]) + " to " + num(c.last[axis]),
                "another rank within 0 to " + num(plan.axes[axis].size - 1));
  if (first <= c.last[axis] && last >= c.first[axis])
    return fail(at, "a peer of the same class",
                "peers of other classes: transfers inside a class could wait in a ring");
  if (in.operandCount == 1)
    memory(at, 0, in.op == Op::Send ? Access::Read : Access::Write, in.bytes, 1);
}

void ClassCheck::metric(uint32_t at) {
  const Instr &in = c.instrs[at];
  if (in.index >= plan.metrics.size())
    return fail(at, "metric " + num(in.index), "a metric below " + num(plan.metrics.size()));
  const Metric &m = plan.metrics[in.index];
  if (m.classIndex != cls)
    fail(at, "metric " + quote(m.name) + " belongs to class " + num(m.classIndex),
         "a metric of class " + num(cls));
  if (operands(at, 1, "the value"))
    memory(at, 0, Access::Read, sizeOf(m.dtype), sizeOf(m.dtype));
}

} // namespace

void verifyProgram(Context &cx) {
  uint64_t unrolled = 0;
  for (uint32_t i = 0; i < cx.plan.classes.size() && !cx.findings.full(); ++i) {
    ClassCheck check(cx, i);
    check.run();
    cx.facts.push_back(std::move(check.facts));
    if (cx.findings.any())
      continue;
    // Sizes of the unrolled lists, without unrolling them.
    const ClassProgram &c = cx.plan.classes[i];
    std::vector<uint64_t> size;
    for (const Template &t : c.templates) {
      uint64_t n = 0;
      auto cost = [&](uint32_t first, uint32_t count) {
        const std::vector<uint32_t> &begin = cx.facts[i].firstAccess;
        return uint64_t(count) + begin[first + count] - begin[first];
      };
      for (uint32_t k = t.first; k < t.first + t.count; ++k) {
        const Instr &in = c.instrs[k];
        uint64_t once, trips = 1;
        if (in.op == Op::Repeat) {
          trips = uint64_t((int64_t(in.to) - in.from) / in.step);
          once = cost(k + 1, uint32_t(in.arg));
          k += uint32_t(in.arg);
        } else {
          once = cost(k, 1);
        }
        if (__builtin_mul_overflow(trips, once, &once) || __builtin_add_overflow(n, once, &n))
          n = ~uint64_t(0);
      }
      size.push_back(n);
    }
    for (const std::vector<ListEntry> *list : {&c.init, &c.step, &c.eval})
      for (const ListEntry &e : *list)
        if (__builtin_add_overflow(unrolled, size[e.templateIndex], &unrolled) || unrolled > kMaxUnrolled)
          return cx.classFinding(
              i, "the plan's lists unroll to more than " + num(kMaxUnrolled) + " instructions and operands",
              "fewer");
  }
}

} // namespace hocket::verify
