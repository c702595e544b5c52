#include "test/unit/e2e/mutation.h"

#include "runtime/error.h"
#include "runtime/exec/session.h"
#include "runtime/ranks.h"
#include "runtime/verify/unroll.h"
#include "runtime/verify/verify.h"
#include "test/unit/common/mutate.h"

#include <array>
#include <cmath>
#include <cstring>

namespace hocket::test {

using namespace format;

static bool isCommunication(Op op) { return op == Op::Collective || op == Op::Send || op == Op::Recv; }

/// Where an operation of a class lies in the step: its stream, peer, payload and address.
using Trace = std::vector<std::array<int64_t, 8>>;

static Trace traceOf(const ClassProgram &c) {
  Trace trace;
  int64_t position = 0;
  for (const std::vector<ListEntry> *list : {&c.init, &c.step, &c.eval})
    verify::unroll(c, *list, [&](const verify::Point &p) {
      const Instr &in = c.instrs[p.instr];
      ++position;
      if (!isCommunication(in.op))
        return true;
      const Operand &o = c.operands[in.firstOperand];
      const Region &r = c.regions[o.index];
      uint64_t at = r.offset + uint64_t(o.offset);
      if (uint32_t s = o.flags & kSlotMask)
        at += (*list)[p.entry].slot[s - 1] * r.slotStride;
      if (o.flags & kLayered)
        at += uint64_t(p.layer) * r.layerStride;
      if (o.flags & kMicro)
        at += (*list)[p.entry].micro * r.microStride;
      trace.push_back(
          {position, in.stream, int64_t(in.op), in.index, in.arg, in.flags, int64_t(in.bytes), int64_t(at)});
      return true;
    });
  return trace;
}

/// Members of one Group: they start together, so their order has no meaning unless they match by it.
static bool inOneGroup(const ClassProgram &c, uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < a; ++i)
    if (c.instrs[i].op == Op::Group && a - i <= uint32_t(c.instrs[i].arg) &&
        b - i <= uint32_t(c.instrs[i].arg))
      return true;
  return false;
}

static uint32_t ranksIn(const ClassProgram &c) {
  uint32_t n = 1;
  for (size_t a = 0; a < c.first.size(); ++a)
    n *= c.last[a] - c.first[a] + 1;
  return n;
}

std::vector<Mutation> mutationsOf(const Plan &plan) {
  std::vector<Mutation> result;
  for (uint32_t cls = 0; cls < plan.classes.size(); ++cls) {
    const ClassProgram &c = plan.classes[cls];
    auto everywhere = [&](Mutation m) {
      result.push_back(m);
      if (ranksIn(c) > 1)
        for (uint32_t r = 0; r < plan.ranks(); ++r)
          if (classOf(plan, r) == cls) {
            m.rank = r;
            result.push_back(m);
          }
    };
    for (uint32_t i = 0; i < c.instrs.size(); ++i) {
      if (c.instrs[i].op == Op::Wait)
        result.push_back({Mutation::DeleteWait, cls, i, i, -1});
      if (!isCommunication(c.instrs[i].op))
        continue;
      everywhere({Mutation::DeleteOperation, cls, i, i, -1});
      for (uint32_t j = i + 1; j < c.instrs.size(); ++j)
        if (isCommunication(c.instrs[j].op) && c.instrs[i].index == c.instrs[j].index) {
          ClassProgram swapped = c;
          swapInstrs(swapped, i, j);
          if (traceOf(swapped) != traceOf(c))
            everywhere({Mutation::SwapOperations, cls, i, j, -1});
        }
    }
  }
  return result;
}

static std::string place(const Plan &plan, uint32_t cls, uint32_t instr) {
  const ClassProgram &c = plan.classes[cls];
  const Instr &in = c.instrs[instr];
  static constexpr const char *reductions[] = {"all_reduce_sum", "all_reduce_max", "all_gather",
                                               "reduce_scatter"};
  std::string what = in.op == Op::Wait         ? "wait"
                     : in.op == Op::Send       ? "send"
                     : in.op == Op::Recv       ? "recv"
                     : in.op == Op::Collective ? reductions[in.arg]
                                               : "?";
  if (in.op != Op::Wait)
    what += " of " + std::to_string(in.bytes) + " bytes '" + plan.strings[in.name] + "' on " +
            plan.communicators[in.index].name;
  for (const Template &t : c.templates)
    if (instr >= t.first && instr - t.first < t.count)
      return c.name + "." + t.name + "[" + std::to_string(instr - t.first) + "] " + what;
  return "?";
}

std::string describe(const Plan &plan, const Mutation &m) {
  std::string text = m.kind == Mutation::None ? "no change" : place(plan, m.cls, m.a);
  if (m.kind == Mutation::SwapOperations)
    text += " <-> " + place(plan, m.cls, m.b);
  else if (m.kind != Mutation::None)
    text += " deleted";
  return m.rank < 0 ? text : text + " in rank " + std::to_string(m.rank);
}

std::string reasonOf(const Plan &plan, const Mutation &m) {
  if (m.kind == Mutation::SwapOperations && inOneGroup(plan.classes[m.cls], m.a, m.b))
    return "members of one group start together: they have no order";
  return "";
}

/// A second class with the program of `cls` and what belongs to it.
static uint32_t copyClass(Plan &plan, uint32_t cls) {
  uint32_t copy = uint32_t(plan.classes.size());
  plan.classes.push_back(ClassProgram(plan.classes[cls]));
  ClassProgram &c = plan.classes.back();
  c.name += "+" + std::to_string(copy);
  plan.summaries.push_back(ClassSummary(plan.summaries[cls]));
  for (auto *list : {&plan.params})
    for (size_t i = 0, n = list->size(); i < n; ++i)
      if ((*list)[i].classIndex == cls) {
        Param p = (*list)[i];
        p.classIndex = copy;
        list->push_back(std::move(p));
      }
  for (size_t i = 0, n = plan.inputs.size(); i < n; ++i)
    if (plan.inputs[i].classIndex == cls) {
      Input input = plan.inputs[i];
      input.classIndex = copy;
      plan.inputs.push_back(std::move(input));
    }
  for (size_t i = 0, n = plan.metrics.size(); i < n; ++i)
    if (plan.metrics[i].classIndex == cls) {
      Metric metric = plan.metrics[i];
      metric.classIndex = copy;
      for (Instr &in : c.instrs)
        if (in.op == Op::Metric && in.index == i)
          in.index = uint32_t(plan.metrics.size());
      plan.metrics.push_back(std::move(metric));
    }
  return copy;
}

uint32_t splitOff(Plan &plan, uint32_t rank) {
  uint32_t cls = classOf(plan, rank);
  std::vector<uint32_t> at = coordinates(plan, rank);
  // Axis by axis, what lies before and behind the rank becomes a box of its own.
  for (size_t a = 0; a < at.size(); ++a) {
    auto cut = [&](uint32_t first, uint32_t last) {
      uint32_t copy = copyClass(plan, cls);
      plan.classes[copy].first[a] = first, plan.classes[copy].last[a] = last;
    };
    uint32_t first = plan.classes[cls].first[a], last = plan.classes[cls].last[a];
    if (first < at[a])
      cut(first, at[a] - 1);
    if (at[a] < last)
      cut(at[a] + 1, last);
    plan.classes[cls].first[a] = plan.classes[cls].last[a] = at[a];
  }
  return cls;
}

Plan apply(const Plan &plan, const Mutation &m) {
  Plan mutant = plan;
  uint32_t cls = m.rank < 0 ? m.cls : splitOff(mutant, uint32_t(m.rank));
  ClassProgram &c = mutant.classes[cls];
  if (m.kind == Mutation::SwapOperations)
    swapInstrs(c, m.a, m.b);
  else if (m.kind != Mutation::None)
    deleteInstr(c, m.a);
  return mutant;
}

Outcome outcomeOf(const Plan &plan, const std::string &text, double deadlineSeconds) {
  Outcome result;
  exec::Options options;
  options.seed = 7;
  options.deadlineSeconds = deadlineSeconds;
  try {
    exec::Session session(plan, options);
    data::Tokens tokens(text, data::TokenType::U8, {plan.globalBatch, plan.sequence, plan.vocabulary});
    std::map<std::string, double> values;
    auto note = [&] {
      for (const Metric &m : plan.metrics)
        values[m.name] = session.metric(m.name); // copies of a class have equal ones
      for (auto &[name, value] : values)
        result.metrics[name].push_back(value);
    };
    session.initialize();
    session.step(tokens, data::Order::Sequential);
    note();
    session.evaluateRows();
    note();
    session.step(tokens, data::Order::Sequential);
    note();
    session.evaluateRows();
    note();
    for (uint32_t r = 0; r < plan.ranks(); ++r) {
      std::vector<double> &values = result.parameters.emplace_back();
      for (const Region &region : plan.classes[classOf(plan, r)].regions) {
        if (region.kind != RegionKind::Parameter)
          continue;
        size_t n = values.size();
        values.resize(n + region.bytes / sizeof(double));
        session.read(r, region.offset, std::as_writable_bytes(std::span(values).subspan(n)));
      }
    }
  } catch (const Error &e) {
    result.error = e.what();
  }
  return result;
}

static double difference(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size())
    return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return INFINITY;
    worst = std::max(worst, std::fabs(a[i] - b[i]) / std::max(1.0, std::fabs(b[i])));
  }
  return worst;
}

double difference(const Outcome &a, const Outcome &b) {
  if (!a.error.empty() || !b.error.empty() || a.parameters.size() != b.parameters.size())
    return INFINITY;
  double worst = 0;
  for (auto &[name, values] : b.metrics) {
    auto it = a.metrics.find(name);
    worst = std::max(worst, it == a.metrics.end() ? INFINITY : difference(it->second, values));
  }
  for (size_t r = 0; r < b.parameters.size(); ++r)
    worst = std::max(worst, difference(a.parameters[r], b.parameters[r]));
  return worst;
}

Verdict judge(const Plan &mutant, const Outcome &expected, const std::string &text, std::string &why) {
  std::vector<verify::Finding> findings = verify::verifySound(mutant);
  if (!findings.empty()) {
    why = findings[0].str();
    return Verdict::Verify;
  }
  Outcome outcome = outcomeOf(mutant, text, 10);
  if (!outcome.error.empty()) {
    why = outcome.error;
    return Verdict::Error;
  }
  double d = difference(outcome, expected);
  why = "differs by " + std::to_string(d);
  return d > 1e-9 ? Verdict::Equality : Verdict::Equivalent;
}

} // namespace hocket::test
