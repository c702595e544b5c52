//===- record.h - What a partitioned function says of its global level ------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hocket {

/// Attributes of a partitioned function: the type it had with shardings, and how many collectives of
/// each kind and axes it held, as `{"all_reduce sum tensor" = 2}`.
inline constexpr llvm::StringLiteral kGlobal = "par.global", kCollectives = "par.collectives";

mlir::DictionaryAttr countCollectives(mlir::func::FuncOp fn);

/// The dimension of the table of a gather, or of the result of an iota or scatter_add, whose global
/// index the op computes with; none for any other op.
std::optional<unsigned> indexedDimension(mlir::Operation *op);

} // namespace hocket
