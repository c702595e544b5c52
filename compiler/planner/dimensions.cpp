#include "compiler/planner/dimensions.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hocket::planner {

namespace {

using cost::Tactics;

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

// In the order of the enumerations in tactics.h.
constexpr std::array<NamedValue, pipeline::kSchedules> kScheduleValues = {{{"gpipe", true},
                                                                           {"1f1b", true},
                                                                           {"interleaved-1f1b", false},
                                                                           {"zb-h1", false},
                                                                           {"zb-h2", false},
                                                                           {"zb-v", false},
                                                                           {"v-half", false},
                                                                           {"dualpipe-v", false}}};
constexpr std::array<NamedValue, 4> kZeroValues = {
    {{"none", true}, {"optimizer", false}, {"gradients", false}, {"parameters", false}}};
constexpr std::array<NamedValue, 3> kContextValues = {
    {{"ring", false}, {"all-gather", false}, {"ulysses", false}}};
constexpr std::array<NamedValue, 4> kRecomputeValues = {
    {{"none", true}, {"selective", false}, {"layers", false}, {"full", false}}};
constexpr std::array<NamedValue, cost::kPrecisions> kPrecisionValues = {{{"f64", true},
                                                                         {"f32", true},
                                                                         {"bf16", false},
                                                                         {"fp8-tensorwise", false},
                                                                         {"mxfp8", false},
                                                                         {"nvfp4", false}}};
constexpr std::array<NamedValue, 2> kSequenceParallelValues = {{{"false", true}, {"true", false}}};
constexpr std::array<NamedValue, 4> kOffloadValues = {
    {{"none", true}, {"optimizer", false}, {"activations", false}, {"both", false}}};

const std::array<Dimension, 18> kDimensions = {{
    {"devices", "devices in use", {}, kAny, [](const Tactics &t) { return t.devices(); }},
    {"pipeline", "stages", {}, kAny, [](const Tactics &t) { return t.pipeline; }},
    {"data", "replicas of the model", {}, kAny, [](const Tactics &t) { return t.data; }},
    {"context", "devices that share one sequence", {}, 1, [](const Tactics &t) { return t.context; }},
    {"tensor", "devices that share one layer", {}, kAny, [](const Tactics &t) { return t.tensor; }},
    {"expert", "devices that share a layer's experts", {}, 1, [](const Tactics &t) { return t.expert; }},
    {"expert_tensor",
     "devices that share one expert",
     {},
     1,
     [](const Tactics &t) { return t.expertTensor; }},
    {"micro_batch", "sequences of a micro-batch", {}, kAny, [](const Tactics &t) { return t.microBatch; }},
    {"schedule", "order of a pipeline's passes", kScheduleValues, 0,
     [](const Tactics &t) { return int64_t(t.schedule); }},
    {"chunks", "virtual stages of a device", {}, 1, [](const Tactics &t) { return t.chunks; }},
    {"zero", "state sharded over replicas", kZeroValues, 0, [](const Tactics &t) { return int64_t(t.zero); }},
    {"shard_group",
     "replicas that share one copy of the state, 0 for all",
     {},
     0,
     [](const Tactics &t) { return t.shardGroup; }},
    {"sequence_parallel", "norms sharded over tensor", kSequenceParallelValues, 0,
     [](const Tactics &t) { return int64_t(t.sequenceParallel); }},
    {"context_kind", "how a sequence's parts meet", kContextValues, 0,
     [](const Tactics &t) { return int64_t(t.contextKind); }},
    {"recompute", "what the backward pass computes again", kRecomputeValues, 0,
     [](const Tactics &t) { return int64_t(t.recompute); }},
    {"recompute_layers",
     "layers of a stage that are computed again",
     {},
     0,
     [](const Tactics &t) { return t.recompute == cost::Recompute::Layers ? t.recomputeLayers : 0; }},
    {"offload", "what lies in host memory", kOffloadValues, 0,
     [](const Tactics &t) { return int64_t(t.offloadOptimizer) + 2 * int64_t(t.offloadActivations > 0); }},
    {"precision", "type of matrix products", kPrecisionValues, 0,
     [](const Tactics &t) { return int64_t(t.precision); }},
}};

/// Whether a dimension says anything in a strategy: how sequences' parts meet, only where there are parts.
bool speaks(const Dimension &d, const Tactics &t) { return d.name != "context_kind" || t.context > 1; }

} // namespace

std::span<const Dimension> dimensions() { return kDimensions; }

const Dimension *dimension(std::string_view name) {
  auto *it = std::find_if(kDimensions.begin(), kDimensions.end(),
                          [&](const Dimension &d) { return d.name == name; });
  return it == kDimensions.end() ? nullptr : &*it;
}

std::string notExecuted(const Tactics &tactics) {
  std::string out;
  for (const Dimension &d : kDimensions)
    if (int64_t value = d.get(tactics); speaks(d, tactics) && !d.executes(value))
      out += (out.empty() ? "" : ", ") + std::string(d.name) + " = " + d.text(value);
  return out;
}

} // namespace hocket::planner
