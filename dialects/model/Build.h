//===- Build.h - Making core ops from tensors with letters ------------------===//
//
// A term is a tensor and the letters of its dimensions.  Result types follow
// from the letters' extents in the operands; sharding encodings are left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace hocket::model {

struct Term {
  mlir::Value value;
  std::string letters;

  mlir::Type element() const { return mlir::getElementTypeOrSelf(value); }
  /// 1 for a scalar; the extent of `letter`, which the term has, otherwise.
  int64_t extent(char letter) const;
  /// The same tensor under other letters.
  Term renamed(char from, char to) const;
};

/// Terms of an op's operand or result under the letters of its own `dims`.
Term operandTerm(mlir::Operation *op, unsigned i);
Term resultTerm(mlir::Operation *op, unsigned i);

using Scalars = llvm::SmallVector<mlir::Value, 4>;
using Extents = std::map<char, int64_t>;

/// Makes the region of a map: scalars of the operands in, of the results out.
using ScalarFn = llvm::function_ref<Scalars(mlir::ImplicitLocOpBuilder &, mlir::ValueRange)>;

class Build {
public:
  Build(mlir::OpBuilder &builder, mlir::Location loc) : b(loc, builder) {}

  Term dot(const Term &a, const Term &b, llvm::StringRef result);
  Term reduce(const Term &input, llvm::StringRef result, llvm::StringRef kind = "sum");
  /// Result elements are of the type of what `body` gives; `extra` gives the
  /// extents of letters that no input has.
  llvm::SmallVector<Term, 2> mapN(llvm::ArrayRef<Term> inputs, llvm::StringRef result, ScalarFn body,
                                  const Extents &extra = {});
  Term map(llvm::ArrayRef<Term> inputs, llvm::StringRef result, ScalarFn body, const Extents &extra = {});
  Term add(const Term &a, const Term &b);
  Term gather(const Term &table, const Term &indices, llvm::StringRef result);
  /// `extent` is that of the letter that the updates lack.
  Term scatterAdd(const Term &updates, const Term &indices, llvm::StringRef result, int64_t extent);
  Term iota(char letter, int64_t extent);
  Term constant(mlir::TypedAttr value, llvm::StringRef result, const Extents &extents);

  mlir::RankedTensorType type(llvm::StringRef letters, mlir::Type element, const Extents &extents);

private:
  mlir::ImplicitLocOpBuilder b;
};

/// The sum of one or more tensors of one type, all under `letters`, from left to right, in a map.
MapOp sum(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef letters, mlir::ValueRange terms);

/// Scalar constants of a region.
mlir::Value scalar(mlir::ImplicitLocOpBuilder &b, mlir::Type type, double value);

} // namespace hocket::model
