#include "compiler/driver/pipeline.h"

#include "compiler/allocate/allocate.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/partition/Passes.h"
#include "compiler/place/Passes.h"
#include "compiler/schedule/Passes.h"
#include "compiler/search/Passes.h"
#include "compiler/shard/Passes.h"

namespace hocket {

void addPhase(mlir::OpPassManager &passes, Phase phase, const PlanInputs &inputs, const Diagnostics &diags) {
  switch (phase) {
  case Phase::None:
  case Phase::Topo:
  case Phase::Import:
  case Phase::Emit:
    return;
  case Phase::Differentiate: {
    const format::Optimizer &o = inputs.job.optimizer;
    DifferentiatePassOptions options;
    options.beta1 = o.beta1;
    options.beta2 = o.beta2;
    options.eps = o.eps;
    options.decay = o.decay;
    options.clip = o.clip;
    passes.addPass(createDifferentiatePass(options));
    passes.addPass(createVerifyDifferentiatePass());
    return;
  }
  case Phase::Search:
    passes.addPass(createSearchPass(*inputs.strategy, diags));
    return;
  case Phase::Shard:
    passes.addPass(shard::createShard());
    passes.addPass(shard::createVerifyShard());
    return;
  case Phase::Place:
    passes.addPass(createPlacePass());
    passes.addPass(createVerifyPlacePass());
    return;
  case Phase::Partition:
    passes.addPass(createPartitionPass());
    passes.addPass(createVerifyPartitionPass());
    return;
  case Phase::Schedule:
    passes.addPass(createSchedulePass());
    passes.addPass(createVerifySchedulePass());
    return;
  case Phase::Allocate: {
    allocate::AllocatePassOptions options;
    options.isa = inputs.cluster.device.isa;
    options.threads = inputs.cluster.device.threads;
    passes.addPass(allocate::createAllocatePass(options));
    return;
  }
  }
}

} // namespace hocket
