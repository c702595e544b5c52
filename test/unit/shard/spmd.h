//===- spmd.h - A sharded program run on all its devices at once ------------===//
//
// For tests only. A program with `#par.s` types and par.all_reduce is turned
// into what one device holds, and run on every device of the mesh in lockstep;
// a time axis is one more axis of devices here. Letter ops run on local tensors
// by the reference interpreter; only collectives and the offsets of sharded
// letters know which device they are on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "test/unit/model/interpreter.h"

#include "dialects/par/Sharding.h"

namespace hocket::test {

class Spmd {
public:
  /// Makes the module local; keep it alive.
  explicit Spmd(mlir::ModuleOp module);

  /// Global arguments (zeros are appended where the program padded) to global
  /// results (pads included). Devices that should agree and do not end in an error.
  Tensors run(llvm::StringRef function, const Tensors &inputs, std::string &error);

private:
  using PerRank = std::vector<Tensor>; ///< one tensor for each rank

  int64_t coordinate(int64_t rank, const par::Axes &axes) const;
  Tensor cut(const Tensor &global, mlir::RankedTensorType type, int64_t rank) const;
  Tensor join(const PerRank &locals, mlir::RankedTensorType type, std::string &error) const;
  std::vector<PerRank> call(mlir::func::FuncOp function, const std::vector<PerRank> &arguments);
  std::vector<PerRank> scan(model::ScanOp op, const std::vector<PerRank> &operands);
  std::vector<PerRank> letters(mlir::Operation *op, const std::vector<PerRank> &operands);
  std::vector<PerRank> allReduce(par::AllReduceOp op, const std::vector<PerRank> &operands);

  mlir::ModuleOp module;
  mutable par::MeshOp mesh;
  int64_t ranks = 1;
  llvm::DenseMap<mlir::Value, mlir::RankedTensorType> global;
};

/// A tensor's first elements along every dimension: the result without its pads.
Tensor crop(const Tensor &padded, const std::vector<int64_t> &shape);

} // namespace hocket::test
