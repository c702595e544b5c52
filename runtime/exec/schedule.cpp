#include "runtime/exec/schedule.h"

#include <cmath>
#include <cstring>
#include <numbers>

namespace hocket::exec {

double learningRate(const format::Optimizer &o, uint64_t t) {
  if (o.schedule == format::ScheduleKind::Constant)
    return o.lr;
  if (t <= o.warmup)
    return o.lr * static_cast<double>(t) / o.warmup;
  if (t >= o.steps)
    return o.minLr;
  double done = static_cast<double>(t - o.warmup) / (static_cast<double>(o.steps) - o.warmup);
  return o.minLr + 0.5 * (o.lr - o.minLr) * (1 + std::cos(std::numbers::pi * done));
}

uint64_t scalarBits(const format::Scalar &scalar, const format::Optimizer &o, uint64_t t, uint64_t seed) {
  double value = 0;
  switch (scalar.kind) {
  case format::ScalarKind::LearningRate:
    value = learningRate(o, t);
    break;
  case format::ScalarKind::BiasCorrection1:
    value = 1 - std::pow(o.beta1, static_cast<double>(t));
    break;
  case format::ScalarKind::BiasCorrection2:
    value = 1 - std::pow(o.beta2, static_cast<double>(t));
    break;
  case format::ScalarKind::Seed:
    return seed;
  }
  uint64_t bits = 0;
  if (scalar.dtype == format::DType::F64) {
    std::memcpy(&bits, &value, 8);
  } else {
    auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, 4);
  }
  return bits;
}

} // namespace hocket::exec
