//===- schedule.h - The scalars of a step -----------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::exec {

/// Learning rate in step t = 1, 2, …
///   Constant  lr
///   Cosine    t <= warmup: lr * t / warmup; then
///             minLr + (lr - minLr) / 2 * (1 + cos(pi (t - warmup) / (steps - warmup))), and minLr from
///             `steps` on
double learningRate(const format::Optimizer &optimizer, uint64_t t);

/// The scalar's value in step t, as the 8 bytes that kernels read: in its own
/// dtype; Seed as the run's seed in an i64.
uint64_t scalarBits(const format::Scalar &scalar, const format::Optimizer &optimizer, uint64_t t,
                    uint64_t seed);

} // namespace hocket::exec
