//===- exact.cpp - Nothing is spare -----------------------------------------===//
//
// Most numbers of a plan follow from others: a region's bytes from its strides,
// the arena from its regions, operands from instructions.  A plan that states
// one of them otherwise was damaged or made by mistake, though it might run.
// Runs last: what it finds is wrong, but dangerous only together with what the other parts look for.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/declaration.h"
#include "runtime/verify/context.h"
#include "runtime/verify/unroll.h"

#include <algorithm>
#include <map>

namespace hocket::verify {

namespace {

uint64_t alignUp(uint64_t n) { return (n + 63) / 64 * 64; } // no overflow: regions lie below 2^62

/// Strides nest: the widest takes all bytes, each other what the next wider leaves to one of its steps.
void regionStrides(Context &cx, uint32_t cls, const Region &r) {
  std::array<std::pair<uint64_t, uint64_t>, 3> steps = {
      {{r.slotStride, r.slots}, {r.layerStride, r.layers}, {r.microStride, r.micros}}};
  std::sort(steps.begin(), steps.end(), [](auto a, auto b) { return a > b; });
  uint64_t extent = r.bytes;
  for (auto [stride, count] : steps) {
    uint64_t product;
    if (stride == 0)
      continue; // count 1, see program.cpp
    if (__builtin_mul_overflow(stride, count, &product) || product != extent)
      return cx.classFinding(
          cls, "region " + quote(r.name) + " has " + num(count) + " steps of " + num(stride) + " bytes",
          "strides that fill its " + num(extent) + " bytes exactly");
    extent = stride;
  }
}

void regions(Context &cx, uint32_t cls, const ClassProgram &c) {
  uint64_t end = 0;
  for (const Region &r : c.regions) {
    if (r.offset != alignUp(end))
      return cx.classFinding(cls, "region " + quote(r.name) + " begins at byte " + num(r.offset),
                             "byte " + num(alignUp(end)) + ", where the region before it ends");
    end = r.offset + r.bytes;
    regionStrides(cx, cls, r);
  }
  if (c.arenaBytes != alignUp(end))
    cx.classFinding(cls, "the arena has " + num(c.arenaBytes) + " bytes",
                    num(alignUp(end)) + ", the end of its last region");
}

void operands(Context &cx, uint32_t cls, const ClassProgram &c) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    const Instr &in = c.instrs[i];
    if (in.firstOperand != next && (in.operandCount || in.firstOperand))
      return cx.instrFinding(cls, i, "its operands begin at " + num(in.firstOperand),
                             num(next) + ": operands in the order of the instructions");
    if (in.op == Op::Collective && in.flags != uint16_t(cx.plan.dtype))
      cx.instrFinding(cls, i, "element type " + num(in.flags),
                      std::string("the plan's ") + nameOf(cx.plan.dtype));
    next += in.operandCount;
  }
  if (next != c.operands.size())
    cx.classFinding(cls, num(c.operands.size()) + " operands", num(next) + ", as its instructions have");
}

/// Slots of a list entry that its template does not look at are 0, so is the micro-batch of init.
void entries(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::vector<unsigned> used(c.templates.size());
  for (uint32_t t = 0; t < c.templates.size(); ++t)
    for (uint32_t i = c.templates[t].first; i < c.templates[t].first + c.templates[t].count; ++i) {
      const Instr &in = c.instrs[i];
      if (in.op == Op::Record || in.op == Op::Wait)
        used[t] |= 1u << in.flags;
      for (uint32_t k = 0; k < in.operandCount; ++k)
        if (const Operand &o = c.operands[in.firstOperand + k]; o.kind == OperandKind::Region)
          used[t] |= 1u << (o.flags & kSlotMask);
    }
  for (auto [name, list] : {std::pair("init", &c.init), {"step", &c.step}, {"eval", &c.eval}})
    for (size_t i = 0; i < list->size(); ++i) {
      const ListEntry &e = (*list)[i];
      for (unsigned s = 0; s < e.slot.size(); ++s)
        if (e.slot[s] && !(used[e.templateIndex] >> (s + 1) & 1))
          cx.classFinding(cls,
                          "entry " + num(i) + " of list " + name + " has slot " + num(e.slot[s]) +
                              " as number " + num(s + 1),
                          "0 where the template uses no slot");
      if (list == &c.init && e.micro)
        cx.classFinding(cls, "entry " + num(i) + " of list init runs micro-batch " + num(e.micro), "0");
    }
}

/// The last event is recorded and waited for; first uses are waited for.
void events(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::vector<uint8_t> recorded(c.events), waited(c.events);
  for (const std::vector<ListEntry> *list : {&c.init, &c.step, &c.eval})
    for (const ListEntry &e : *list) {
      const Template &t = c.templates[e.templateIndex];
      for (uint32_t i = t.first; i < t.first + t.count; ++i) {
        const Instr &in = c.instrs[i];
        if (in.op != Op::Record && in.op != Op::Wait)
          continue;
        uint64_t event = eventOf(in, e);
        if (event >= c.events)
          continue; // memory.cpp says so
        (in.op == Op::Record ? recorded : waited)[event] = 1;
      }
    }
  uint32_t used = 0;
  for (uint32_t e = 0; e < c.events; ++e)
    if (recorded[e] && waited[e])
      used = e + 1;
  if (used != c.events)
    cx.classFinding(cls, num(c.events) + " events", num(used) + ": the last is recorded and waited for");
  for (size_t i = 0; i < c.firstUse.size(); ++i)
    if (!waited[c.firstUse[i]] || (i && c.firstUse[i] <= c.firstUse[i - 1]))
      cx.classFinding(cls, "first use of event " + num(c.firstUse[i]),
                      "events that something waits for, ascending");
}

/// Ranges of one region that parameters take, which must fill it.
void parameters(Context &cx) {
  const Plan &p = cx.plan;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<std::array<uint64_t, 2>>> ranges;
  std::map<std::pair<std::string, uint32_t>, const Param *> seen;
  std::map<std::string, std::set<uint32_t>> parts;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint64_t> elements; // name, part, layer
  for (const Param &q : p.params) {
    auto fail = [&](std::string problem, std::string legal) {
      cx.plainFinding("parameter " + quote(q.name) + " " + problem, std::move(legal));
    };
    uint64_t bytes = sizeOf(q.dtype), global = 1;
    for (const ParamDim &d : q.dims) {
      uint64_t shards = 1;
      for (uint32_t a : d.axes)
        shards *= p.axes[a].size;
      bytes *= d.local;
      if ((d.global + shards - 1) / shards != d.local)
        fail("has letter " + quote(std::string(1, d.letter)) + " of local extent " + num(d.local) + " on " +
                 num(shards) + " shards, true extent " + num(d.global),
             "local extent " + num((d.global + shards - 1) / shards));
      if (__builtin_mul_overflow(global, d.global, &global))
        fail("has more than 2^64 elements", "fewer");
      if (d.letter == 'v' && d.global != p.vocabulary)
        fail("has " + num(d.global) + " rows for a vocabulary of " + num(p.vocabulary), "equal numbers");
    }
    if (q.dtype != p.dtype)
      fail(std::string("has element type ") + nameOf(q.dtype), std::string("the plan's ") + nameOf(p.dtype));
    if (q.partCount == 1 && q.partDim != 0)
      fail("is whole and has part dimension " + num(q.partDim), "0");
    const Param *&first = seen[{q.name, q.partIndex}];
    if (!first)
      first = &q;
    bool equal =
        first->partCount == q.partCount && first->partDim == q.partDim && first->dims.size() == q.dims.size();
    for (size_t i = 0; equal && i < q.dims.size(); ++i)
      equal = first->dims[i].letter == q.dims[i].letter && first->dims[i].global == q.dims[i].global;
    if (!equal)
      fail("differs between classes", "one set of letters, extents and parts in all");
    parts[q.name].insert(q.partIndex);
    if (q.owner)
      for (uint32_t l = q.layerBegin; l < q.layerEnd && elements.size() < kMaxRanks; ++l)
        elements[{q.name, q.partIndex, l}] = global;
    auto place = [&](const Operand &o) {
      if ((o.flags & kLayered) != (q.stacked ? kLayered : 0) || o.flags & kMicro)
        fail("has operand flags " + num(o.flags), q.stacked ? "layered" : "none");
      ranges[{q.classIndex, o.index}].push_back({uint64_t(o.offset), bytes});
    };
    place(q.value);
    if (q.owner)
      place(q.gradient), place(q.moment1), place(q.moment2);
  }
  for (auto &[name, indices] : parts)
    if (uint32_t count = seen.at({name, *indices.begin()})->partCount; indices.size() != count)
      cx.plainFinding("parameter " + quote(name) + " has " + num(indices.size()) + " of its " + num(count) +
                          " parts",
                      "all");
  for (auto &[key, list] : ranges) {
    const Region &r = p.classes[key.first].regions[key.second];
    std::sort(list.begin(), list.end());
    uint64_t end = 0, extent = r.layerStride ? r.layerStride : r.bytes;
    bool gradient = r.kind == RegionKind::Gradient; // may hold partial sums beside
    for (auto [offset, bytes] : list) {
      if (gradient ? offset < end : offset != alignUp(end))
        cx.classFinding(key.first,
                        "a parameter at byte " + num(offset) + " of region " + quote(r.name) +
                            ", the one before ends at " + num(end),
                        "parameters that follow each other");
      end = offset + bytes;
    }
    if (!gradient && alignUp(end) != alignUp(extent))
      cx.classFinding(key.first, "parameters end at byte " + num(end) + " of region " + quote(r.name),
                      "its end, " + num(extent));
  }
  uint64_t total = 0;
  for (auto &[key, n] : elements)
    total += n;
  if (!p.params.empty() && total != p.parameters)
    cx.plainFinding("the plan says it has " + num(p.parameters) + " parameters",
                    num(total) + ", the sum over its tensors");
}

void inputs(Context &cx) {
  const Plan &p = cx.plan;
  std::set<std::pair<uint32_t, InputKind>> seen;
  std::set<InputKind> kinds;
  for (const Input &in : p.inputs) {
    kinds.insert(in.kind);
    if (!seen.insert({in.classIndex, in.kind}).second)
      cx.plainFinding(std::string("class ") + cx.className(in.classIndex) + " takes an input twice",
                      "tokens and labels once in a class");
    const Region &r = p.classes[in.classIndex].regions[in.at.index];
    uint64_t bytes = uint64_t(in.rows) * p.sequence * 4, step = r.microStride ? r.microStride : r.bytes;
    if (in.at.offset || alignUp(bytes) != alignUp(step))
      cx.plainFinding("an input of " + num(bytes) + " bytes at byte " + num(uint64_t(in.at.offset)) +
                          " of region " + quote(r.name),
                      "all of its " + num(step) + " bytes a micro-batch");
  }
  if (!p.inputs.empty() && kinds.size() != 2)
    cx.plainFinding("inputs of one kind only", "tokens and labels");
}

/// A generated kernel's symbol ends in the digest of its declaration, see declaration.h.
template <typename Entry>
void declaration(Context &cx, const std::string &what, const Entry &entry) {
  std::string digest = format::declarationDigest(entry);
  if (!entry.symbol.ends_with("_" + digest))
    cx.plainFinding(what + " " + quote(entry.symbol) + " is not declared as its code was compiled",
                    "the declaration whose digest its name ends in; this one's is " + digest);
}

/// Bytes that the cost model was told: those of all arguments, for initial values without the numbers.
void kernels(Context &cx) {
  for (size_t i = 0; i < cx.plan.kernels.size(); ++i) {
    const Kernel &k = cx.plan.kernels[i];
    declaration(cx, "kernel " + num(i), k);
    double memory = 0, values = 0;
    for (const KernelArg &a : k.args)
      (a.access == Access::Value ? values : memory) += double(a.bytes);
    if (k.memoryBytes != 0 && k.memoryBytes != memory && k.memoryBytes != memory + values)
      cx.plainFinding("kernel " + num(i) + " " + quote(k.symbol) + " has arguments of " +
                          num(uint64_t(memory + values)) + " bytes and moves " +
                          num(uint64_t(std::min(k.memoryBytes, 0x1p62))),
                      "equal numbers");
  }
}

void gemms(Context &cx) {
  for (size_t i = 0; i < cx.plan.gemms.size(); ++i)
    if (const Gemm &g = cx.plan.gemms[i]; !g.symbol.empty())
      declaration(cx, "gemm " + num(i), g);
}

/// An initial value is drawn by its index in the whole tensor: the first index of a rank's part follows
/// from the parameter's dimensions.  Padded letters are left to the kernel.
void initialIndices(Context &cx) {
  const Plan &p = cx.plan;
  for (const Param &q : p.params) {
    Affine legal;
    legal.coordinate.assign(p.axes.size(), 0);
    uint64_t below = 1; // elements of the letters behind this one
    bool known = true;
    for (size_t i = q.dims.size(); i-- > 0 && known;) {
      const ParamDim &d = q.dims[i];
      uint64_t step = d.local * below, shards = 1;
      for (size_t k = d.axes.size(); k-- > 0; shards *= p.axes[d.axes[k]].size)
        legal.coordinate[d.axes[k]] += int64_t(step * shards);
      known = d.local * shards == d.global && !__builtin_mul_overflow(below, d.global, &below) &&
              below < (1ull << 48);
    }
    if (!known)
      continue;
    legal.layer = q.stacked ? int64_t(below) : 0;
    legal.constant = q.stacked ? int64_t(below) * q.layerBegin : 0;
    const ClassProgram &c = p.classes[q.classIndex];
    for (const ListEntry &e : c.init)
      for (uint32_t i = c.templates[e.templateIndex].first, n = c.templates[e.templateIndex].count; n;
           ++i, --n) {
        const Instr &in = c.instrs[i];
        if (in.op != Op::Launch || in.operandCount != 3 || !p.kernels[in.index].symbol.starts_with("init_"))
          continue;
        const Operand *o = &c.operands[in.firstOperand];
        if (o[0].kind != OperandKind::Region || o[0].index != q.value.index ||
            o[0].offset != q.value.offset || o[1].kind != OperandKind::Affine ||
            o[2].kind != OperandKind::Scalar)
          continue;
        const Affine &a = p.affines[o[1].index];
        bool equal = a.layer == legal.layer && a.micro == 0 && a.constant == legal.constant;
        for (size_t x = 0; x < p.axes.size(); ++x)
          equal &= a.coordinate[x] == legal.coordinate[x] || (p.axes[x].size == 1 && a.coordinate[x] == 0);
        if (!equal)
          cx.instrFinding(q.classIndex, i,
                          "its first index is not that of its part of parameter " + quote(q.name),
                          "an index that follows from the parameter's dimensions");
      }
  }
}

/// Tables hold what instructions use and nothing else.
void tables(Context &cx) {
  const Plan &p = cx.plan;
  std::vector<uint8_t> kernel(p.kernels.size()), gemm(p.gemms.size()), comm(p.communicators.size()),
      affine(p.affines.size()), scalar(p.scalars.size());
  std::map<std::pair<uint32_t, const std::vector<ListEntry> ClassProgram::*>, std::set<uint32_t>> metrics;
  for (uint32_t cls = 0; cls < p.classes.size(); ++cls) {
    const ClassProgram &c = p.classes[cls];
    for (const Instr &in : c.instrs) {
      if (in.op == Op::Launch)
        kernel[in.index] = 1;
      else if (in.op == Op::Gemm)
        gemm[in.index] = 1;
      else if (in.op == Op::Collective || in.op == Op::Send || in.op == Op::Recv)
        comm[in.index] = 1;
      for (uint32_t k = 0; k < in.operandCount; ++k) {
        const Operand &o = c.operands[in.firstOperand + k];
        if (o.kind == OperandKind::Affine)
          affine[o.index] = 1;
        else if (o.kind == OperandKind::Scalar)
          scalar[o.index] = 1;
      }
    }
    for (auto [name, list] : {std::pair("step", &c.step), {"eval", &c.eval}}) {
      std::map<uint32_t, int> times;
      for (const ListEntry &e : *list)
        for (uint32_t i = c.templates[e.templateIndex].first, n = c.templates[e.templateIndex].count; n;
             ++i, --n)
          if (c.instrs[i].op == Op::Metric && ++times[c.instrs[i].index] == 2)
            cx.classFinding(cls,
                            "list " + std::string(name) + " reads metric " +
                                quote(p.metrics[c.instrs[i].index].name) + " twice",
                            "once");
      if (list == &c.step)
        for (uint32_t m = 0; m < p.metrics.size(); ++m)
          if (p.metrics[m].classIndex == cls && !times.count(m))
            cx.classFinding(cls, "list step never reads metric " + quote(p.metrics[m].name), "once");
    }
  }
  for (auto [what, used] : {std::pair("kernel", &kernel),
                            {"gemm", &gemm},
                            {"communicator", &comm},
                            {"affine", &affine},
                            {"scalar", &scalar}})
    for (size_t i = 0; i < used->size(); ++i)
      if (!(*used)[i])
        cx.plainFinding(std::string(what) + " " + num(i) + " is used by no instruction",
                        "tables of what is used");
  std::set<std::tuple<bool, std::vector<uint32_t>>> groups;
  for (size_t i = 0; i < p.communicators.size(); ++i) {
    const Communicator &k = p.communicators[i];
    if (k.order != i)
      cx.plainFinding("communicator " + quote(k.name) + " has order " + num(k.order), num(i));
    std::vector<uint32_t> axes = k.axes;
    std::sort(axes.begin(), axes.end());
    if (!groups.emplace(k.pair, axes).second)
      cx.plainFinding("communicator " + quote(k.name) + " spans the axes of another",
                      "one for each set of axes");
    for (uint32_t a : k.axes)
      if (p.axes[a].size < 2)
        cx.plainFinding("communicator " + quote(k.name) + " spans axis " + quote(p.axes[a].name) +
                            " of one rank",
                        "axes of at least 2");
  }
  for (size_t i = 0; i < p.gemms.size(); ++i) {
    const Gemm &g = p.gemms[i];
    if (g.dtype != p.dtype)
      cx.plainFinding("gemm " + num(i) + " has element type " + nameOf(g.dtype),
                      std::string("the plan's ") + nameOf(p.dtype));
    if (g.lda != (g.transposeA ? g.m : g.k) || g.ldb != (g.transposeB ? g.k : g.n) || g.ldc != g.n)
      cx.plainFinding("gemm " + num(i) + " has gaps between its rows", "dense matrices");
  }
  for (size_t i = 0; i < p.scalars.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (p.scalars[i].kind == p.scalars[j].kind && p.scalars[i].dtype == p.scalars[j].dtype)
        cx.plainFinding("scalars " + num(j) + " and " + num(i) + " are equal", "one for each kind and type");
}

} // namespace

void verifyExact(Context &cx) {
  for (uint32_t i = 0; i < cx.plan.classes.size(); ++i) {
    const ClassProgram &c = cx.plan.classes[i];
    regions(cx, i, c);
    operands(cx, i, c);
    entries(cx, i, c);
    events(cx, i, c);
  }
  parameters(cx);
  inputs(cx);
  tables(cx);
  kernels(cx);
  gemms(cx);
  initialIndices(cx);
  verifyComplete(cx);
  verifyAgree(cx);
}

} // namespace hocket::verify
