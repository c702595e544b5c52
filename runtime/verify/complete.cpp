//===- complete.cpp - Nothing is left out -----------------------------------===//
//
// A program may be safe and do only part of the work: skip a layer, run one
// micro-batch twice, sum half of a gradient.  Every layer of what a repeat
// addresses, every micro-batch of what a list runs, every byte of what a
// collective sums: these follow from the plan's other numbers.  Part of
// *exact*.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/context.h"

#include <algorithm>
#include <map>

namespace hocket::verify {

namespace {

/// Layered operands stand in repeats, and a repeat runs over all layers of a stack that the class holds.
void layers(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::set<int64_t> stacks;
  for (const Param &q : cx.plan.params)
    if (q.classIndex == cls && q.stacked)
      stacks.insert(int64_t(q.layerEnd) - q.layerBegin);
  for (uint32_t i = 0; i < c.instrs.size(); ++i) {
    const Instr &in = c.instrs[i];
    if (in.op == Op::Repeat) {
      int64_t first = in.from, last = int64_t(in.to) - in.step;
      int64_t low = std::min(first, last), high = std::max(first, last);
      if (!stacks.empty() &&
          (low != 0 || std::abs(in.step) != 1 || in.from == in.to || !stacks.count(high + 1)))
        cx.instrFinding(
            cls, i, "repeat from " + snum(in.from) + " to " + snum(in.to) + " in steps of " + snum(in.step),
            "all " + num(uint64_t(*stacks.begin())) + " layers of the stack, one after the other");
      i += uint32_t(in.arg);
      continue;
    }
    for (uint32_t k = 0; k < in.operandCount; ++k) {
      const Operand &o = c.operands[in.firstOperand + k];
      if (o.kind == OperandKind::Region && o.flags & kLayered)
        cx.instrFinding(cls, i, "operand " + num(k) + " moves with the layer outside of a repeat",
                        "layered operands in repeats");
    }
  }
}

/// A template that computes runs once, or once for every micro-batch; one that only moves data names
/// its buffers by slots.
void micros(Context &cx, uint32_t cls, const ClassProgram &c) {
  auto computes = [&](const Template &t) {
    auto first = c.instrs.begin() + t.first;
    return std::any_of(first, first + t.count,
                       [](const Instr &i) { return i.op == Op::Launch || i.op == Op::Gemm; });
  };
  for (auto [name, list] : {std::pair("step", &c.step), {"eval", &c.eval}}) {
    std::map<uint16_t, std::vector<uint32_t>> runs;
    for (const ListEntry &e : *list)
      runs[e.templateIndex].push_back(e.micro);
    for (auto &[index, seen] : runs) {
      if (!computes(c.templates[index]))
        continue;
      std::sort(seen.begin(), seen.end());
      bool once = seen.size() == 1 && seen[0] == 0, every = seen.size() == cx.plan.microBatches;
      for (uint32_t m = 0; every && m < seen.size(); ++m)
        every = seen[m] == m;
      if (!once && !every)
        cx.classFinding(cls,
                        "list " + std::string(name) + " runs template " + quote(c.templates[index].name) +
                            " " + num(seen.size()) + " times, last for micro-batch " + num(seen.back()),
                        "once, or once for each of the " + num(cx.plan.microBatches) + " micro-batches");
    }
  }
}

/// Where the ranges that kernels and products write or read in a region end, by the bytes from the
/// address on; a collective, a transfer or a copy moves whole ones.
void whole(Context &cx, uint32_t cls, const ClassProgram &c) {
  std::map<uint16_t, std::set<int64_t>> begins, ends;
  const ClassFacts &facts = cx.facts[cls];
  auto each = [&](auto visit) {
    for (uint32_t i = 0; i < c.instrs.size(); ++i)
      for (uint32_t a = facts.firstAccess[i]; a < facts.firstAccess[i + 1]; ++a) {
        const AccessRule &rule = facts.accesses[a];
        visit(i, c.operands[c.instrs[i].firstOperand + rule.operand], rule.bytes);
      }
  };
  auto computes = [&](uint32_t i) {
    Op op = c.instrs[i].op;
    return op == Op::Launch || op == Op::Gemm || op == Op::Metric;
  };
  each([&](uint32_t i, const Operand &o, uint64_t bytes) {
    if (computes(i)) {
      begins[o.index].insert(o.offset);
      ends[o.index].insert(o.offset + int64_t(bytes));
    }
  });
  each([&](uint32_t i, const Operand &o, uint64_t bytes) {
    const std::set<int64_t> &known = ends[o.index];
    const Region &r = c.regions[o.index];
    int64_t end = o.offset + int64_t(bytes);
    // Only moved here: what it is, another class or region says.
    auto ofStride = [&](uint64_t stride) { return stride && uint64_t(end) % stride == 0; };
    if (computes(i) || known.empty() || uint64_t(end) == r.bytes || ofStride(r.slotStride) ||
        ofStride(r.layerStride) || ofStride(r.microStride))
      return;
    int64_t aligned = (end + 63) / 64 * 64;
    auto at = known.lower_bound(end - 63);
    bool found = known.count(end) || begins[o.index].count(end) ||
                 (at != known.end() && (*at + 63) / 64 * 64 == aligned && end == aligned);
    if (!found)
      cx.instrFinding(cls, i, "moves bytes up to " + snum(end) + " of region " + quote(r.name),
                      "whole values: where what is computed there begins or ends");
  });
}

} // namespace

void verifyComplete(Context &cx) {
  for (uint32_t i = 0; i < cx.plan.classes.size(); ++i) {
    layers(cx, i, cx.plan.classes[i]);
    micros(cx, i, cx.plan.classes[i]);
    whole(cx, i, cx.plan.classes[i]);
  }
}

} // namespace hocket::verify
