//===- interpreter.h - Whole-tensor reference semantics in f64 --------------===//
//
// For tests only: evaluates functions of `model` (and `func.call`) on whole
// tensors. Core ops by loops over their letters; fused ops by direct formulas
// of their own (fused.cpp), not by their definition. Collectives of `par` on
// global types are identities. Integers are kept as doubles.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <functional>
#include <vector>

namespace hocket::test {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(std::vector<int64_t> shape);
  /// Zeros of a tensor type; an index or scalar type gives rank 0.
  explicit Tensor(mlir::Type type);
  int64_t size() const { return int64_t(data.size()); }
};
using Tensors = std::vector<Tensor>;

/// Results of `fn`. An op that the interpreter does not know ends the program
/// with a message: a test must not go on.
Tensors evaluate(mlir::func::FuncOp fn, const Tensors &inputs);

/// Results of one op other than func.call and scan.
Tensors evaluateOp(mlir::Operation *op, const std::vector<const Tensor *> &operands);

//===----------------------------------------------------------------------===//
// For the parts of the interpreter
//===----------------------------------------------------------------------===//

/// The current value of every letter.
using Index = std::array<int64_t, 128>;

/// A tensor read by letters.
class Ref {
public:
  Ref(Tensor &tensor, llvm::StringRef letters);
  double &at(const Index &index) const;

  std::string letters;
  std::vector<int64_t> strides;
  double *data;
};

/// Calls `fn` for every value of `letters`, the last letter fastest.
void each(llvm::StringRef letters, const std::map<char, int64_t> &extents, Index &index,
          const std::function<void()> &fn);

/// Operands and results of a letter op as refs.
struct Frame {
  Frame(mlir::Operation *op, const std::vector<const Tensor *> &operands);
  const Ref &in(unsigned i) const { return inputs[i]; }
  const Ref &out(unsigned i) const { return outputs[i]; }
  int64_t extent(char c) const { return extents.at(c); }

  model::Dims dims;
  std::map<char, int64_t> extents;
  std::vector<Ref> inputs, outputs;
  Tensors results;
  Index index{};
};

/// Runs the region of a map: arguments in, yielded values out.
class ScalarProgram {
public:
  explicit ScalarProgram(model::MapOp map);
  void run(const double *arguments, double *results);

private:
  std::vector<std::function<void(double *)>> steps;
  std::vector<double> slots;
  std::vector<unsigned> yielded;
  unsigned arguments;
};

/// Direct formulas; false if `op` is not fused.
bool evaluateFused(mlir::Operation *op, Frame &frame);

} // namespace hocket::test
