#include "compiler/driver/pipeline.h"

#include "compiler/allocate/allocate.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/import/Passes.h"
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
    return;
  }
  case Phase::Search:
    passes.addPass(createSearchPass(*inputs.strategy, diags));
    return;
  case Phase::Shard:
    passes.addPass(shard::createShard());
    return;
  case Phase::Place:
    passes.addPass(createPlacePass());
    return;
  case Phase::Partition:
    passes.addPass(createPartitionPass());
    return;
  case Phase::Schedule:
    passes.addPass(createSchedulePass());
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

void addVerify(mlir::OpPassManager &passes, Phase phase) {
  if (phase == Phase::Import)
    passes.addPass(createVerifyImportPass());
  else if (phase == Phase::Differentiate)
    passes.addPass(createVerifyDifferentiatePass());
  else if (phase == Phase::Search)
    passes.addPass(createVerifySearch());
  else if (phase == Phase::Shard)
    passes.addPass(shard::createVerifyShard());
  else if (phase == Phase::Place)
    passes.addPass(createVerifyPlacePass());
  else if (phase == Phase::Partition)
    passes.addPass(createVerifyPartitionPass());
  else if (phase == Phase::Schedule)
    passes.addPass(createVerifySchedulePass());
  else if (phase == Phase::Allocate)
    passes.addPass(allocate::createVerifyAllocatePass());
}

} // namespace hocket
