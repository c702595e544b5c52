//===- stage_cut.h - Which layers go to which stage -------------------------===//
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace hocket::planner {

struct StageCut {
  std::vector<int64_t> layers; ///< per stage, at least one each
  double slowest = 0;          ///< seconds of the slowest stage
};

/// The cut of layers into consecutive stages that makes the slowest stage
/// fastest: exact dynamic programming over intervals, O(stages layers^2).
/// Stage i takes stageSeconds(i, from, to) for layers [from, to) and may hold
/// them if fits(i, from, to).  Of equal cuts the one whose first stages hold
/// most layers.  Nothing if no cut fits.
std::optional<StageCut>
cutStages(int64_t layers, int64_t stages,
          const std::function<double(int64_t stage, int64_t from, int64_t to)> &stageSeconds,
          const std::function<bool(int64_t stage, int64_t from, int64_t to)> &fits);

} // namespace hocket::planner
