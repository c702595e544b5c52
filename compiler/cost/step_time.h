//===- step_time.h - Seconds of one training step, in closed form -----------===//
//
// docs/cost-model.md derives every term.  No allocation, no strings.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/constants.h"
#include "compiler/cost/machine.h"
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
  double optimizer = 0; ///< update, and what is fixed per step
  double total = 0;
};

/// The legal `tactics` on `machine`, under `constants`.
StepTime stepTime(const ModelShape &model, const Workload &work, const Machine &machine,
                  const Constants &constants, const Tactics &tactics);

/// FLOP of the matrix products of one step over all devices: forward, backward and
/// what the tactics compute again.  Attention counts all scores unless `causalHalf`.
double stepFlops(const ModelShape &model, const Workload &work, Recompute recompute, bool causalHalf);

/// Time that devices of an even pipeline wait: (p - 1) times this is a step's bubble, in
/// forwards `f`, input gradients `b` and weight gradients `w` of one stage and micro-batch.
double bubblePerStage(ScheduleKind schedule, int64_t chunks, double f, double b, double w);

} // namespace hocket::cost
