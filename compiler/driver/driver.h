//===- driver.h - What `hocket plan` was asked, and what answers ------------===//
//
// tools/hocket fills a PlanRequest from the command line; `readInputs` turns
// it into checked structs; `runPlan` carries them through the phases.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/config.h"
#include "compiler/input/job.h"
#include "compiler/input/legal.h"
#include "compiler/input/strategy.h"

namespace hocket {

/// The phases in their order.  Topo is not a phase of the program but what the
/// cluster file became; `--stop-after=topo` prints it.
enum class Phase {
  None,
  Topo,
  Import,
  Differentiate,
  Search,
  Shard,
  Place,
  Partition,
  Schedule,
  Allocate,
  Emit
};
llvm::StringRef name(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// Names for `--stop-after`, in order.
llvm::ArrayRef<llvm::StringRef> phaseNames();

struct PlanRequest {
  std::string job;      ///< JOB.toml; with startFrom the MLIR text to resume from; "" when not given
  std::string model;    ///< --model; overrides the job's
  std::string cluster;  ///< --cluster FILE|NAME[:HOSTS]
  std::string strategy; ///< --strategy FILE.toml or mesh string; "": chosen
  std::optional<int64_t> sequence, globalBatch, microBatch; ///< flags override files
  std::string dtype;                                        ///< "": the job's
  std::vector<std::string> require;                         ///< beside the job's
  bool whatIf = false; ///< everything that is priced, executed or not; nothing is compiled
  bool dropoutZero = false, allowIdle = false;
  Phase stopAfter = Phase::None;
  Phase startFrom = Phase::None; ///< the module in `job` is what comes before this phase
  std::string
      output; ///< FILE.hkt, DIR/ or "-"; "": none: nothing is compiled, unless stopAfter prints it on stdout
  bool json = false, quiet = false;
  ColorMode color = ColorMode::Auto;
  MessageFormat messageFormat = MessageFormat::Human;
  bool depfile = false;
  std::string depfilePath;     ///< "": output + ".d"
  std::string shippedClusters; ///< folder of NAME.toml
};

/// Everything a plan is made from, checked against each other.
struct PlanInputs {
  Cluster cluster;
  Job job;
  ModelConfig model;
  std::optional<ModelConfig> recorded; ///< of the module to resume from, where no --model was given
  std::optional<Strategy> strategy;    ///< resolved; nothing: to be chosen by the search
  std::optional<int64_t> microBatch;   ///< pinned by --micro-batch when there is no strategy
};

/// Reads and checks all inputs; false with errors in `diags`. A strategy that `inputs` holds
/// already stays where the request names none.
bool readInputs(const PlanRequest &request, Diagnostics &diags, PlanInputs &inputs);

/// The path that `-o` means: DIR/plan.hkt for a folder or a name that ends in '/'.
std::string outputPath(const PlanRequest &request);

/// DIR/strategy.toml where outputPath is DIR/plan.hkt for a folder; else "".
std::string strategyPath(const PlanRequest &request);

/// The plan in memory: what runPlan writes, for tests and embedding. Nothing with errors in
/// `diags`. Does not check that the arenas fit the devices.
std::optional<format::Plan> makePlan(const PlanRequest &request, Diagnostics &diags);

/// Does what was asked and prints results on stdout, diagnostics on stderr.
/// Returns the exit code.
int runPlan(const PlanRequest &request);

} // namespace hocket
