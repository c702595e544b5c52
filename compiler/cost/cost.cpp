#include "compiler/cost/cost.h"

#include <algorithm>

namespace hocket {

double allReduceSeconds(double bytes, int64_t n, const LinkFacts &link) {
  if (n <= 1)
    return 0;
  double steps = 2.0 * static_cast<double>(n - 1);
  return steps / static_cast<double>(n) * bytes / link.rate + steps * link.latency;
}

namespace {

/// Reads and writes per residual element in a forward and a backward pass:
/// written once, read by the next op, read again by the backward pass, whose
/// gradient of it is written and read.
constexpr double kResidualTraffic = 5;
/// Parameters are read forward, twice backward; gradients are read and written.
constexpr double kWeightTraffic = 5;
/// The update reads p, g, m, v and writes p, m, v; the norm reads g; zeros are written to g.
constexpr double kUpdateTraffic = 9;
/// Parameter, gradient and two moments.
constexpr double kStates = 4;

struct Stage {
  double layers, parameters, flops, traffic, residuals;
  bool last;
};

Stage stage(const CostInput &in, int64_t i) {
  double t = static_cast<double>(in.tensor), layers = static_cast<double>(in.stageLayers[i]);
  bool first = i == 0, last = i + 1 == static_cast<int64_t>(in.stageLayers.size());
  double micro = static_cast<double>(in.microBatch);
  Stage s;
  s.layers = layers;
  s.last = last;
  s.parameters =
      (layers * in.layerParameters + (first ? in.embedParameters : 0) + (last ? in.headParameters : 0)) / t;
  s.flops = 3 * micro * (layers * in.layerFlops + (last ? in.headFlops : 0)) / t;
  s.residuals = micro * layers * (in.residualWhole + in.residualSharded / t);
  double logits = last ? micro * in.logitElements / t : 0;
  s.traffic = kResidualTraffic * (s.residuals + logits) + kWeightTraffic * s.parameters;
  return s;
}

} // namespace

Cost predict(const CostInput &in) {
  double micros = in.globalBatch / (static_cast<double>(in.data) * static_cast<double>(in.microBatch));
  int64_t stages = static_cast<int64_t>(in.stageLayers.size());
  double carry = static_cast<double>(in.microBatch) * in.carryElements * in.elementBytes;
  double perLayerReduce = 4 * allReduceSeconds(carry, in.tensor, in.tensorLink);
  double transfer = stages > 1 ? 2 * (carry / in.pipelineLink.rate + in.pipelineLink.latency) : 0;

  // The slowest stage sets the pace.
  double products = 0, memory = 0, collectives = 0, pace = -1, gradients = 0, update = 0;
  Cost cost;
  cost.bytes = -1;
  for (int64_t i = 0; i < stages; ++i) {
    Stage s = stage(in, i);
    double compute = s.flops / in.rate;
    double traffic = in.memoryRate > 0 ? s.traffic * in.elementBytes / in.memoryRate : 0;
    double reduces = s.layers * perLayerReduce;
    if (i == 0 || s.last)
      reduces += perLayerReduce / 4; // the embedding's sum, the head's gradient
    if (compute + traffic + reduces > pace) {
      pace = compute + traffic + reduces;
      products = compute, memory = traffic, collectives = reduces;
    }
    gradients = std::max(gradients, allReduceSeconds(s.parameters * in.elementBytes, in.data, in.dataLink));
    if (in.memoryRate > 0)
      update = std::max(update, kUpdateTraffic * s.parameters * in.elementBytes / in.memoryRate);

    double inFlight = in.oneFOneB ? std::min(micros, static_cast<double>(stages - i)) : micros;
    double micro = static_cast<double>(in.microBatch), t = static_cast<double>(in.tensor);
    double logits = s.last ? 2 * micro * in.logitElements / t : 0;
    double work = 2 * micro * (in.residualWhole + in.residualSharded / t) + 4 * micro * in.carryElements;
    std::vector<CostTerm> terms = {
        {"parameters + gradients", 2 * s.parameters * in.elementBytes},
        {"optimizer", (kStates - 2) * s.parameters * in.elementBytes},
        {"activations", inFlight * s.residuals * in.elementBytes},
        {"buffers", (logits + work) * in.elementBytes},
    };
    double bytes = 0;
    for (const CostTerm &term : terms)
      bytes += term.second;
    if (bytes > cost.bytes) {
      cost.bytes = bytes;
      cost.memory = std::move(terms);
    }
  }
  double bubble = static_cast<double>(stages - 1) * pace;
  cost.time = {{"matrix products", micros * products},
               {"memory traffic", micros * memory},
               {"tensor collectives", micros * collectives},
               {"stage transfers", micros * transfer},
               {"bubble", bubble},
               {"gradients", gradients},
               {"optimizer", update}};
  for (const CostTerm &term : cost.time)
    cost.seconds += term.second;
  return cost;
}

} // namespace hocket
