//===- choose.h - The best strategy for a model, a cluster and a job --------===//
//
// The seam between the driver and the planner: inputs as the user gave them
// in, a judged strategy and what is next to it out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/constants_of.h"
#include "compiler/input/legal.h"
#include "compiler/planner/mixed.h"
#include "compiler/planner/plan.h"

namespace hocket {

/// What a search is asked beside the inputs.
struct SearchRequest {
  std::vector<planner::Requirement> requirements;
  int64_t microBatch = 0; ///< > 0: pinned
  bool execute = true;    ///< only what this version compiles may be chosen
};

struct Choice {
  planner::Facts facts;
  ChosenConstants constants; ///< the records behind `facts`
  /// Half-width of the step's 90 % interval, as a share.
  double interval = 0;
  /// What is taken: the user's own strategy, or the fastest that fits and, if asked, is executed.
  std::optional<planner::Priced> best;
  /// Of least bytes beyond what may be used, when nothing fits.
  std::optional<planner::Nearest> nearest;
  /// Faster than `best`, and not executed by this version.
  std::optional<planner::Priced> faster;
  std::vector<planner::Priced> others;             ///< of other meshes, by time
  std::optional<planner::Certificate> certificate; ///< none: the strategy was given
  std::vector<size_t> conflict;                    ///< requirements that cannot hold together
};

/// A strategy over unlike devices.
struct MixedChoice {
  planner::MixedProblem problem;
  std::vector<ChosenConstants> constants; ///< of each pool
  planner::MixedAnswer answer;
  double interval = 0; ///< of the pool that is known least
};

/// The fastest pipeline over the pools of a mixed cluster; nothing after errors in the library's files.
std::optional<MixedChoice> chooseMixed(const ModelConfig &model, const Cluster &cluster, const Job &job,
                                       const std::string &libraryDir, Diagnostics &diags);

/// What everything is judged by: measured constants of the device, or nominal ones. Nothing after errors in
/// the library's files.
std::optional<Choice> judge(const ModelConfig &model, const Cluster &cluster, const Job &job,
                            const std::string &libraryDir, Diagnostics &diags);

/// Fills `choice`, which `judge` began. Every search is deterministic: of equal costs the first of
/// the space wins.
void chooseStrategy(Choice &choice, const ModelConfig &model, const Cluster &cluster, const Job &job,
                    const SearchRequest &request);

/// The fewest hosts, of powers of two times those of the cluster, on which something fits; 0: none up to 64
/// times, or one host has no network.
int64_t hostsThatFit(const Choice &choice, const Cluster &cluster, const Job &job,
                     const SearchRequest &request);

/// Judges the user's strategy; where it has no micro-batch, the fastest legal one that fits.
void judgeStrategy(Choice &choice, const ModelConfig &model, const Cluster &cluster, const Job &job,
                   const Strategy &strategy);

} // namespace hocket
