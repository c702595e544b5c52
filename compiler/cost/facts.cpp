#include "compiler/cost/facts.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace hocket {

LinkFacts linkOf(const Cluster &cluster, const Strategy &strategy, StringRef axis) {
  // Devices of one group are `stride` apart and span stride * size in a row.
  int64_t stride = 1;
  for (auto it = strategy.order.rbegin(); it != strategy.order.rend() && *it != axis; ++it)
    stride *= strategy.size(*it);
  int64_t span = stride * strategy.size(axis), below = 1;
  LinkFacts link;
  for (const IslandLevel &level : cluster.levels) {
    int64_t capacity = below * level.count;
    link.rate = level.rate / static_cast<double>(std::clamp<int64_t>(stride, 1, below));
    link.latency = level.latency;
    if (capacity >= span)
      break;
    below = capacity;
  }
  return link;
}

CostInput costInput(const ModelConfig &model, const Cluster &cluster, const Job &job,
                    const Strategy &strategy) {
  CostInput in;
  auto d = [](int64_t n) { return static_cast<double>(n); };
  double s = d(job.sequence), h = d(model.hidden), q = d(model.heads * model.headDim),
         kv = d(model.kvHeads * model.headDim), f = d(model.ffn), v = d(model.vocab);

  // One layer's parameters by difference, so that no family is named.
  ModelConfig none = model, one = model;
  none.layers = 0;
  one.layers = 1;
  in.layers = model.layers;
  in.layerParameters = static_cast<double>(one.parameters() - none.parameters());
  in.headParameters = v * h;
  in.embedParameters = static_cast<double>(none.parameters()) - (model.tied ? 0 : v * h);
  // Feed-forward matrices: two, or three with a gate.
  double matrices = std::round((in.layerParameters - h * (2 * q + 2 * kv)) / (h * f));

  in.layerFlops = s * (2 * (h * (2 * q + 2 * kv) + matrices * h * f) + 4 * s * q);
  in.headFlops = 2 * s * h * v;
  in.carryElements = s * h;
  // x, a, y, c; then q, o, k, v and the feed-forward's.
  in.residualWhole = s * 4 * h;
  in.residualSharded = s * (2 * q + 2 * kv + matrices * f);
  in.logitElements = s * v;
  in.elementBytes = job.dtype == format::DType::F64 ? 8 : 4;

  in.globalBatch = d(job.globalBatch);
  in.data = strategy.data;
  in.tensor = strategy.tensor;
  in.microBatch = std::max<int64_t>(1, strategy.microBatch);
  in.stageLayers = stageLayers(strategy, model.layers);
  in.oneFOneB = strategy.schedule == PipelineSchedule::OneFOneB;

  in.rate = job.dtype == format::DType::F64 ? cluster.device.rateF64 : cluster.device.rateF32;
  in.memoryRate = cluster.device.memoryRate;
  in.tensorLink = linkOf(cluster, strategy, "tensor");
  in.dataLink = linkOf(cluster, strategy, "data");
  in.pipelineLink = linkOf(cluster, strategy, "pipeline");
  return in;
}

} // namespace hocket
