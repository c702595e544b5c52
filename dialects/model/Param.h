//===- Param.h - What function arguments say about themselves ---------------===//
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <string>

namespace hocket::model {

/// Argument attributes (docs/contracts.md).
inline constexpr llvm::StringLiteral kName = "model.name", kDims = "model.dims", kInput = "model.input",
                                     kParam = "model.param", kState = "model.state", kScalar = "model.scalar";
/// Global layers [first, end) of a stacked argument of a pipeline stage.
inline constexpr llvm::StringLiteral kRange = "model.range";
/// True extents of an argument's padded letters, {v = 257}.
inline constexpr llvm::StringLiteral kValid = "model.valid";
/// On any op: the names of its results, which residuals keep.
inline constexpr llvm::StringLiteral kNames = "model.names";

/// `model.param`.  `layout` is the checkpoint's, "h(grd)" is a matrix; this
/// tensor is part `index` of `count` equal ones along checkpoint dimension `dim`.
struct Param {
  std::string name, layout, init = "zero";
  int64_t dim = 0, index = 0, count = 1;
  double std = 0;
  bool decay = false;

  mlir::DictionaryAttr attr(mlir::MLIRContext *) const;
  /// Of a verified attribute.
  static Param of(mlir::DictionaryAttr);
  /// Of argument `i`; nothing if it is no parameter.
  static std::optional<Param> of(mlir::FunctionOpInterface fn, unsigned i);
};

/// `model.name` and `model.dims` of argument `i`, empty if absent.
llvm::StringRef argName(mlir::FunctionOpInterface fn, unsigned i);
llvm::StringRef argDims(mlir::FunctionOpInterface fn, unsigned i);

/// Dimensions of a layout: "h(grd)" -> {"h", "grd"}; nothing if malformed.
std::optional<llvm::SmallVector<std::string, 4>> splitLayout(llvm::StringRef layout);

} // namespace hocket::model
