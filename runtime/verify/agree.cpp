//===- agree.cpp - What is stated twice agrees --------------------------------===//
//
// Facts of a plan that two of its parts hold: a result and who reads it, a
// region's slots and the operands that name one, the memory verdict and the
// regions, inputs and the kernels that read them.  Part of *exact*.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/context.h"

#include <algorithm>
#include <map>

namespace hocket::verify {

namespace {

/// What is moved, summed over ranks or zeroed is read by some instruction.  (Computed values may be unused:
/// so may a model's.)
void results(Context &cx, uint32_t cls, const ClassProgram &c) {
  const ClassFacts &facts = cx.facts[cls];
  std::vector<uint8_t> runs(c.templates.size()); // in a step: evaluation stashes what nothing reads
  for (const ListEntry &e : c.step)
    runs[e.templateIndex] = 1;
  auto lasts = [&](const AccessRule &a, uint32_t i) {
    const Region &r = c.regions[c.operands[c.instrs[i].firstOperand + a.operand].index];
    return r.kind == RegionKind::Parameter || r.kind == RegionKind::State;
  };
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    Op op = c.instrs[i].op;
    if (!runs[facts.templateOf[i]] || op == Op::Launch || op == Op::Gemm)
      continue;
    bool writes = false, needed = false;
    for (uint32_t a = facts.firstAccess[i]; a < facts.firstAccess[i + 1]; ++a)
      if (facts.accesses[a].access != Access::Read) {
        writes = true;
        needed |= facts.resultRead[a] || lasts(facts.accesses[a], i);
      }
    if (writes && !needed)
      cx.instrFinding(cls, i, "writes what nothing reads", "results that a later instruction reads");
  }
}

/// A region with slots, or a cell for each micro-batch, is named with the slot or micro-batch, in a repeat
/// one with layers with the layer, others without; an operand that takes more than one cell names none.
void cells(Context &cx, uint32_t cls, const ClassProgram &c) {
  const ClassFacts &facts = cx.facts[cls];
  uint32_t repeatEnd = 0;
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    if (c.instrs[i].op == Op::Repeat)
      repeatEnd = i + 1 + uint32_t(c.instrs[i].arg);
    for (uint32_t a = facts.firstAccess[i]; a < facts.firstAccess[i + 1]; ++a) {
      const AccessRule &rule = facts.accesses[a];
      const Operand &o = c.operands[c.instrs[i].firstOperand + rule.operand];
      const Region &r = c.regions[o.index];
      for (auto [what, named, count, stride] :
           {std::tuple("slot", (o.flags & kSlotMask) != 0, r.slots, r.slotStride),
            {"layer", (o.flags & kLayered) != 0, r.layers, r.layerStride},
            {"micro-batch", (o.flags & kMicro) != 0, r.micros, r.microStride}}) {
        if (named && stride == 0)
          cx.instrFinding(cls, i,
                          "operand " + num(rule.operand) + " names a " + what + " of region " +
                              quote(r.name) + ", which has no " + what + "s",
                          "operands that name what their region has");
        if (!named && stride != 0 && rule.bytes <= stride &&
            (i < repeatEnd || what != std::string_view("layer")))
          cx.instrFinding(cls, i,
                          "operand " + num(rule.operand) + " names no " + what + " of region " +
                              quote(r.name) + ", which has " + num(count),
                          "operands that name what their region has");
      }
    }
  }
}

/// String 0 is empty, for what has no name of its own; the others are in the order of their first use.
void names(Context &cx) {
  uint32_t next = 1;
  if (!cx.plan.strings.empty() && !cx.plan.strings[0].empty())
    return cx.plainFinding("string 0 is " + quote(cx.plan.strings[0]), "empty");
  for (uint32_t cls = 0; cls < cx.plan.classes.size(); ++cls)
    for (uint32_t i = 0; i < cx.plan.classes[cls].instrs.size(); ++i) {
      const Instr &in = cx.plan.classes[cls].instrs[i];
      if (in.op == Op::Record || in.op == Op::Wait || in.op == Op::Repeat) {
        if (in.name)
          return cx.instrFinding(cls, i, "name " + num(in.name),
                                 "0: records, waits and repeats have no name");
        continue;
      }
      if (in.name > next)
        return cx.instrFinding(cls, i, "name " + num(in.name),
                               "at most " + num(next) + ": strings in the order of their first use");
      next += in.name == next;
    }
  if (next < cx.plan.strings.size())
    cx.plainFinding(num(cx.plan.strings.size()) + " strings", num(next) + ", as instructions name");
}

/// A stream that communicates serves one communicator, or several that must not be in flight together; a
/// group communicator has one stream.
void streams(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::map<uint16_t, std::set<uint32_t>> commsOf;
  std::map<uint32_t, uint16_t> streamOf;
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    const Instr &in = c.instrs[i];
    bool group = in.op == Op::Collective;
    if (!group && in.op != Op::Send && in.op != Op::Recv)
      continue;
    std::set<uint32_t> &on = commsOf[in.stream];
    if (!on.empty() && !on.count(in.index) &&
        std::none_of(on.begin(), on.end(), [&](uint32_t k) { return cx.sharedDevices(k, in.index) > 1; }))
      cx.instrFinding(cls, i,
                      "communicator " + quote(cx.plan.communicators[in.index].name) + " on stream " +
                          quote(c.streams[in.stream]) + " of communicator " +
                          quote(cx.plan.communicators[*on.begin()].name),
                      "on a stream, communicators that share two ranks or more");
    on.insert(in.index);
    if (group && streamOf.try_emplace(in.index, in.stream).first->second != in.stream)
      cx.instrFinding(cls, i,
                      "communicator " + quote(cx.plan.communicators[in.index].name) +
                          " on a second stream, " + quote(c.streams[in.stream]),
                      "one stream for a group communicator");
  }
}

/// All records and waits of an event number name a slot, or none does.
void eventSlots(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::map<uint32_t, bool> slotted;
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    const Instr &in = c.instrs[i];
    if (in.op != Op::Record && in.op != Op::Wait)
      continue;
    auto [it, fresh] = slotted.try_emplace(in.index, in.flags != 0);
    if (!fresh && it->second != (in.flags != 0))
      cx.instrFinding(cls, i,
                      "event " + num(in.index) + (in.flags ? " with" : " without") +
                          " a slot, an earlier record or wait is " + (in.flags ? "without" : "with one"),
                      "a slot in all records and waits of an event, or in none");
  }
}

/// A memory verdict of several lines has one for each kind of region, in the order of their first.  (One line
/// alone is the arena: data.cpp.)
void summary(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::vector<RegionKind> kinds;
  std::vector<uint64_t> bytes;
  uint64_t end = 0;
  for (const Region &r : c.regions) {
    size_t at = std::find(kinds.begin(), kinds.end(), r.kind) - kinds.begin();
    if (at == kinds.size()) {
      kinds.push_back(r.kind);
      bytes.push_back(0);
    }
    bytes[at] += r.offset + r.bytes - end; // with the alignment in front
    end = r.offset + r.bytes;
  }
  if (!bytes.empty())
    bytes.back() += c.arenaBytes - end;
  const std::vector<MemoryTerm> &terms = cx.plan.summaries[cls].memory;
  bool equal = terms.size() == bytes.size();
  for (size_t i = 0; equal && i < bytes.size(); ++i)
    equal = terms[i].bytes == bytes[i];
  if (equal || terms.size() < 2)
    return;
  auto text = [](auto &list, auto get) {
    std::string out;
    for (auto &v : list)
      out += (out.empty() ? "" : ", ") + num(get(v));
    return out;
  };
  cx.classFinding(
      cls, "its memory verdict is " + text(terms, [](const MemoryTerm &t) { return t.bytes; }) + " bytes",
      text(bytes, [](uint64_t b) { return b; }) + ": its regions by kind, in their order");
}

/// Both inputs are shared over the same axes, each has a region of its own, and kernels read all of it.
void inputs(Context &cx) {
  const Plan &p = cx.plan;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> filled;
  for (const Input &in : p.inputs) {
    if (in.axes != p.inputs[0].axes)
      cx.plainFinding("inputs are shared over different axes", "the axes of the replicas, in one order");
    if (!filled.emplace(std::pair(in.classIndex, in.at.index), uint64_t(in.rows) * p.sequence * 4).second)
      cx.plainFinding("two inputs in region " + quote(p.classes[in.classIndex].regions[in.at.index].name),
                      "a region for each");
  }
  for (uint32_t cls = 0; cls < p.classes.size(); ++cls) {
    const ClassProgram &c = p.classes[cls];
    for (uint32_t r = 0; r < c.regions.size(); ++r)
      if (c.regions[r].kind == RegionKind::Input && !p.inputs.empty() && !filled.count({cls, r}))
        cx.classFinding(cls, "no input goes to region " + quote(c.regions[r].name),
                        "an input for each region of kind input");
    const ClassFacts &facts = cx.facts[cls];
    for (uint32_t i = 0; i < c.instrs.size(); ++i)
      for (uint32_t a = facts.firstAccess[i]; a < facts.firstAccess[i + 1]; ++a) {
        const AccessRule &rule = facts.accesses[a];
        auto it = filled.find({cls, c.operands[c.instrs[i].firstOperand + rule.operand].index});
        if (it != filled.end() && it->second != rule.bytes)
          cx.instrFinding(cls, i,
                          "takes " + num(rule.bytes) + " bytes of an input of " + num(it->second) +
                              " bytes a micro-batch",
                          "all of them");
      }
  }
}

/// Outside of init, an affine operand is the first index of a rank's part of some letter of the class's
/// parameters: of the vocabulary.
void indices(Context &cx, uint32_t cls, const ClassProgram &c) {
  const Plan &p = cx.plan;
  std::set<std::vector<int64_t>> legal;
  for (const Param &q : p.params)
    for (const ParamDim &d : q.dims) {
      std::vector<int64_t> coordinate(p.axes.size());
      uint64_t step = d.local;
      for (size_t k = d.axes.size(); k-- > 0; step *= p.axes[d.axes[k]].size)
        coordinate[d.axes[k]] = int64_t(step);
      if (q.classIndex == cls)
        legal.insert(coordinate);
    }
  std::vector<uint8_t> runs(c.templates.size());
  for (const std::vector<ListEntry> *list : {&c.step, &c.eval})
    for (const ListEntry &e : *list)
      runs[e.templateIndex] = 1;
  for (uint32_t i = 0; i < c.instrs.size(); ++i)
    for (uint32_t k = 0; runs[cx.facts[cls].templateOf[i]] && k < c.instrs[i].operandCount; ++k) {
      const Operand &o = c.operands[c.instrs[i].firstOperand + k];
      if (o.kind != OperandKind::Affine)
        continue;
      const Affine &a = p.affines[o.index];
      std::vector<int64_t> coordinate = a.coordinate;
      bool zero = std::all_of(coordinate.begin(), coordinate.end(), [](int64_t v) { return v == 0; });
      if (a.layer || a.micro || a.constant || (!zero && !legal.count(coordinate)))
        cx.instrFinding(cls, i, "operand " + num(k) + " is no first index of a part of a parameter",
                        "an index that follows from a parameter's dimensions");
    }
}

/// Where a parameter, its gradient and moments lie, some instruction's operand begins; a tied copy has no
/// moments.
void addresses(Context &cx) {
  const Plan &p = cx.plan;
  std::vector<std::set<std::pair<uint32_t, int64_t>>> used(p.classes.size());
  for (uint32_t cls = 0; cls < p.classes.size(); ++cls)
    for (const Operand &o : p.classes[cls].operands)
      if (o.kind == OperandKind::Region)
        used[cls].emplace(o.index, o.offset);
  for (const Param &q : p.params)
    for (auto [what, o, has] : {std::tuple("value", &q.value, true),
                                {"gradient", &q.gradient, true},
                                {"first moment", &q.moment1, q.owner},
                                {"second moment", &q.moment2, q.owner}}) {
      if (!has && (o->kind != OperandKind::Constant || o->flags || o->index || o->offset))
        cx.plainFinding("parameter " + quote(q.name) + " is a tied copy with a " + what,
                        "no address: constant 0");
      if (has && (o->kind != OperandKind::Region || !used[q.classIndex].count({o->index, o->offset})))
        cx.plainFinding("parameter " + quote(q.name) + " has a " + what + " at byte " +
                            std::to_string(o->offset) + " of region " + num(o->index) +
                            ", where no operand begins",
                        "an address that instructions use");
    }
}

} // namespace

void verifyAgree(Context &cx) {
  for (uint32_t i = 0; i < cx.plan.classes.size(); ++i) {
    results(cx, i, cx.plan.classes[i]);
    cells(cx, i, cx.plan.classes[i]);
    streams(cx, i, cx.plan.classes[i]);
    eventSlots(cx, i, cx.plan.classes[i]);
    summary(cx, i, cx.plan.classes[i]);
    indices(cx, i, cx.plan.classes[i]);
  }
  names(cx);
  inputs(cx);
  addresses(cx);
}

} // namespace hocket::verify
