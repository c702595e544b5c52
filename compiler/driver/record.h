//===- record.h - What a module says it was made from -----------------------===//
//
// `--stop-after` prints a module, `--start-from` resumes from it with nothing
// but that text and the cluster.  What the later phases and the
// plan's header need besides the program is kept on the module:
//
//   hocket.job       from import: the model's name and config.json, sequence, batch, dtype, optimizer
//   hocket.strategy  from search: strategy.toml, resolved
//   hocket.device    from allocate: isa and threads, which decided the scratch
//
// A flag that is given again must agree.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/driver/driver.h"

#include "mlir/IR/BuiltinOps.h"

namespace hocket {

void recordJob(mlir::ModuleOp module, const PlanInputs &inputs);
void recordStrategy(mlir::ModuleOp module, const Strategy &strategy);
void recordDevice(mlir::ModuleOp module, const DeviceKind &device);

/// Before the inputs are read: fills what `request` left out, and the strategy, from the
/// record.  False with errors in `diags`.
bool resumeRequest(mlir::ModuleOp module, PlanRequest &request, PlanInputs &inputs, Diagnostics &diags);

/// After they are read: takes the optimizer from the record, compares model and device with it.
bool resumeInputs(mlir::ModuleOp module, Phase startFrom, PlanInputs &inputs, Diagnostics &diags);
/// Once the strategy is complete: it is the one that the module was made with.
bool resumeStrategy(mlir::ModuleOp module, Phase startFrom, const PlanInputs &inputs, Diagnostics &diags);

} // namespace hocket
