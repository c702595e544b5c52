//===- Sharding.h - Shardings read, built and measured ----------------------===//
//
// Takes tensor types and axis sizes, gives plain lists of axes, types with an
// encoding and local types.  A type that is whole and not partial has no
// encoding: one spelling per meaning, so that type equality is sharding equality.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/par/Par.h"

namespace hocket::par {

/// Axis names, major to minor; the characters belong to the context.
using Axes = llvm::SmallVector<llvm::StringRef, 2>;

struct Sharding {
  llvm::SmallVector<Axes, 4> dims; ///< one list per dimension
  Axes partial;                    ///< in the mesh's order, time axes last
  llvm::StringRef kind = "sum";    ///< of the partial; "sum" if there is none

  bool whole() const;
  bool operator==(const Sharding &other) const;
  bool operator!=(const Sharding &other) const { return !(*this == other); }
};

/// The sharding of a ranked tensor type; of any other type: nothing sharded.
Sharding getSharding(mlir::Type type);
/// `type` with exactly this sharding.
mlir::RankedTensorType withSharding(mlir::RankedTensorType type, const Sharding &sharding);
/// `type` without encoding.
mlir::RankedTensorType withoutSharding(mlir::RankedTensorType type);

/// Size of an axis by name; 0 where there is no such axis.
using AxisSize = llvm::function_ref<int64_t(llvm::StringRef)>;

/// The shape one device holds of `type` (in one unit of time), without
/// encoding; null when an axis has no size or does not divide its extent.
mlir::RankedTensorType localType(mlir::RankedTensorType type, AxisSize size);

/// Devices (times steps of time axes) over which dimension `dim` is spread; 0 as above.
int64_t shards(const Axes &axes, AxisSize size);

/// The module's one mesh, or null.
MeshOp findMesh(mlir::Operation *module);
/// Between neighbours on each axis of space, in devices: the last axis is the innermost.
llvm::SmallVector<int64_t> axisStrides(MeshOp mesh);
/// Size of a space or time axis of the mesh; 0 where there is no such axis.
int64_t axisSize(MeshOp mesh, llvm::StringRef axis);
bool isTimeAxis(MeshOp mesh, llvm::StringRef axis);
/// Where the user gave the size of an axis: the part of the mesh's location that bears the axis'
/// name, else all of it.
mlir::Location axisLoc(MeshOp mesh, llvm::StringRef axis);
/// Position of an axis in the mesh: space axes outermost first, then time axes; -1: unknown.
int64_t axisRank(MeshOp mesh, llvm::StringRef axis);
/// Sorts by axisRank and drops repetitions.
void canonicalize(MeshOp mesh, Axes &axes);

/// "{data, micro}".
std::string str(const Axes &axes);
mlir::ArrayAttr axesAttr(mlir::MLIRContext *context, const Axes &axes);
Axes axesOf(mlir::ArrayAttr axes);

} // namespace hocket::par
