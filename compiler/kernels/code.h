//===- code.h - Writing kernel bodies ---------------------------------------===//
//
// A thin layer over OpBuilder: expressions on scalars and 1-D vectors with the
// kernels' fast-math flags, static-extent loops over lanes, flat memrefs.
// Buffers are 1-D: every address is an explicit element offset.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <functional>

namespace hocket::kernels {

class Code;

/// A scalar or vector SSA value; operators emit `arith` ops. A scalar meets a
/// vector by broadcast; a C++ number becomes a constant of the other's type.
/// Integer `/` and `%` are unsigned (offsets are never negative).
struct X {
  mlir::Value v;
  Code *c = nullptr;

  mlir::Type type() const { return v.getType(); }
  mlir::Type element() const { return mlir::getElementTypeOrSelf(v.getType()); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  /// Lanes; 1 for a scalar.
  int64_t width() const;
};

X operator+(X a, X b);
X operator-(X a, X b);
X operator*(X a, X b);
X operator/(X a, X b);
X operator%(X a, X b);
X operator&(X a, X b);
X operator^(X a, X b);
X operator>>(X a, X b); ///< logical
X operator-(X a);
/// Comparisons are signed or ordered.
X operator<(X a, X b);
X operator<=(X a, X b);
X operator>(X a, X b);
X operator>=(X a, X b);
X equal(X a, X b);
X constantLike(X like, double v);
X constantLike(X like, int64_t v);
template <typename N>
concept Number = std::is_arithmetic_v<N>;
template <Number N>
X number(X like, N n) {
  if constexpr (std::is_integral_v<N>)
    return constantLike(like, int64_t(n));
  else
    return constantLike(like, double(n));
}
template <Number N>
X operator+(X a, N b) {
  return a + number(a, b);
}
template <Number N>
X operator-(X a, N b) {
  return a - number(a, b);
}
template <Number N>
X operator-(N a, X b) {
  return number(b, a) - b;
}
template <Number N>
X operator*(X a, N b) {
  return a * number(a, b);
}
template <Number N>
X operator/(X a, N b) {
  return a / number(a, b);
}
template <Number N>
X operator/(N a, X b) {
  return number(b, a) / b;
}
template <Number N>
X operator%(X a, N b) {
  return a % number(a, b);
}
template <Number N>
X operator&(X a, N b) {
  return a & number(a, b);
}
template <Number N>
X operator^(X a, N b) {
  return a ^ number(a, b);
}
template <Number N>
X operator>>(X a, N b) {
  return a >> number(a, b);
}
template <Number N>
X operator<(X a, N b) {
  return a < number(a, b);
}
template <Number N>
X operator<=(X a, N b) {
  return a <= number(a, b);
}
template <Number N>
X operator>(X a, N b) {
  return a > number(a, b);
}
template <Number N>
X operator>=(X a, N b) {
  return a >= number(a, b);
}

X select(X condition, X a, X b);
X fma(X a, X b, X c);
/// a > b ? a : b, one instruction; if either is NaN, b.
X larger(X a, X b);
X exp(X a);
X log(X a);
X sqrt(X a);
X cos(X a);

using Xs = llvm::SmallVector<X, 8>;

class Code {
public:
  /// Builds the body of `fn` (entry block present, no terminator yet) for
  /// elements of `type`.
  Code(mlir::func::FuncOp fn, mlir::Type type);

  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::Type type; ///< element type of the kernel
  int64_t lanesOf() const { return lanesOf(type); }
  /// Elements of one 64-byte vector.
  static int64_t lanesOf(mlir::Type element);

  X wrap(mlir::Value v) { return {v, this}; }
  X index(int64_t v);
  X real(double v) { return real(v, type); }
  X real(double v, mlir::Type t);
  X integer(int64_t v, mlir::Type t);
  X splat(X x, int64_t w);
  /// `w` elements from `offset` (1: a scalar).
  X load(mlir::Value mem, X offset, int64_t w = 1);
  /// Elements offset, offset + stride, …; stride 0 is a scalar broadcast later.
  X loadStrided(mlir::Value mem, X offset, int64_t stride, int64_t w);
  void store(X x, mlir::Value mem, X offset, int64_t w = 1);
  /// A buffer of the frame (64-byte aligned); uninitialised.
  mlir::Value stack(int64_t elements, mlir::Type t);
  mlir::Value stack(int64_t elements) { return stack(elements, type); }

  X toIndex(X x);
  X cast(X x, mlir::Type element); ///< between integers (signed), index and floats

  void loop(X lo, X hi, int64_t step, llvm::function_ref<void(X)> body);
  Xs loop(X lo, X hi, int64_t step, llvm::ArrayRef<X> init,
          llvm::function_ref<Xs(X, llvm::ArrayRef<X>)> body);
  void loop(int64_t n, llvm::function_ref<void(X)> body) { loop(index(0), index(n), 1, body); }
  /// One loop per extent, outermost first.
  Xs nest(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<X> init,
          llvm::function_ref<Xs(llvm::ArrayRef<X> indices, llvm::ArrayRef<X> acc)> body);
  void nest(llvm::ArrayRef<int64_t> extents, llvm::function_ref<void(llvm::ArrayRef<X>)> body);
  void when(X condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  X choose(X condition, llvm::function_ref<X()> then, llvm::function_ref<X()> otherwise);

  /// body(i, w) for i = 0, w, 2w, … with full vectors of `full` lanes, then once with the n % full left.
  void lanes(int64_t n, llvm::function_ref<void(X i, int64_t w)> body);
  /// The same from lo to hi, both multiples of the full width or hi = n.
  void lanes(X lo, X hi, int64_t n, llvm::function_ref<void(X i, int64_t w)> body);
  /// Sums (or, with maximum, largest values) over n elements of what body gives, as scalars.
  enum Fold { Sum, Max };
  Xs fold(int64_t n, llvm::ArrayRef<Fold> kinds, llvm::function_ref<Xs(X i, int64_t w)> body);
  X reduce(X vector, Fold kind);
  X combine(X a, X b, Fold kind);
  X neutral(Fold kind);

private:
  mlir::Block *entry;
};

/// A matrix view: element (i, j) at base + i * rows + j * columns.
struct Matrix {
  mlir::Value mem;
  X base;
  int64_t rows = 0, columns = 1;
};
/// c = a b, or c += a b; c and b have unit column stride. All extents static:
/// blocks of 6 rows by one vector, remainders included.
void multiply(Code &c, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, Matrix out, bool accumulate);

/// Puts pure ops and loads between two writes into an order that depends on
/// their uses alone: C++ leaves the order of evaluation of operands to the
/// compiler, and the plan's bytes may not depend on it.
void normalizeOrder(mlir::func::FuncOp fn);

} // namespace hocket::kernels
