//===- mlir_bridge.h - MLIR locations and diagnostics in our engine ---------===//
#pragma once

#include "compiler/input/cluster.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

namespace hocket {

/// FileLineColRange of a place in a user's file; unknown when there is none.
mlir::Location toLocation(Loc loc, const Diagnostics &diags, mlir::MLIRContext *context);

/// While it lives, every MLIR diagnostic of the context becomes one of ours: with a caret where its
/// location lies in a text that `diags` knows, else in words ("at 'q' in 'gpt2-tiny'") and at `fallback`.
class MlirDiagnosticBridge {
public:
  MlirDiagnosticBridge(mlir::MLIRContext *context, Diagnostics &diags, int exitCode, Loc fallback = {});
  ~MlirDiagnosticBridge();

private:
  mlir::MLIRContext *context;
  mlir::DiagnosticEngine::HandlerID id;
};

/// The cluster as a module that holds one `topo.cluster`.  Loads the dialect.
mlir::OwningOpRef<mlir::ModuleOp> buildTopo(const Cluster &cluster, const Diagnostics &diags,
                                            mlir::MLIRContext *context);

/// Whether MLIR text nests at most kMaxDepth deep; else a located error. Parts
/// behind `// -----` lines are counted on their own.
bool checkDepth(int32_t source, Diagnostics &diags);

/// Parses MLIR text, nested at most kMaxDepth deep, on a thread of its own with
/// a 64 MiB stack under CrashRecoveryContext: a crash of the parser is an
/// error, not a signal.  The caller's context must hold every dialect.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(int32_t source, mlir::MLIRContext *context, Diagnostics &diags);

} // namespace hocket
