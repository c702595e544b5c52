//===- choose.h - The best strategy for a model, a cluster and a job --------===//
//
// Enumerates pipeline x data x tensor over all devices and every micro-batch,
// asks the cost model, takes the fastest that fits. This is the seam where a
// real planner goes: plain structs in, a Strategy out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/facts.h"
#include "compiler/input/legal.h"

namespace hocket {

struct Choice {
  std::optional<Strategy> best;    ///< nothing: see `legal`
  Cost cost;                       ///< of best; of closest when nothing fits
  std::optional<Strategy> closest; ///< least bytes, when no legal strategy fits
  int64_t legal = 0;
};

/// Bytes that a strategy may take of one device, headroom left.
double usableBytes(const Cluster &cluster, const Job &job);

/// The same answer for the same inputs: of equal costs the first one wins, in
/// the order tensor, pipeline, data upwards and micro-batches downwards.
/// `microBatch` > 0 pins it.
Choice chooseStrategy(const ModelConfig &model, const Cluster &cluster, const Job &job,
                      int64_t microBatch = 0);

/// Completes a strategy without a micro-batch; of the given mesh only.
Choice chooseMicroBatch(const ModelConfig &model, const Cluster &cluster, const Job &job,
                        const Strategy &mesh);

} // namespace hocket
