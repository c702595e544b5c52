//===- steps.h - The steps from a task function to a sched.task -------------===//
//
// Each step takes a task whose blocks hold `model` and `par` ops and leaves it
// so; the last, emitKernels, leaves `sched` ops only (and `par.coord`).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "dialects/par/Par.h"
#include "dialects/place/Place.h"
#include "dialects/sched/Sched.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace hocket::schedule {

/// Communicators and kernels that tasks share, in order of first use.
struct Shared {
  mlir::ModuleOp module;
  std::string pipelineAxis;
  llvm::MapVector<mlir::StringAttr, mlir::SmallVector<std::string>> comms; ///< name -> axes
  std::map<std::string, sched::KernelOp> kernels;
};

/// `fn` as a task at the end of the module: calls inlined, scans as repeats.
mlir::FailureOr<sched::TaskOp> inlineTask(mlir::func::FuncOp fn, llvm::StringRef symbol,
                                          llvm::StringRef stage, mlir::ModuleOp module);

/// Ops on values stacked over layers go into repeats, adjacent ones into one.
mlir::LogicalResult stackRepeats(sched::TaskOp task, const llvm::DenseSet<mlir::Value> &stackedArgs);

/// Results whose home is `grad` or `sum` and that the task does not take: it
/// takes them now and adds in place.
mlir::LogicalResult accumulate(sched::TaskOp task);

/// A map whose results only feed one map with the same letters becomes part of it.
void fuseMaps(sched::TaskOp task);

/// Results that are new values of a home that the task takes: (op -> pairs of
/// result, operand) of everything that overwrites.
struct InPlace {
  llvm::DenseMap<mlir::Operation *, mlir::SmallVector<int64_t>> pairs;
  llvm::DenseSet<mlir::Operation *> collectives; ///< may overwrite their operands though these are arguments
};
mlir::FailureOr<InPlace> tieHomes(sched::TaskOp task);

/// Every value that a task or repeat yields is made by an op in its block and
/// yielded once; a collective overwrites only what nobody else reads.
void insertCopies(sched::TaskOp task, const InPlace &inPlace);

/// model -> gemm, kernel and launch; par.all_reduce -> collective.
mlir::LogicalResult emitKernels(sched::TaskOp task, const InPlace &inPlace, Shared &shared);

/// The tables `step`, `eval` and `init` of every stage.
mlir::LogicalResult emitOrders(place::StepOp step, Shared &shared);

/// Devices that groups of two communicators have in common: those that differ on the axes of both.
int64_t sharedDevices(par::MeshOp mesh, sched::CommOp x, sched::CommOp y);

/// Communicators that share two devices or more get one stream, so that no two of them are in flight
/// together; every other has a stream of its own name.
mlir::LogicalResult shareStreams(mlir::ModuleOp module);

/// The sum of `x` and `y` as a map.
model::MapOp addMap(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y);
/// A map that copies `v`.
model::MapOp copyMap(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v);
/// Whether values of this home are updated where they are.
bool isInPlaceHome(llvm::StringRef home);

} // namespace hocket::schedule
