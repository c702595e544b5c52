//===- recipe.h - What each op's file gives ---------------------------------===//
#pragma once

#include "compiler/kernels/code.h"
#include "compiler/kernels/kernels.h"

namespace hocket::kernels {

/// How to make the kernel of one op: the facts, and the body.
struct Recipe {
  int64_t work = 1;
  int64_t scratchBytes = 0;
  bool mayAlias = false; ///< results may alias operands
  mlir::Type type;       ///< decides the vector width: the element type of the arithmetic
  std::function<void(Code &, llvm::ArrayRef<mlir::Value> args, X begin, X end)> emit;
};

mlir::FailureOr<Recipe> mapRecipe(model::MapOp op);
mlir::FailureOr<Recipe> contractRecipe(mlir::Operation *op); ///< dot, reduce
mlir::FailureOr<Recipe> gatherRecipe(model::GatherOp op);
mlir::FailureOr<Recipe> scatterRecipe(model::ScatterAddOp op);
mlir::FailureOr<Recipe> iotaRecipe(model::IotaOp op);
mlir::FailureOr<Recipe> constantRecipe(model::ConstantOp op);
mlir::FailureOr<Recipe> normRecipe(mlir::Operation *op);     ///< rmsnorm, layernorm
mlir::FailureOr<Recipe> normGradRecipe(mlir::Operation *op); ///< their gradients
mlir::FailureOr<Recipe> ropeRecipe(model::RopeOp op);
mlir::FailureOr<Recipe> attentionRecipe(model::AttentionOp op);
mlir::FailureOr<Recipe> attentionGradRecipe(model::AttentionGradOp op);
mlir::FailureOr<Recipe> xentRecipe(model::XentOp op);
mlir::FailureOr<Recipe> xentGradRecipe(model::XentGradOp op);

/// One loop dimension of several operands: its extent and each operand's stride.
struct Dim {
  int64_t extent = 1;
  llvm::SmallVector<int64_t, 6> strides;
};
/// Row-major stride of every letter of `letters` (repeated letters add up).
std::map<char, int64_t> stridesOf(llvm::StringRef letters, llvm::ArrayRef<int64_t> shape);
/// Dims for `order`, operand by operand; extent 1 dropped, neighbours that every
/// operand walks as one dimension merged.
std::vector<Dim> coalesce(llvm::StringRef order, const std::map<char, int64_t> &extents,
                          llvm::ArrayRef<std::map<char, int64_t>> strides);
/// Offsets of operand `o` at `indices` of `dims`.
X offsetAt(Code &c, llvm::ArrayRef<Dim> dims, llvm::ArrayRef<X> indices, unsigned o);
/// Splits a linear index over `dims` (the last is fastest).
Xs delinearize(Code &c, X linear, llvm::ArrayRef<Dim> dims);

inline int64_t elements(mlir::Type t) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(t);
  return tensor ? tensor.getNumElements() : 1;
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value v) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  return tensor ? tensor.getShape() : llvm::ArrayRef<int64_t>();
}
inline mlir::Type elementOf(mlir::Value v) { return mlir::getElementTypeOrSelf(v.getType()); }
inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Appends the function of `recipe`; `memrefs` are the argument types.
void emitFunction(mlir::ModuleOp kernels, llvm::StringRef symbol, llvm::ArrayRef<mlir::Type> memrefs,
                  const Recipe &recipe);

} // namespace hocket::kernels
