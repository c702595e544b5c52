//===- facts.h - CostInput from a model, a cluster, a job and a strategy ----===//
#pragma once

#include "compiler/cost/cost.h"
#include "compiler/input/config.h"
#include "compiler/input/job.h"
#include "compiler/input/strategy.h"

namespace hocket {

/// All that a prediction needs. The strategy is legal and complete.
CostInput costInput(const ModelConfig &model, const Cluster &cluster, const Job &job,
                    const Strategy &strategy);

/// The link that joins the devices of `axis` when the mesh's axes are placed
/// outermost first: the innermost level of the cluster that holds one group.
/// Groups that share a member's link of that level share its rate.
LinkFacts linkOf(const Cluster &cluster, const Strategy &strategy, llvm::StringRef axis);

/// The strategy's step, for the plan's summary.
inline Cost predictStep(const ModelConfig &model, const Cluster &cluster, const Job &job,
                        const Strategy &strategy) {
  return predict(costInput(model, cluster, job, strategy));
}

} // namespace hocket
