#include "compiler/planner/stage_cut.h"

#include <algorithm>
#include <limits>

namespace hocket::planner {

std::optional<StageCut> cutStages(int64_t layers, int64_t stages,
                                  const std::function<double(int64_t, int64_t, int64_t)> &stageSeconds,
                                  const std::function<bool(int64_t, int64_t, int64_t)> &fits) {
  if (stages < 1 || layers < stages)
    return std::nullopt;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // best[i][from]: the slowest of stages i, i + 1, ... when they hold layers [from, layers).
  std::vector<std::vector<double>> best(size_t(stages) + 1, std::vector<double>(size_t(layers) + 1, kNever));
  std::vector<std::vector<int64_t>> end(size_t(stages), std::vector<int64_t>(size_t(layers) + 1));
  best[size_t(stages)][size_t(layers)] = 0;
  for (int64_t i = stages - 1; i >= 0; --i)
    for (int64_t from = i; from <= layers - (stages - i); ++from)
      // Most layers first, so that equal costs give the first stages more.
      for (int64_t to = layers - (stages - 1 - i); to > from; --to) {
        double rest = best[size_t(i) + 1][size_t(to)];
        if (rest >= best[size_t(i)][size_t(from)] || !fits(i, from, to))
          continue;
        double slowest = std::max(rest, stageSeconds(i, from, to));
        if (slowest < best[size_t(i)][size_t(from)]) {
          best[size_t(i)][size_t(from)] = slowest;
          end[size_t(i)][size_t(from)] = to;
        }
      }
  if (best[0][0] == kNever)
    return std::nullopt;
  StageCut cut;
  cut.slowest = best[0][0];
  for (int64_t i = 0, from = 0; i < stages; ++i) {
    int64_t to = end[size_t(i)][size_t(from)];
    cut.layers.push_back(to - from);
    from = to;
  }
  return cut;
}

} // namespace hocket::planner
