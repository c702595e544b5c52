#include "compiler/driver/compile.h"

#include "compiler/driver/emit_plan.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/record.h"
#include "compiler/input/mlir_bridge.h"
#include "dialects/model/Order.h"

namespace hocket {

bool runPhases(mlir::ModuleOp module, Phase first, Phase last, const PlanInputs &inputs, Diagnostics &diags,
               int exitCode) {
  // What an operation alone bears, a strategy and a model together have caused; of MLIR text, the text.
  Loc cause;
  if (exitCode == kExitInternal)
    cause = inputs.strategy && inputs.strategy->meshLoc.valid() ? inputs.strategy->meshLoc : inputs.model.loc;
  auto run = [&](Phase phase, int code, llvm::function_ref<void(mlir::OpPassManager &)> add) {
    MlirDiagnosticBridge bridge(module.getContext(), diags, code, cause);
    mlir::PassManager passes(module.getContext());
    add(passes);
    if (mlir::succeeded(passes.run(module))) {
      // From schedule on, a kernel's name says what its map looks like.
      if (phase < Phase::Schedule)
        model::orderMaps(module);
      return true;
    }
    if (!diags.failed())
      diags.error("phase " + name(phase) + " failed without a message", kExitInternal);
    return false;
  };
  for (int p = int(first); p <= int(std::min(last, Phase::Allocate)); ++p) {
    Phase phase = Phase(p);
    // A strategy that the program cannot follow is the user's to mend, not our bug.
    bool strategy = phase == Phase::Search || phase == Phase::Shard;
    int code = strategy && exitCode == kExitInternal ? kExitBadInput : exitCode;
    if (!run(phase, code, [&](auto &passes) { addPhase(passes, phase, inputs, diags); }) ||
        !run(phase, phase == Phase::Search ? code : exitCode,
             [&](auto &passes) { addVerify(passes, phase); }))
      return false;
    if (phase == Phase::Search)
      recordStrategy(module, *inputs.strategy);
    if (phase == Phase::Allocate)
      recordDevice(module, inputs.cluster.device);
  }
  return true;
}

std::optional<format::Plan> compileModule(mlir::ModuleOp module, const PlanInputs &inputs, double seconds,
                                          Diagnostics &diags) {
  if (!runPhases(module, Phase::Differentiate, Phase::Allocate, inputs, diags, kExitInternal))
    return std::nullopt;
  MlirDiagnosticBridge bridge(module.getContext(), diags, kExitInternal);
  return emitPlan(module, inputs, seconds, diags);
}

} // namespace hocket
