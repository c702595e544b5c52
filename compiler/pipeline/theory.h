//===- theory.h - Closed forms and lower bounds of pipeline schedules -------===//
//
// What schedule theory says of a step, without running a table.  Closed forms
// hold for equal stages and free transfers; `simulate` reproduces them exactly.
// Bounds hold for any stages and never exceed what `simulate` gives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/pipeline/simulate.h"

namespace hocket::pipeline {

/// Idle seconds of a step when every device takes `device` per micro-batch over
/// all its chunks, nothing is sent, and there are at least as many micro-batches
/// as the schedule needs to reach its steady state (2 devices).  p devices, v chunks:
///   gpipe, 1f1b   (p-1)(F+I+W)                        arXiv 2104.04473
///   interleaved   (p-1)(F+I+W) / v                    arXiv 2104.04473
///   zb-h1         (p-1)(F+I-W)                        arXiv 2401.10241, W <= F, I
///   zb-h2         (p-1)(F+I-2W), of a period          arXiv 2401.10241, W <= F, I
///   zb-v          (p-1)(I-W), of a period             arXiv 2405.15362, W, F <= I
///   v-half        ((2p-1)(F+I) - (p/2+2)W) / 2        of our table, even p >= 4, W <= F <= I
///   dualpipe-v    (p-1)(F|B + I+W - 3W) / 2           README of DualPipe, F = I, F|B = F+I+W
/// A period is what a step takes when the next one starts as each device becomes
/// free, which needs an optimizer that does not wait for all devices.
double idleSeconds(const Shape &shape, const StageTime &device);

/// Whether `idleSeconds` is that of a period, not of a step with a flush.
bool idleIsOfPeriod(Schedule schedule);

/// Idle seconds for any number of micro-batches, in those that a device takes for one, when forward,
/// input and weight passes take a third each (of a period where idleIsOfPeriod).  Until a schedule
/// reaches its steady state there are not enough weight passes to fill the gaps.
double idleMicros(const Shape &shape);

/// Micro-batches of one stage (both chunks of a V together count one) whose
/// activations a device holds at most, in the closed form:
///   gpipe m; 1f1b p - i on device i; interleaved, first device, p + (p-1)/v; zb-h1 p;
///   zb-h2 2p-1; zb-v p; v-half p/2 + 1; dualpipe-v p + 1/2 (of 2p stages: 2p + 1 chunks).
double peakMicros(const Shape &shape, int64_t device);

/// No table of this schedule takes less.  Fused backward passes: a device that
/// holds stage s cannot begin before the forward passes below s are through and
/// after its last pass the backward passes below s remain.  Split ones: the
/// weight passes may fill that end.
double lowerBound(const Shape &shape, std::span<const StageTime> stages, double pairFactor = 1);

} // namespace hocket::pipeline
