#include "compiler/planner/search.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace hocket::planner {

using cost::Tactics;

namespace {

bool sameMesh(const Tactics &a, const Tactics &b) {
  return a.pipeline == b.pipeline && a.data == b.data && a.context == b.context && a.tensor == b.tensor;
}

/// The best candidate of each mesh that may still be among the first few.
struct Ranking {
  size_t size;
  struct Entry {
    Candidate candidate;
    size_t node; ///< place in the fixed order, to decide between equal costs
  };
  std::vector<Entry> entries; ///< ascending

  static bool before(const Entry &a, const Entry &b) {
    if (a.candidate.evaluation.seconds != b.candidate.evaluation.seconds)
      return a.candidate.evaluation.seconds < b.candidate.evaluation.seconds;
    return a.node < b.node;
  }
  /// What a candidate must not exceed to matter.
  double threshold() const {
    return entries.size() < size ? std::numeric_limits<double>::infinity()
                                 : entries.back().candidate.evaluation.seconds;
  }
  void offer(Entry entry) {
    auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry &e) {
      return sameMesh(e.candidate.tactics, entry.candidate.tactics);
    });
    if (same != entries.end()) {
      if (!before(entry, *same))
        return;
      entries.erase(same);
    }
    entries.insert(std::upper_bound(entries.begin(), entries.end(), entry, before), std::move(entry));
    if (entries.size() > size)
      entries.pop_back();
  }
};

} // namespace

Answer search(const Problem &problem, const Space &space, const Evaluator &evaluator, const Limits &limits) {
  Answer answer;
  Certificate &proof = answer.certificate;
  std::vector<Tactics> nodes = meshes(problem, space);
  std::vector<double> bounds;
  for (const Tactics &mesh : nodes)
    bounds.push_back(evaluator.bound(mesh));
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(bounds[a], a) < std::pair(bounds[b], b); });

  proof.meshes = int64_t(nodes.size());
  Ranking ranking{limits.others + 1, {}};
  std::optional<Candidate> closest;
  size_t next = 0;
  for (; next < order.size(); ++next) {
    size_t node = order[next];
    if (bounds[node] > ranking.threshold() || proof.evaluated >= limits.evaluations)
      break;
    completions(problem, space, nodes[node], [&](const Tactics &t) {
      if (limits.allowed && !limits.allowed(t))
        return true;
      if (proof.evaluated >= limits.evaluations)
        return false;
      ++proof.evaluated;
      Candidate candidate{t, evaluator.evaluate(t)};
      if (candidate.evaluation.fits)
        ranking.offer({candidate, node});
      else if (!closest || candidate.evaluation.bytes < closest->evaluation.bytes)
        closest = std::move(candidate);
      return true;
    });
  }
  for (Ranking::Entry &e : ranking.entries)
    if (!answer.best)
      answer.best = std::move(e.candidate);
    else
      answer.others.push_back(std::move(e.candidate));
  if (!answer.best) {
    answer.closest = std::move(closest);
    return answer;
  }

  double best = answer.best->evaluation.seconds;
  proof.complete = proof.evaluated < limits.evaluations;
  proof.bounded = int64_t(order.size() - next);
  // Out of budget: the node in which it ran out is open too.
  double open = best;
  if (!proof.complete)
    for (size_t k = next ? next - 1 : 0; k < order.size(); ++k)
      open = std::min(open, bounds[order[k]]);
  proof.bound = open;
  proof.gap = open > 0 ? best / open - 1 : 0;
  return answer;
}

} // namespace hocket::planner
