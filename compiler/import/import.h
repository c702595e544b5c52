//===- import.h - A model's configuration becomes a program -----------------===//
#pragma once

#include "compiler/input/config.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace hocket {

struct ImportOptions {
  int64_t batch = 0;    ///< sequences in the global batch of one step
  int64_t sequence = 0; ///< tokens in a sequence
  bool f64 = false;     ///< element type of all float tensors: f64 or f32
};

/// The module after *import* (docs/contracts.md): @layer and @loss.  Sizes were
/// checked by the readers of config.json and job.toml; what the configuration
/// cannot do at these sizes (a sequence longer than the learned positions) is a
/// located error.
mlir::OwningOpRef<mlir::ModuleOp> importModel(mlir::MLIRContext *context, const ModelConfig &config,
                                              const ImportOptions &options);

} // namespace hocket
