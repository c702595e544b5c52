//===- simulate.h - Seconds and live activations of a pipeline's tables -----===//
//
// Runs order tables once: a pass begins when its device is free and what it
// reads has arrived.  Exact for any durations; the closed forms of schedule
// theory are its special cases (equal stages, no transfers).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/pipeline/tables.h"

#include <span>

namespace hocket::pipeline {

/// Of one virtual stage and micro-batch, in seconds.
struct StageTime {
  double forward = 0, input = 0, weight = 0;
  double sendForward = 0; ///< to the next stage, after the forward pass
  double sendBack = 0;    ///< to the stage before, after the Input or Backward pass
  double backward() const { return input + weight; }
};

struct Outcome {
  double makespan = 0;      ///< from 0 to the end of the last pass
  double span = 0;          ///< longest time from a device's first pass to its last
  std::vector<double> busy; ///< seconds of passes, per device
  std::vector<double> end;  ///< of each device's last pass
};

/// `stages` by virtual stage, in the order of the layers.  A Pair lasts
/// `pairFactor` times its forward and backward pass (1: nothing overlaps).
/// Nothing if the tables wait for each other in a circle.
std::optional<Outcome> simulate(const Shape &shape, const Tables &tables, std::span<const StageTime> stages,
                                double pairFactor = 1);

/// Most bytes of activations that each device holds at once, given those of a
/// micro-batch of each virtual stage.  They live from the forward pass to the
/// pass that gives the weights' gradients.
std::vector<double> peakActivations(const Shape &shape, const Tables &tables,
                                    std::span<const double> stageBytes);

} // namespace hocket::pipeline
