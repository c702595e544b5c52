#include "compiler/planner/search.h"

#include <algorithm>
#include <bit>
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
  std::vector<Entry>::iterator of(const Tactics &mesh) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const Entry &e) { return sameMesh(e.candidate.tactics, mesh); });
  }
  /// Likewise, of a mesh that may be among them already.
  double threshold(const Tactics &mesh) {
    auto same = of(mesh);
    return same == entries.end() ? threshold() : same->candidate.evaluation.seconds;
  }
  void offer(Entry entry) {
    auto same = of(entry.candidate.tactics);
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

uint64_t mixed(uint64_t sum, double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  sum = (sum ^ bits) * 0x9E3779B97F4A7C15ull;
  return sum ^ (sum >> 29);
}

} // namespace

Answer search(const Problem &problem, const Space &space, const Evaluator &evaluator, const Limits &limits) {
  Answer answer;
  Certificate &proof = answer.certificate;
  std::vector<Tactics> nodes = meshes(problem, space);
  if (limits.allowed)
    std::erase_if(nodes, [&](const Tactics &mesh) { return !limits.allowed(mesh, Decided::Mesh); });
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
    if (bounds[node] > ranking.threshold() || proof.evaluated >= limits.evaluations ||
        (limits.any && !ranking.entries.empty()))
      break;
    std::unique_ptr<MeshCost> costs = evaluator.open(nodes[node]);
    // The best of the mesh is all that a ranking keeps of it.
    double most = ranking.threshold(nodes[node]);
    std::optional<Candidate> best;
    auto enter = [&](const Tactics &first) {
      if (limits.allowed && !limits.allowed(first, Decided::First))
        return false;
      Evaluation least = costs->enter(first, most);
      bool open = least.seconds <= most;
      // What cannot fit matters only where nothing does, and if it lacks less.
      if (open && !least.fits)
        open = !best && ranking.entries.empty() && !(closest && closest->evaluation.bytes <= least.bytes);
      proof.bounded += !open;
      return open;
    };
    auto visit = [&](const Tactics &t) {
      if (limits.allowed && !limits.allowed(t, Decided::All))
        return true;
      if (proof.evaluated >= limits.evaluations)
        return false;
      ++proof.evaluated;
      Evaluation e = costs->evaluate(t);
      proof.checksum = mixed(mixed(proof.checksum, e.seconds), e.bytes);
      if (e.fits) {
        if (e.seconds <= most && (!best || e.seconds < best->evaluation.seconds)) {
          best = Candidate{t, e};
          most = e.seconds;
        }
      } else if (!best && ranking.entries.empty() && (!closest || e.bytes < closest->evaluation.bytes)) {
        closest = Candidate{t, e};
      }
      return !(limits.any && best);
    };
    completions(problem, space, nodes[node], visit, enter);
    if (best)
      ranking.offer({*best, node});
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
  proof.bounded += int64_t(order.size() - next);
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
