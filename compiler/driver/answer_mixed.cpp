#include "compiler/driver/answer.h"

#include "compiler/cost/shape_of.h"
#include "compiler/input/table_reader.h"
#include "compiler/input/units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace hocket {

namespace {

std::string layersText(ArrayRef<int64_t> layers) {
  std::string text;
  ListSeparator space(" ");
  for (int64_t n : layers)
    text += (StringRef(space) + Twine(n)).str();
  return text;
}

/// "tensor 4 x data 8 · full recompute · optimizer sharded".
std::string segmentText(const cost::Tactics &t) {
  std::string text = "tensor " + std::to_string(t.tensor) + " x data " + std::to_string(t.data) +
                     ", micro-batches of " + std::to_string(t.microBatch);
  if (t.recompute == cost::Recompute::Full)
    text += " · full recompute";
  if (t.zero != cost::Zero::None)
    text += " · optimizer sharded";
  return text;
}

json::Object segmentJson(const planner::Segment &s, const planner::MixedProblem &problem) {
  return json::Object{{"device", problem.pools[s.pool].machine.device.name},
                      {"devices", s.tactics.devices()},
                      {"pipeline", s.tactics.pipeline},
                      {"tensor", s.tactics.tensor},
                      {"data", s.tactics.data},
                      {"micro_batch", s.tactics.microBatch},
                      {"recompute", planner::dimension("recompute")->text(int64_t(s.tactics.recompute))},
                      {"zero", planner::dimension("zero")->text(int64_t(s.tactics.zero))},
                      {"layers", json::Array(ArrayRef(s.layers))},
                      {"bytes", s.bytes}};
}

} // namespace

bool printMixed(raw_ostream &os, const MixedChoice &choice, const PlanInputs &in, bool json,
                Diagnostics &diags) {
  const std::optional<planner::MixedPlan> &best = choice.answer.best;
  std::string devices;
  for (size_t i = 0; i < in.cluster.pools(); ++i)
    devices += (i ? " and " : "") + withCommas(uint64_t(in.cluster.pool(i).ranks())) + " " +
               in.cluster.pool(i).device.name;
  if (!best) {
    diags.error("no plan: " + in.model.name + " does not fit as one pipeline on " + devices, kExitNo)
        .note("a stage lies on one pool, 1f1b, with no more than full recompute and a sharded optimizer");
    return false;
  }
  const planner::Certificate &c = choice.answer.certificate;
  double tokens = double(in.job.globalBatch) * double(in.job.sequence);
  if (json) {
    json::Array segments;
    for (const planner::Segment &s : best->segments)
      segments.push_back(segmentJson(s, choice.problem));
    json::Object o{{"format_version", "1.0"},
                   {"model", json::fixUTF8(in.model.name)},
                   {"seconds", best->seconds},
                   {"seconds_low", best->seconds * (1 - choice.interval)},
                   {"seconds_high", best->seconds * (1 + choice.interval)},
                   {"segments", std::move(segments)},
                   {"proof", json::Object{{"complete", c.complete},
                                          {"gap", c.gap},
                                          {"nodes", c.meshes},
                                          {"bounded", c.bounded},
                                          {"evaluated", c.evaluated}}}};
    os << llvm::formatv("{0:2}", json::Value(std::move(o))) << "\n";
    return true;
  }
  os << in.model.name << "  " << withCommas(parameterCount(in.model)) << " parameters · " << devices
     << " · sequence " << withCommas(uint64_t(in.job.sequence)) << " · batch "
     << withCommas(uint64_t(in.job.globalBatch)) << " · " << name(in.job.compute) << "\n";
  StringRef label = "strategy  ";
  int64_t stage = 0;
  for (const planner::Segment &s : best->segments) {
    const cost::DeviceFacts &device = choice.problem.pools[s.pool].machine.device;
    os << label << "stages " << stage << " to " << stage + s.tactics.pipeline - 1 << " on "
       << withCommas(uint64_t(s.tactics.devices())) << " " << device.name << ": " << segmentText(s.tactics)
       << " · layers " << layersText(s.layers) << " · " << bytesText(s.bytes) << " of "
       << bytesText(device.memory) << "\n";
    stage += s.tactics.pipeline;
    label = "          ";
  }
  os << "step      " << secondsText(best->seconds) << "  ("
     << secondsText(best->seconds * (1 - choice.interval)) << " to "
     << secondsText(best->seconds * (1 + choice.interval)) << " at 90 %; none from your cluster)\n"
     << "          " << withCommas(uint64_t(tokens / best->seconds)) << " tokens/s\n"
     << "proof     " << (c.complete ? "optimal: " : "not complete: ") << withCommas(uint64_t(c.evaluated))
     << " cuts priced, " << withCommas(uint64_t(c.bounded)) << " branches left out by their bounds · gap "
     << llvm::format("%.1f", 100 * c.gap) << " %\n";
  for (const Assumed &a : in.cluster.assumed)
    os << "assumed   " << a.name << " = " << a.value << " (" << a.source << ")\n";
  return true;
}

} // namespace hocket
