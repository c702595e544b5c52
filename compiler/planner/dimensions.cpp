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

/// Where the axes of a mesh lie, outermost first.
constexpr std::array<NamedValue, 24> kOrderValues = {{
    {"pipeline-data-context-tensor", true}, {"pipeline-data-tensor-context", true},
    {"pipeline-context-data-tensor", true}, {"pipeline-context-tensor-data", true},
    {"pipeline-tensor-data-context", true}, {"pipeline-tensor-context-data", true},
    {"data-pipeline-context-tensor", true}, {"data-pipeline-tensor-context", true},
    {"data-context-pipeline-tensor", true}, {"data-context-tensor-pipeline", true},
    {"data-tensor-pipeline-context", true}, {"data-tensor-context-pipeline", true},
    {"context-pipeline-data-tensor", true}, {"context-pipeline-tensor-data", true},
    {"context-data-pipeline-tensor", true}, {"context-data-tensor-pipeline", true},
    {"context-tensor-pipeline-data", true}, {"context-tensor-data-pipeline", true},
    {"tensor-pipeline-data-context", true}, {"tensor-pipeline-context-data", true},
    {"tensor-data-pipeline-context", true}, {"tensor-data-context-pipeline", true},
    {"tensor-context-pipeline-data", true}, {"tensor-context-data-pipeline", true},
}};
/// The place of a permutation among all in lexicographic order.
int64_t orderIndex(const Tactics &t) {
  int64_t index = 0;
  for (size_t i = 0; i < 4; ++i) {
    int64_t smaller = 0;
    for (size_t j = i + 1; j < 4; ++j)
      smaller += t.order[j] < t.order[i];
    index = index * int64_t(4 - i) + smaller;
  }
  return index;
}

const std::array<Dimension, 19> kDimensions = {{
    {"devices", "devices in use", {}, kAny, Decided::Mesh, [](const Tactics &t) { return t.devices(); }},
    {"pipeline", "stages", {}, kAny, Decided::Mesh, [](const Tactics &t) { return t.pipeline; }},
    {"data", "replicas of the model", {}, kAny, Decided::Mesh, [](const Tactics &t) { return t.data; }},
    {"context",
     "devices that share one sequence",
     {},
     1,
     Decided::Mesh,
     [](const Tactics &t) { return t.context; }},
    {"tensor",
     "devices that share one layer",
     {},
     kAny,
     Decided::Mesh,
     [](const Tactics &t) { return t.tensor; }},
    {"order", "how the axes lie on the devices, outermost first", kOrderValues, 0, Decided::Mesh, orderIndex},
    {"expert",
     "devices that share a layer's experts",
     {},
     1,
     Decided::First,
     [](const Tactics &t) { return t.expert; }},
    {"expert_tensor",
     "devices that share one expert",
     {},
     1,
     Decided::First,
     [](const Tactics &t) { return t.expertTensor; }},
    {"micro_batch",
     "sequences of a micro-batch",
     {},
     kAny,
     Decided::Mesh,
     [](const Tactics &t) { return t.microBatch; }},
    {"schedule", "order of a pipeline's passes", kScheduleValues, 0, Decided::First,
     [](const Tactics &t) { return int64_t(t.schedule); }},
    {"chunks",
     "virtual stages of a device",
     {},
     1,
     Decided::First,
     [](const Tactics &t) { return t.chunks; }},
    {"zero", "state sharded over replicas", kZeroValues, 0, Decided::All,
     [](const Tactics &t) { return int64_t(t.zero); }},
    {"shard_group",
     "replicas that share one copy of the state, 0 for all",
     {},
     0,
     Decided::All,
     [](const Tactics &t) { return t.shardGroup; }},
    {"sequence_parallel", "norms sharded over tensor", kSequenceParallelValues, 0, Decided::First,
     [](const Tactics &t) { return int64_t(t.sequenceParallel); }},
    {"context_kind", "how a sequence's parts meet", kContextValues, 0, Decided::First,
     [](const Tactics &t) { return int64_t(t.contextKind); }},
    {"recompute", "what the backward pass computes again", kRecomputeValues, 0, Decided::All,
     [](const Tactics &t) { return int64_t(t.recompute); }},
    {"recompute_layers",
     "layers of a stage that are computed again",
     {},
     0,
     Decided::All,
     [](const Tactics &t) { return t.recompute == cost::Recompute::Layers ? t.recomputeLayers : 0; }},
    {"offload", "what lies in host memory", kOffloadValues, 0, Decided::All,
     [](const Tactics &t) { return int64_t(t.offloadOptimizer) + 2 * int64_t(t.offloadActivations > 0); }},
    {"precision", "type of matrix products", kPrecisionValues, 0, Decided::Mesh,
     [](const Tactics &t) { return int64_t(t.precision); }},
}};

} // namespace

bool speaks(const Dimension &d, const Tactics &t) {
  return (d.name != "context_kind" || t.context > 1) && (d.name != "schedule" || t.pipeline > 1);
}

std::span<const Dimension> dimensions() { return kDimensions; }

const Dimension *dimension(std::string_view name) {
  auto *it = std::find_if(kDimensions.begin(), kDimensions.end(),
                          [&](const Dimension &d) { return d.name == name; });
  return it == kDimensions.end() ? nullptr : &*it;
}

bool executes(const Tactics &t, Decided decided) {
  for (const Dimension &d : kDimensions)
    if (d.decided == decided && speaks(d, t) && !d.executes(d.get(t)))
      return false;
  return true;
}

std::string notExecuted(const Tactics &tactics) {
  std::string out;
  for (const Dimension &d : kDimensions)
    if (int64_t value = d.get(tactics); speaks(d, tactics) && !d.executes(value))
      out += (out.empty() ? "" : ", ") + std::string(d.name) + " = " + d.text(value);
  return out;
}

} // namespace hocket::planner
