#include "compiler/driver/driver.h"

#include "compiler/cost/shape_of.h"
#include "compiler/input/units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hocket {

namespace {
constexpr StringRef kPhaseNames[] = {"topo",  "import",    "differentiate", "search",   "shard",
                                     "place", "partition", "schedule",      "allocate", "emit"};
} // namespace

ArrayRef<StringRef> phaseNames() { return kPhaseNames; }

StringRef name(Phase phase) { return phase == Phase::None ? "" : kPhaseNames[static_cast<int>(phase) - 1]; }

std::optional<Phase> parsePhase(StringRef name) {
  for (size_t i = 0; i < std::size(kPhaseNames); ++i)
    if (kPhaseNames[i] == name)
      return static_cast<Phase>(i + 1);
  return std::nullopt;
}

namespace {
bool isFolder(const PlanRequest &request) {
  return request.output != "-" &&
         (StringRef(request.output).ends_with("/") || sys::fs::is_directory(request.output));
}

std::string inFolder(const PlanRequest &request, StringRef file) {
  SmallString<256> path(request.output);
  sys::path::append(path, file);
  return path.str().str();
}
} // namespace

std::string outputPath(const PlanRequest &request) {
  return isFolder(request) ? inFolder(request, "plan.hkt") : request.output;
}

std::string strategyPath(const PlanRequest &request) {
  return isFolder(request) ? inFolder(request, "strategy.toml") : "";
}

namespace {

/// Value, gradient and moments on one rank stay below 2^62 bytes (kMaxArenaBytes in runtime/verify), and a
/// count is exact as a double.
constexpr uint64_t kMaxParameters = uint64_t(1) << 53;

/// A flag's value as a source, so that messages can point into it.
Loc flagLoc(StringRef flag, const std::string &value, Diagnostics &diags) {
  int32_t source = diags.addSource(flag.str(), value);
  return diags.at(source, 0, value.size());
}

void overrideInt(StringRef flag, std::optional<int64_t> value, int64_t max, int64_t &out, Loc &loc,
                 Diagnostics &diags) {
  if (!value)
    return;
  Loc old = loc;
  int64_t before = out;
  loc = flagLoc(flag, std::to_string(*value), diags);
  out = *value;
  if (*value < 1 || *value > max)
    diags.error(loc, "must be from 1 to " + Twine(max));
  else if (old.valid() && before != out)
    diags.warning(old, flag + "=" + Twine(out) + " overrides this value");
}

void readJobAndFlags(const PlanRequest &request, bool haveModel, Diagnostics &diags, Job &job) {
  if (!request.job.empty()) {
    std::optional<int32_t> source = loadText(request.job, diags);
    if (!source)
      return;
    std::optional<Job> read = readJob(*source, diags);
    if (!read)
      return;
    job = std::move(*read);
  }
  if (!request.model.empty()) {
    job.model = request.model;
    job.modelLoc = {};
  }
  overrideInt("--sequence", request.sequence, kMaxSequence, job.sequence, job.sequenceLoc, diags);
  overrideInt("--global-batch", request.globalBatch, kMaxBatch, job.globalBatch, job.globalBatchLoc, diags);
  if (!request.dtype.empty()) {
    job.dtypeLoc = flagLoc("--dtype", request.dtype, diags);
    if (auto compute = parseCompute(request.dtype, job.dtypeLoc, diags))
      job.compute = *compute, job.computeGiven = true;
  }
  if (job.model.empty() && !haveModel)
    diags.error("no model: give --model DIR, or 'model' in the job file");
  if (job.sequence == 0)
    diags.error("no sequence length: give --sequence N, or train = { sequence = N } in the job file");
  if (job.globalBatch == 0)
    diags.error("no batch: give --global-batch N, or train = { global_batch = N } in the job file");
}

std::optional<Strategy> readStrategyFlag(const std::string &text, Diagnostics &diags) {
  StringRef s = text;
  bool file = s.ends_with(".toml") || s == "-" || (s.contains('/') && !s.contains('=')) ||
              sys::fs::is_regular_file(s);
  if (!file)
    return readMesh(diags.addSource("--strategy", text), diags);
  std::optional<int32_t> source = loadText(text, diags);
  return source ? readStrategy(*source, diags) : std::nullopt;
}

} // namespace

bool readInputs(const PlanRequest &request, Diagnostics &diags, PlanInputs &inputs) {
  readJobAndFlags(request, inputs.recorded.has_value(), diags, inputs.job);
  std::optional<Cluster> cluster;
  if (request.cluster.empty())
    diags.error("no cluster: give --cluster FILE or NAME[:HOSTS]");
  else
    cluster = openCluster(request.cluster, request.shippedClusters, diags);
  for (const std::string &text : request.require)
    inputs.job.require.push_back({text, flagLoc("--require", text, diags)});
  std::optional<ModelConfig> model = std::move(inputs.recorded);
  if (!inputs.job.model.empty())
    model = openConfig(inputs.job.model, request.dropoutZero, diags, inputs.job.modelLoc);
  if (!request.strategy.empty())
    inputs.strategy = readStrategyFlag(request.strategy, diags);
  int64_t micro = inputs.strategy ? inputs.strategy->microBatch : 0;
  Loc microLoc = inputs.strategy ? inputs.strategy->microBatchLoc : Loc{};
  overrideInt("--micro-batch", request.microBatch, kMaxBatch, micro, microLoc, diags);
  if (diags.failed())
    return false;

  inputs.cluster = std::move(*cluster);
  inputs.model = std::move(*model);
  if (uint64_t n = parameterCount(inputs.model); n > kMaxParameters) {
    diags.error(inputs.model.loc, "the model has " + withCommas(n) + " parameters; at most " +
                                      withCommas(kMaxParameters) + " can be planned");
    return false;
  }
  if (!inputs.job.computeGiven && inputs.cluster.device.gpu &&
      rateOf(inputs.cluster.device, ComputeType::Bf16) > 0) {
    inputs.job.compute = ComputeType::Bf16;
    inputs.cluster.assumed.push_back({"dtype", "bf16", "the default on GPUs"});
  }
  inputs.microBatch = request.microBatch;
  if (!inputs.strategy)
    return checkJob(inputs.model, inputs.cluster, inputs.job, diags);
  inputs.strategy->microBatch = micro;
  inputs.strategy->microBatchLoc = microLoc;
  // Both, so that one run shows every reason.
  bool resolved = resolveStrategy(*inputs.strategy, inputs.cluster, request.allowIdle, diags);
  return checkLegal(inputs.model, inputs.cluster, inputs.job, *inputs.strategy, diags) && resolved;
}

} // namespace hocket
