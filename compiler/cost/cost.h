//===- cost.h - Seconds and bytes of one step, in closed form ---------------===//
//
// A pure function over plain numbers: what a layer and the rest of a model
// cost per sequence, how fast devices and links are, and a strategy.  No IR, no
// files, no state, so that a search may call it as often as it likes and a
// better model may take its place.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hocket {

/// What the links between the devices of one mesh axis give each of them.
struct LinkFacts {
  double rate = 0;    ///< bytes/s per direction and device, contention included
  double latency = 0; ///< seconds per message
};

struct CostInput {
  // The model; elements, FLOP per sequence.
  int64_t layers = 0;
  double layerParameters = 0; ///< elements of one layer
  double embedParameters = 0; ///< elements used before the layers
  double headParameters = 0;  ///< elements used behind the layers (a tied head again)
  double layerFlops = 0;      ///< forward, of one layer and sequence; backward is twice that
  double headFlops = 0;       ///< likewise, behind the layers
  double carryElements = 0;   ///< what one layer hands to the next, per sequence
  double residualWhole = 0;   ///< residual elements of one layer and sequence that tensor does not shard
  double residualSharded = 0; ///< and that it shards
  double logitElements = 0;   ///< per sequence
  double elementBytes = 4;

  // The job and the strategy.
  double globalBatch = 1; ///< sequences
  int64_t data = 1, tensor = 1, microBatch = 1;
  std::vector<int64_t> stageLayers; ///< one per stage
  bool oneFOneB = true;             ///< else GPipe

  // The machine.
  double rate = 0;       ///< FLOP/s of the element type
  double memoryRate = 0; ///< bytes/s; 0: not known, no memory term
  LinkFacts tensorLink, dataLink, pipelineLink;
};

/// A named part of a sum, in seconds or bytes.
using CostTerm = std::pair<std::string, double>;

struct Cost {
  double seconds = 0;                 ///< one optimizer step
  double bytes = 0;                   ///< of the fullest device
  std::vector<CostTerm> time, memory; ///< add up to the above
};

/// Seconds: stages work (microBatches + pipeline - 1) turns of the slowest
/// stage's forward and backward pass, then gradients are summed over data and
/// parameters updated. A pass is its FLOP at the device's rate plus its
/// element-wise traffic at the memory rate, plus four all-reduces per layer over
/// tensor (two forward, two backward). An all-reduce of n is a ring: 2 (n-1)/n of
/// the bytes, 2 (n-1) latencies.
/// Bytes: parameters, gradients and two moments, residuals of the micro-batches
/// in flight, logits and their gradient, a layer's working set.
Cost predict(const CostInput &input);

/// The ring's seconds for `bytes` on each of `n` devices.
double allReduceSeconds(double bytes, int64_t n, const LinkFacts &link);

} // namespace hocket
