//===- step_time.h - Seconds of one training step, in closed form -----------===//
//
// docs/cost-model.md derives every term.  No allocation, no strings.
//
// In parts, each of which hangs on few choices: a search asks for the first ones
// seldom, and a million times a second for the last, which puts them together.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/fabric.h"
#include "compiler/cost/model_shape.h"

namespace hocket::cost {

/// Seconds of one optimizer step; the terms add up to `total`.
struct StepTime {
  double products = 0;  ///< matrix products of the layers and the head
  double attention = 0; ///< attention cores
  double traffic = 0;   ///< memory-bound operations, loss included
  double host = 0;      ///< what the device waits for launches
  double tensor = 0;    ///< exposed collectives over tensor, context and expert groups
  double bubble = 0;    ///< waiting for other pipeline stages
  double stages = 0;    ///< exposed transfers between stages
  double gradients = 0; ///< exposed gradient reduction and parameter gathers
  double offload = 0;   ///< exposed copies to and from host memory
  double optimizer = 0; ///< update, and what is fixed per step
  double total = 0;
};

/// Seconds on one device of a piece of the model.
struct Piece {
  double products = 0, attention = 0, traffic = 0, tensor = 0, host = 0;
  Piece &add(const Piece &o, double k) {
    products += k * o.products, attention += k * o.attention, traffic += k * o.traffic;
    tensor += k * o.tensor, host += k * o.host;
    return *this;
  }
  double device() const { return products + attention + traffic + tensor; }
  /// The host runs ahead unless its launches take longer.
  double seconds() const { return beside(device(), host); }
};

/// One micro-batch on one device.  Hangs on tensor, context, microBatch, precision,
/// sequenceParallel, contextKind, expert, expertTensor and where axes lie, on nothing else.
struct LayerTime {
  Piece work;            ///< forward and backward pass of one layer; dense and routed ones in their shares
  Piece forward;         ///< the forward pass in it
  Piece head, embedding; ///< both passes

  LayerTime &add(const LayerTime &o) {
    work.add(o.work, 1), forward.add(o.forward, 1);
    head.add(o.head, 1), embedding.add(o.embedding, 1);
    return *this;
  }
};

/// One micro-batch on the stages.  Hangs on pipeline, chunks, stageLayers and recompute too.
struct StageWork {
  Piece pace;         ///< of the slowest stage
  double slowest = 0; ///< its seconds
  double round = 0;   ///< of all stages, one after the other
  double layer = 0;   ///< of one layer
  double layers = 0;  ///< of the fullest stage
};

/// What keeps the replicas' state alike.  Hangs on the mesh, expert, expertTensor, zero,
/// shardGroup, overlap and bucketBytes.
struct StateTime {
  double gradients = 0;                ///< exposed sums and gathers, once a step
  double layerMove = 0, tableMove = 0; ///< of sharded parameters a micro-batch: a layer's, the tables'
  double optimizer = 0;                ///< update, and what is fixed per step
  double offload = 0;                  ///< copies of the state, if it lies in host memory
};

class StepModel {
public:
  StepModel(const ModelShape &model, const Workload &work, const Machine &machine,
            const Constants &constants);

  /// The sum of three: all but what follows, which hangs on sequenceParallel; routed experts, on
  /// expert and expertTensor; what joins the parts of a sequence, on contextKind.
  LayerTime layer(const Tactics &tactics) const;
  LayerTime shared(const Tactics &tactics) const;
  LayerTime experts(const Tactics &tactics) const;
  LayerTime context(const Tactics &tactics) const;
  StageWork stages(const Tactics &tactics, const LayerTime &layer) const;
  StateTime state(const Tactics &tactics) const;
  /// `offloaded`: bytes of activations that a layer and micro-batch keep in host memory.
  StepTime step(const Tactics &tactics, const StageWork &work, const StateTime &state,
                double offloaded = 0) const;

  /// Passes of a layer with what `tactics` computes again.
  Piece passes(const Tactics &tactics, const LayerTime &layer) const;

  const ModelShape &model() const { return m; }
  const Workload &work() const { return w; }
  const Machine &machine() const { return hardware; }
  const Constants &constants() const { return c; }

private:
  ModelShape m;
  Workload w;
  Machine hardware;
  Constants c;
  Fabric fabric;
};

/// The legal `tactics` on `machine`, under `constants`.
StepTime stepTime(const ModelShape &model, const Workload &work, const Machine &machine,
                  const Constants &constants, const Tactics &tactics);

/// FLOP of the matrix products of one step over all devices: forward, backward and
/// what the tactics compute again.  Attention counts all scores unless `causalHalf`.
double stepFlops(const ModelShape &model, const Workload &work, Recompute recompute, bool causalHalf);

/// Layers that a device of the first, of the last and of the fullest other position holds.
struct PositionLayers {
  double front = 0, tail = 0, middle = 0;
};
PositionLayers positionLayers(const Tactics &tactics, int64_t layers);

} // namespace hocket::cost
