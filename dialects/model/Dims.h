//===- Dims.h - The letters of an op ----------------------------------------===//
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>

namespace mlir {
class Operation;
}

namespace hocket::model {

/// The letters of every operand and result: "bsh,hf->bsf" has operands
/// {"bsh", "hf"} and results {"bsf"}; "->s" has no operand; "bsv,bs->,bs" has a
/// scalar first result.
struct Dims {
  llvm::SmallVector<std::string, 4> operands, results;

  /// Splits at "->" and ","; never fails (the verifier checks the letters).
  static Dims parse(llvm::StringRef text);
  /// As parse; operands of `op` that the text does not name have no letters.
  static Dims of(mlir::Operation *op, llvm::StringRef text);
  std::string str() const;

  /// All letters in order of first appearance.
  std::string all() const;
  /// Letters of operands that no result has.
  std::string reduced() const;
};

/// Letters of `a` that are (not) in `b`, in the order of `a`.
std::string intersect(llvm::StringRef a, llvm::StringRef b);
std::string minus(llvm::StringRef a, llvm::StringRef b);
/// `a`, then the letters of `b` that it lacks.
std::string unite(llvm::StringRef a, llvm::StringRef b);
/// Whether `a` and `b` have the same letters in any order.
bool sameLetters(llvm::StringRef a, llvm::StringRef b);

/// Extent of each letter, read off the operand and result types of `op`.
std::map<char, int64_t> extents(mlir::Operation *op, const Dims &dims);

/// 2 per product for dot; one per region op and element for map; elements read for the rest.
double defaultFlops(mlir::Operation *op);

} // namespace hocket::model
