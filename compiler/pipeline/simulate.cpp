#include "compiler/pipeline/simulate.h"

#include <algorithm>

namespace hocket::pipeline {

namespace {

constexpr double kNotYet = -1;

/// When the results of the passes over one virtual stage reach who reads them.
struct Arrivals {
  std::vector<double> forward, input; ///< end of the pass here, by micro-batch
  std::vector<double> fromBefore, fromBehind;
};

struct Simulation {
  const Shape &shape;
  const Tables &tables;
  std::span<const StageTime> stages;
  double pairFactor;
  int64_t last = int64_t(stages.size()) - 1;
  std::vector<Arrivals> arrivals = {};
  Outcome out = {};

  /// The time at which everything that a pass reads is there; negative: not known yet.
  double ready(const Pass &p, int64_t device) const {
    bool pair = p.kind == PassKind::Pair;
    double at = 0;
    if (p.kind == PassKind::Forward || pair) {
      int64_t s = stageOf(shape, device, p.chunk);
      at = s == 0 ? 0 : arrivals[size_t(s)].fromBefore[size_t(p.micro)];
    }
    if (p.kind == PassKind::Forward || at < 0)
      return at;
    const Arrivals &a = arrivals[size_t(stageOf(shape, device, pair ? p.backChunk : p.chunk))];
    size_t m = size_t(pair ? p.backMicro : p.micro);
    if (p.kind == PassKind::Weight)
      return a.input[m];
    bool isLast = &a == &arrivals[size_t(last)];
    double own = a.forward[m], behind = isLast ? own : a.fromBehind[m];
    return own < 0 || behind < 0 ? kNotYet : std::max({at, own, behind});
  }

  void finishForward(int64_t stage, int32_t micro, double end) {
    arrivals[size_t(stage)].forward[size_t(micro)] = end;
    if (stage < last)
      arrivals[size_t(stage + 1)].fromBefore[size_t(micro)] = end + stages[size_t(stage)].sendForward;
  }
  void finishInput(int64_t stage, int32_t micro, double end) {
    arrivals[size_t(stage)].input[size_t(micro)] = end;
    if (stage > 0)
      arrivals[size_t(stage - 1)].fromBehind[size_t(micro)] = end + stages[size_t(stage)].sendBack;
  }

  double seconds(const Pass &p, int64_t device) const {
    const StageTime &t = stages[size_t(stageOf(shape, device, p.chunk))];
    switch (p.kind) {
    case PassKind::Forward:
      return t.forward;
    case PassKind::Backward:
      return t.backward();
    case PassKind::Input:
      return t.input;
    case PassKind::Weight:
      return t.weight;
    case PassKind::Pair:
      return pairFactor * (t.forward + stages[size_t(stageOf(shape, device, p.backChunk))].backward());
    }
    return 0;
  }

  void finish(const Pass &p, int64_t device, double end) {
    int64_t s = stageOf(shape, device, p.chunk);
    if (p.kind == PassKind::Forward || p.kind == PassKind::Pair)
      finishForward(s, p.micro, end);
    if (p.kind == PassKind::Input || p.kind == PassKind::Backward)
      finishInput(s, p.micro, end);
    if (p.kind == PassKind::Pair)
      finishInput(stageOf(shape, device, p.backChunk), p.backMicro, end);
  }

  bool run() {
    size_t micro = size_t(shape.micro), devices = tables.size(), open = devices;
    std::vector<double> never(micro, kNotYet);
    arrivals.assign(stages.size(), {never, never, never, never});
    out.busy.assign(devices, 0);
    out.end.assign(devices, 0);
    std::vector<size_t> next(devices);
    std::vector<double> begin(devices, kNotYet);
    while (open) {
      bool progress = false;
      open = 0;
      for (size_t d = 0; d < devices; ++d) {
        for (; next[d] < tables[d].size(); ++next[d]) {
          const Pass &p = tables[d][next[d]];
          double at = ready(p, int64_t(d));
          if (at < 0)
            break;
          at = std::max(at, out.end[d]);
          if (begin[d] < 0)
            begin[d] = at;
          double lasts = seconds(p, int64_t(d));
          out.busy[d] += lasts;
          out.end[d] = at + lasts;
          finish(p, int64_t(d), out.end[d]);
          progress = true;
        }
        open += next[d] < tables[d].size();
      }
      if (open && !progress)
        return false;
    }
    for (size_t d = 0; d < devices; ++d) {
      out.makespan = std::max(out.makespan, out.end[d]);
      out.span = std::max(out.span, out.end[d] - std::max(begin[d], 0.0));
    }
    return true;
  }
};

} // namespace

std::optional<Outcome> simulate(const Shape &shape, const Tables &tables, std::span<const StageTime> stages,
                                double pairFactor) {
  Simulation run{shape, tables, stages, pairFactor};
  if (!run.run())
    return std::nullopt;
  return std::move(run.out);
}

std::vector<double> peakActivations(const Shape &shape, const Tables &tables,
                                    std::span<const double> stageBytes) {
  std::vector<double> peaks;
  for (size_t d = 0; d < tables.size(); ++d) {
    double live = 0, peak = 0;
    auto bytes = [&](int32_t chunk) { return stageBytes[size_t(stageOf(shape, int64_t(d), chunk))]; };
    for (const Pass &p : tables[d]) {
      if (p.kind == PassKind::Forward || p.kind == PassKind::Pair)
        peak = std::max(peak, live += bytes(p.chunk));
      if (p.kind == PassKind::Backward || p.kind == PassKind::Weight)
        live -= bytes(p.chunk);
      if (p.kind == PassKind::Pair)
        live -= bytes(p.backChunk);
    }
    peaks.push_back(peak);
  }
  return peaks;
}

} // namespace hocket::pipeline
