//===- step_memory.h - Bytes on the devices of a training step --------------===//
//
// Every term of a device's memory by name, for every pipeline position: a
// verdict is about the fullest one, never about the average.  Closed form over
// plain numbers; no allocation.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/model_shape.h"
#include "compiler/cost/tactics.h"

namespace hocket::cost {

/// What a software stack adds to the tensors that theory counts.
struct MemoryConstants {
  double reserve = 0;          ///< bytes: driver context, communicators, library workspaces, buckets
  double activationFactor = 1; ///< bytes that the allocator holds per byte of activations
  double optimizerScratch = 0; ///< bytes per parameter of the optimizer's shard beside master and moments
  double accumulationCopy =
      0; ///< bytes per parameter beside f32 gradients: 16-bit ones, widened tensor by tensor to be added
  double scoreBytes =
      0; ///< per attention score that is kept: 5 without a fused kernel (arXiv 2205.05198), else 0
  double logitBytes = 8;   ///< per logit: 16-bit value, f32 copy or its gradient
  double stageTensors = 0; ///< residual-sized tensors that a stage keeps per micro-batch beside its layers'
  /// Of a runtime that lays all temporaries out in one arena, as ours does: residual-sized ones of a layer's
  /// backward pass, beside which stand the gradients of the queries, keys, values and of two feed-forward
  /// operands, or those of the logits; 0: an allocator whose temporaries are not counted.
  double workTensors = 0;
  double endTensors = 0; ///< residual-sized tensors that the position with the head keeps beside its layers'
};

/// Elements of the parameters of one device at one pipeline position, after
/// tensor and expert sharding, before ZeRO.
struct StageParameters {
  double dense = 0;   ///< attention, norms, dense feed-forward, router, shared experts, embedding, head
  double experts = 0; ///< routed experts
  double tables = 0;  ///< embedding and head, a part of `dense`
};

/// Bytes.
struct StageMemory {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0; ///< of all micro-batches in flight
  double working = 0;     ///< of the layer that runs: what recompute brings back
  double logits = 0, gathered = 0, reserve = 0;
  double host = 0; ///< in the host's memory, not part of the total
  double total() const {
    return parameters + gradients + optimizer + activations + working + logits + gathered + reserve;
  }
};

/// Layers of pipeline position `device` over all its chunks.
int64_t layersOf(const Tactics &tactics, int64_t layers, int64_t device);
/// What `layersOf` takes for even stages, as `Tactics::stageLayers` says it.
std::vector<int64_t> evenStages(const Tactics &tactics, int64_t layers);

/// Of one position; `device` 0 holds the embedding, the last one the head (in a
/// V both are on device 0).
StageParameters stageParameters(const ModelShape &model, const Tactics &tactics, int64_t device);

/// Bytes of one layer and micro-batch on one device.
struct LayerBytes {
  double input = 0;     ///< what full recompute keeps
  double kept = 0;      ///< all but scores
  double scores = 0;    ///< where the attention kernel keeps them
  double selective = 0; ///< what selective recompute keeps
};
LayerBytes layerBytes(const ModelShape &model, const Workload &work, const Tactics &tactics,
                      const MemoryConstants &constants);

/// What of these a layer keeps until its backward pass, the mean over the layers of the model.
double keptBytes(const ModelShape &model, const Tactics &tactics, const LayerBytes &layer);

/// Bytes that one layer keeps per micro-batch for its backward pass (counted
/// tensor by tensor: norm inputs and outputs, q, k, v, attention's output and
/// log-sums, the feed-forward's operands).  16-bit, no dropout: 32 s b h for
/// GPT with equal heads and f = 4 h, and 5 a s b s more if scores are kept.
double layerActivations(const ModelShape &model, const Workload &work, const Tactics &tactics,
                        const MemoryConstants &constants);

/// Of one position.  Selective recompute drops the scores where the kernel keeps
/// some, else the output of every other product and what is cheap to compute
/// again (step_time prices it the same way).  Activations in flight follow the schedule's peak
/// (pipeline::peakMicros), state follows the ZeRO level, routed experts their
/// own data-parallel group of data * context * tensor / (expert * expertTensor).
StageMemory stageMemory(const ModelShape &model, const Workload &work, const Tactics &tactics,
                        const MemoryConstants &constants, int64_t device);

/// A position with what it holds.
struct Position {
  int64_t device = 0, layers = 0;
  int64_t dense = 0; ///< of these layers, those with the dense feed-forward
  bool last = false; ///< holds the head
  StageParameters parameters;
};
Position position(const ModelShape &model, const Tactics &tactics, int64_t device);
/// Its parameters, from the layers that it holds.
StageParameters stageParameters(const ModelShape &model, const Tactics &tactics, const Position &position);

/// Positions of which one is the fullest, whatever the rest of `tactics` says: the first of each
/// kind, since no schedule keeps more micro-batches on a later position.  Hang on pipeline, chunks,
/// stageLayers and whether the schedule is a V; without parameters.
std::vector<Position> fullestPositions(const ModelShape &model, const Tactics &tactics);

/// The same bytes from facts of the position and of a layer.
StageMemory stageMemory(const ModelShape &model, const Workload &work, const Tactics &tactics,
                        const MemoryConstants &constants, const Position &position, const LayerBytes &layer);

/// The fullest position.
struct MemoryVerdict {
  int64_t device = 0;
  StageMemory memory;
};
MemoryVerdict fullest(const ModelShape &model, const Workload &work, const Tactics &tactics,
                      const MemoryConstants &constants);

/// Whether predicted bytes fit into a device.  Predictions are wrong by up to 15 %, so what is near is said
/// to be near: a plan at the limit may run or not.
enum class Fit : uint8_t { Fits, AtLimit, TooLarge };
inline constexpr double kLimitFrom = 0.85, kLimitTo = 1.1; ///< of the device's memory
Fit fitOf(double bytes, double capacity);

} // namespace hocket::cost
