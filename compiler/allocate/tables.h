//===- tables.h - What all classes of a plan share --------------------------===//
#pragma once

#include "compiler/kernels/kernels.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace hocket::allocate {

/// Kernels, gemms, affine expressions, scalars, communicators and strings of a
/// plan under construction, each entered once, in order of first use.
class Tables {
public:
  /// `plan.isa` and `plan.threadsPerRank` are set: they decide the library's scratch.
  Tables(mlir::ModuleOp module, format::Plan &plan);

  /// Axis number of a mesh axis; -1 if the mesh has none of that name.
  int64_t axis(llvm::StringRef name) const;
  uint32_t string(llvm::StringRef text);
  uint32_t affine(const format::Affine &affine);
  mlir::FailureOr<uint32_t> scalar(llvm::StringRef kind, format::DType dtype, mlir::Operation *reportOn);
  uint32_t kernel(const kernels::KernelDesc &desc);
  mlir::FailureOr<uint32_t> communicator(llvm::StringRef symbol, mlir::Operation *reportOn);
  mlir::FailureOr<uint32_t> gemm(sched::GemmOp op);
  /// The facts of `sched.kernel @symbol`.
  mlir::FailureOr<const kernels::KernelDesc *> describe(llvm::StringRef symbol, mlir::Operation *reportOn);
  /// Coordinate on axes, flattened major to minor, times `times`.
  mlir::FailureOr<format::Affine> coordinate(mlir::ArrayAttr axes, int64_t times,
                                             mlir::Operation *reportOn) const;

  format::Plan &plan;

private:
  mlir::ModuleOp module;
  llvm::StringMap<uint32_t> strings, kernelIndex, gemmIndex;
  llvm::StringMap<kernels::KernelDesc> descriptions;
};

} // namespace hocket::allocate
