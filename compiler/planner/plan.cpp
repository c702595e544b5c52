#include "compiler/planner/plan.h"

#include <algorithm>

namespace hocket::planner {

using namespace cost;

namespace {

/// Keeps of every list of names what `keep(dimension, value)` allows.
template <typename Keep>
void keepNamed(Space &s, Keep keep) {
  auto filter = [&](const char *name, auto &list, auto value) {
    const Dimension *d = dimension(name);
    std::erase_if(list, [&](const auto &v) { return !keep(*d, int64_t(value(v))); });
  };
  auto number = [](auto v) { return int64_t(v); };
  filter("schedule", s.schedules, number);
  filter("zero", s.zero, number);
  filter("recompute", s.recompute, number);
  filter("context_kind", s.contextKinds, number);
  filter("precision", s.precision, number);
  filter("order", s.orders, [](const auto &order) {
    Tactics t;
    t.order = order;
    return dimension("order")->get(t);
  });
  // Lists of bool have no references.
  const Dimension *sequence = dimension("sequence_parallel"), *offload = dimension("offload");
  std::vector<bool> kept;
  for (bool v : s.sequenceParallel)
    if (keep(*sequence, v))
      kept.push_back(v);
  s.sequenceParallel = kept;
  if (!keep(*offload, 1) && !keep(*offload, 3))
    s.offloadOptimizer = {false};
  if (!keep(*offload, 2) && !keep(*offload, 3))
    s.offloadActivations = {0};
}

using Requirements = std::vector<const Requirement *>;

/// The search of what `requirements` leave, and of that what is executed.
Answer search(const Question &question, const Requirements &requirements, bool executable, size_t others,
              bool any = false) {
  Space space = question.space;
  keepNamed(space, [&](const Dimension &d, int64_t value) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&](const Requirement *r) { return r->dimension != &d || r->holds(value); });
  });
  if (executable)
    space = executed(space);
  Limits limits;
  limits.others = others, limits.evaluations = question.evaluations, limits.any = any;
  if (!requirements.empty() || executable || question.mesh)
    limits.allowed = [&](const Tactics &t, Decided decided) {
      if (decided == Decided::Mesh && question.mesh && !question.mesh(t))
        return false;
      for (const Requirement *r : requirements)
        if (r->dimension->decided == decided && !r->holds(t))
          return false;
      return !executable || executes(t, decided);
    };
  return search(question.facts.problem, space, StepEvaluator(question.facts, space), limits);
}

/// Which of the requirements cannot hold together; empty if nothing fits without any.
std::vector<size_t> conflictOf(const Question &question) {
  auto fits = [&](const std::vector<size_t> &set) {
    Requirements kept;
    for (size_t i : set)
      kept.push_back(&question.requirements[i]);
    return search(question, kept, false, 0, true).best.has_value();
  };
  if (!fits({}))
    return {};
  // Leaves out every one that the rest fails without.
  std::vector<size_t> set;
  for (size_t i = 0; i < question.requirements.size(); ++i)
    set.push_back(i);
  for (size_t i = set.size(); i-- > 0;) {
    std::vector<size_t> without = set;
    without.erase(without.begin() + std::ptrdiff_t(i));
    if (!fits(without))
      set = std::move(without);
  }
  return set;
}

} // namespace

Space executed(const Space &space) {
  Space out = space;
  keepNamed(out, [](const Dimension &d, int64_t value) { return d.executes(value); });
  out.hybridShards = out.hybridShards && dimension("shard_group")->executes(1);
  out.expertTensor = out.expertTensor && dimension("expert_tensor")->executes(2);
  return out;
}

Plan plan(const Question &question) {
  Requirements all;
  for (const Requirement &r : question.requirements)
    all.push_back(&r);
  Plan out;
  const Facts &facts = question.facts;
  Answer answer = search(question, all, false, question.others);
  out.certificate = answer.certificate;
  if (answer.best) {
    out.best = price(facts, answer.best->tactics);
    for (const Candidate &c : answer.others)
      out.others.push_back(price(facts, c.tactics));
    if (notExecuted(answer.best->tactics).empty())
      out.executable = out.best;
    else if (Answer today = search(question, all, true, 0); today.best)
      out.executable = price(facts, today.best->tactics);
    return out;
  }
  if (answer.closest) {
    Nearest nearest{price(facts, answer.closest->tactics), 0, 0};
    nearest.over = nearest.priced.memory.memory.total() - facts.capacity();
    nearest.overHost = (nearest.priced.host - facts.hostCapacity()) * double(facts.machine.devicesPerHost);
    out.nearest = nearest;
  }
  if (!question.requirements.empty())
    out.conflict = conflictOf(question);
  return out;
}

} // namespace hocket::planner
