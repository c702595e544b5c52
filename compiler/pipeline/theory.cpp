#include "compiler/pipeline/theory.h"

#include <algorithm>

namespace hocket::pipeline {

double idleSeconds(const Shape &s, const StageTime &t) {
  double p = double(s.devices), f = t.forward, i = t.input, w = t.weight;
  switch (s.schedule) {
  case Schedule::GPipe:
  case Schedule::OneFOneB:
    return (p - 1) * (f + i + w);
  case Schedule::Interleaved:
    return (p - 1) * (f + i + w) / double(s.chunks);
  case Schedule::ZbH1:
    return (p - 1) * (f + i - w);
  case Schedule::ZbH2:
    return (p - 1) * (f + i - 2 * w);
  case Schedule::ZbV:
    return (p - 1) * (i - w);
  case Schedule::VHalf:
    return ((2 * p - 1) * (f + i) - (p / 2 + 2) * w) / 2;
  case Schedule::DualPipeV:
    return (p - 1) * ((f + i + w) + (i + w) - 3 * w) / 2;
  }
  return 0;
}

double idleMicros(const Shape &s) {
  double p = double(s.devices), m = double(s.micro);
  double idle = idleSeconds(s, {1, 1, 1}); // in passes, of the steady state
  switch (s.schedule) {
  case Schedule::GPipe:
  case Schedule::OneFOneB:
  case Schedule::Interleaved:
    break;
  case Schedule::ZbH1:
  case Schedule::ZbH2:
  case Schedule::ZbV:
    // Each micro-batch but the first leaves one weight pass.
    idle = std::max(idle, 2 * (p - 1) - (m - 1));
    break;
  case Schedule::VHalf:
    idle = s.devices % 2 ? 2 * (p - 1) : std::max(idle, 2 * p - 2.5 - std::max(0.0, (m - 2) / 2));
    break;
  case Schedule::DualPipeV:
    idle = m <= p ? 2.5 * p - 1.5 - m : std::max(idle, 3 * p - 1 - m);
    break;
  }
  return idle / 3;
}

bool idleIsOfPeriod(Schedule schedule) { return schedule == Schedule::ZbH2 || schedule == Schedule::ZbV; }

double peakMicros(const Shape &s, int64_t device) {
  double p = double(s.devices), m = double(s.micro), d = double(device);
  switch (s.schedule) {
  case Schedule::GPipe:
    return m;
  case Schedule::OneFOneB:
    return std::min(m, p - d);
  case Schedule::Interleaved:
    return std::min(m * double(s.chunks), 2 * (p - 1 - d) + (double(s.chunks) - 1) * p + 1) /
           double(s.chunks);
  case Schedule::ZbH1:
  case Schedule::ZbV:
    return std::min(m, p);
  case Schedule::ZbH2:
    return std::min(m, 2 * p - 1);
  case Schedule::VHalf:
    return std::min(m, p / 2 + 1);
  case Schedule::DualPipeV:
    return std::min(m, p + 0.5);
  }
  return 0;
}

double lowerBound(const Shape &shape, std::span<const StageTime> stages, double pairFactor) {
  // Prefix sums over the stages below one.
  double bound = 0;
  bool split = splitsBackward(shape.schedule);
  double shrink = shape.schedule == Schedule::DualPipeV ? std::min(1.0, pairFactor) : 1;
  for (int64_t d = 0; d < shape.devices; ++d) {
    double head = -1, tail = -1, passes = 0, withoutWeights = 0;
    for (int64_t c = 0; c < shape.chunks; ++c) {
      int64_t s = stageOf(shape, d, c);
      double before = 0, after = 0;
      for (int64_t j = 0; j < s; ++j) {
        const StageTime &t = stages[size_t(j)];
        before += t.forward + t.sendForward;
        after += (split ? t.input : t.backward()) + stages[size_t(j + 1)].sendBack;
      }
      const StageTime &own = stages[size_t(s)];
      passes += own.forward + own.backward();
      withoutWeights += own.forward + own.input;
      head = head < 0 ? before : std::min(head, before);
      tail = tail < 0 ? after : std::min(tail, after);
    }
    double m = double(shape.micro) * shrink;
    // Pairs shrink the forward passes of others too, so heads and tails shrink as well.
    head *= shrink, tail *= shrink;
    if (split)
      bound = std::max({bound, head + m * passes, head + m * withoutWeights + tail});
    else
      bound = std::max(bound, head + m * passes + tail);
  }
  return bound;
}

} // namespace hocket::pipeline
