#include "interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace hocket::model;

namespace hocket::test {

[[noreturn]] static void unknown(Operation *op) {
  llvm::report_fatal_error("the interpreter does not know '" + op->getName().getStringRef() + "'");
}

//===----------------------------------------------------------------------===//
// Tensors by letters
//===----------------------------------------------------------------------===//

static int64_t product(const std::vector<int64_t> &shape) {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

Tensor::Tensor(std::vector<int64_t> s) : shape(std::move(s)), data(size_t(product(shape))) {}
Tensor::Tensor(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  data.resize(size_t(product(shape)));
}

Ref::Ref(Tensor &tensor, llvm::StringRef l)
    : letters(l), strides(tensor.shape.size()), data(tensor.data.data()) {
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0; stride *= tensor.shape[d])
    strides[d] = stride;
}

double &Ref::at(const Index &index) const {
  int64_t offset = 0;
  for (size_t d = 0; d < strides.size(); ++d)
    offset += index[size_t(letters[d])] * strides[d];
  return data[offset];
}

void each(llvm::StringRef letters, const std::map<char, int64_t> &extents, Index &index,
          const std::function<void()> &fn) {
  if (letters.empty())
    return fn();
  int64_t extent = extents.at(letters[0]);
  int64_t &i = index[size_t(letters[0])];
  for (i = 0; i < extent; ++i)
    each(letters.drop_front(), extents, index, fn);
}

Frame::Frame(Operation *op, const std::vector<const Tensor *> &operands)
    : dims(cast<LetterOp>(op).getLetters()) {
  auto note = [&](const Tensor &tensor, llvm::StringRef letters) {
    for (auto [c, n] : llvm::zip(letters, tensor.shape))
      extents[c] = n;
  };
  for (auto [i, operand] : llvm::enumerate(operands)) {
    inputs.emplace_back(const_cast<Tensor &>(*operand), dims.operands[i]);
    note(*operand, dims.operands[i]);
  }
  results.reserve(op->getNumResults());
  for (auto [i, type] : llvm::enumerate(op->getResultTypes())) {
    results.emplace_back(type);
    note(results.back(), dims.results[i]);
    outputs.emplace_back(results.back(), dims.results[i]);
  }
}

//===----------------------------------------------------------------------===//
// Core ops
//===----------------------------------------------------------------------===//

/// The innermost letter is a strided loop: products dominate the run time.
static void dot(Frame &f) {
  std::string letters = unite(f.dims.results[0], f.dims.reduced());
  auto stride = [](const Ref &ref, char c) {
    size_t d = ref.letters.find(c);
    return d == std::string::npos ? int64_t(0) : ref.strides[d];
  };
  char inner = letters.empty() ? 0 : letters.back();
  int64_t n = inner ? f.extent(inner) : 1;
  int64_t sa = inner ? stride(f.in(0), inner) : 0, sb = inner ? stride(f.in(1), inner) : 0,
          sr = inner ? stride(f.out(0), inner) : 0;
  if (inner)
    letters.pop_back();
  each(letters, f.extents, f.index, [&] {
    f.index[size_t(inner)] = 0;
    const double *a = &f.in(0).at(f.index), *b = &f.in(1).at(f.index);
    double *r = &f.out(0).at(f.index);
    for (int64_t i = 0; i < n; ++i)
      r[i * sr] += a[i * sa] * b[i * sb];
  });
}

static void map(MapOp op, Frame &f) {
  ScalarProgram program(op);
  std::vector<double> in(f.inputs.size()), out(f.outputs.size());
  each(f.dims.results[0], f.extents, f.index, [&] {
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = f.in(i).at(f.index);
    program.run(in.data(), out.data());
    for (size_t i = 0; i < out.size(); ++i)
      f.out(i).at(f.index) = out[i];
  });
}

static void reduce(ReduceOp op, Frame &f) {
  bool max = op.getKind() == "max";
  if (max)
    f.results[0].data.assign(f.results[0].data.size(), -HUGE_VAL);
  each(f.dims.operands[0], f.extents, f.index, [&] {
    double &r = f.out(0).at(f.index), x = f.in(0).at(f.index);
    r = max ? std::max(r, x) : r + x;
  });
}

/// The looked-up letter takes the index; outside of [0, v): no effect.
static void gatherOrScatter(Operation *op, Frame &f) {
  bool scatter = isa<ScatterAddOp>(op);
  llvm::StringRef table = scatter ? f.dims.results[0] : f.dims.operands[0];
  llvm::StringRef other = scatter ? f.dims.operands[0] : f.dims.results[0];
  char v = minus(table, other)[0];
  int64_t offset = op->getNumOperands() > 2 ? int64_t(f.in(2).data[0]) : 0;
  each(other, f.extents, f.index, [&] {
    int64_t i = int64_t(f.in(1).at(f.index)) - offset;
    if (i < 0 || i >= f.extent(v))
      return;
    f.index[size_t(v)] = i;
    if (scatter)
      f.out(0).at(f.index) += f.in(0).at(f.index);
    else
      f.out(0).at(f.index) = f.in(0).at(f.index);
  });
}

static void fill(ConstantOp op, Frame &f) {
  TypedAttr attr = op.getValue();
  double value = isa<FloatAttr>(attr) ? cast<FloatAttr>(attr).getValueAsDouble()
                                      : double(cast<IntegerAttr>(attr).getInt());
  f.results[0].data.assign(f.results[0].data.size(), value);
}

Tensors evaluateOp(Operation *op, const std::vector<const Tensor *> &operands) {
  if (!isa<LetterOp>(op)) {
    // Collectives on global types change where values are, not what they are.
    if (op->getDialect() && op->getDialect()->getNamespace() == "par" &&
        op->getNumOperands() == op->getNumResults()) {
      Tensors results;
      for (const Tensor *operand : operands)
        results.push_back(*operand);
      return results;
    }
    unknown(op);
  }
  Frame f(op, operands);
  if (evaluateFused(op, f))
    return std::move(f.results);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](DotOp) { dot(f); })
      .Case([&](MapOp o) { map(o, f); })
      .Case([&](ReduceOp o) { reduce(o, f); })
      .Case<GatherOp, ScatterAddOp>([&](Operation *o) { gatherOrScatter(o, f); })
      .Case([&](IotaOp o) {
        double offset = o.getOffset() ? f.in(0).data[0] : 0;
        for (int64_t i = 0; i < f.results[0].size(); ++i)
          f.results[0].data[size_t(i)] = double(i) + offset;
      })
      .Case([&](ConstantOp o) { fill(o, f); })
      .Default([](Operation *o) { unknown(o); });
  return std::move(f.results);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static func::FuncOp lookup(Operation *from, llvm::StringRef name) {
  auto fn = from->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(name);
  if (!fn)
    llvm::report_fatal_error("the interpreter finds no function @" + name);
  return fn;
}

static Tensor slice(const Tensor &all, int64_t l) {
  Tensor one(std::vector<int64_t>(all.shape.begin() + 1, all.shape.end()));
  std::copy_n(all.data.begin() + l * one.size(), one.size(), one.data.begin());
  return one;
}

static Tensors scan(ScanOp op, const std::vector<const Tensor *> &operands) {
  func::FuncOp body = lookup(op, op.getBody());
  size_t carries = op.getCarries(), whole = carries + op.getShared();
  int64_t count = op.getRange()[1] - op.getRange()[0];
  Tensors results;
  for (Type type : op.getResultTypes())
    results.emplace_back(type);
  Tensors carry;
  for (size_t i = 0; i < carries; ++i)
    carry.push_back(*operands[i]);
  for (int64_t step = 0; step < count; ++step) {
    int64_t l = op.getReverse() ? count - 1 - step : step;
    Tensors inputs = carry;
    for (size_t i = carries; i < operands.size(); ++i)
      inputs.push_back(i < whole ? *operands[i] : slice(*operands[i], l));
    Tensors outputs = evaluate(body, inputs);
    for (size_t i = 0; i < carries; ++i)
      carry[i] = std::move(outputs[i]);
    for (size_t i = carries; i < outputs.size(); ++i)
      std::copy(outputs[i].data.begin(), outputs[i].data.end(),
                results[i].data.begin() + l * outputs[i].size());
  }
  for (size_t i = 0; i < carries; ++i)
    results[i] = std::move(carry[i]);
  return results;
}

Tensors evaluate(func::FuncOp fn, const Tensors &inputs) {
  if (inputs.size() != fn.getNumArguments())
    llvm::report_fatal_error("the interpreter got another number of arguments than @" + fn.getName() +
                             " has");
  llvm::DenseMap<Value, Tensor> values;
  for (auto [argument, tensor] : llvm::zip(fn.getArguments(), inputs)) {
    if (Tensor(argument.getType()).shape != tensor.shape)
      llvm::report_fatal_error("the interpreter got an argument of another shape than @" + fn.getName() +
                               " has");
    values[argument] = tensor;
  }
  for (Operation &op : fn.getBody().front()) {
    std::vector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&values.at(operand));
    if (isa<func::ReturnOp>(op)) {
      Tensors results;
      for (const Tensor *operand : operands)
        results.push_back(*operand);
      return results;
    }
    Tensors results;
    if (auto call = dyn_cast<func::CallOp>(op)) {
      Tensors arguments;
      for (const Tensor *operand : operands)
        arguments.push_back(*operand);
      results = evaluate(lookup(call, call.getCallee()), arguments);
    } else if (auto loop = dyn_cast<ScanOp>(op)) {
      results = scan(loop, operands);
    } else {
      results = evaluateOp(&op, operands);
    }
    for (auto [value, tensor] : llvm::zip(op.getResults(), results))
      values[value] = std::move(tensor);
  }
  llvm_unreachable("a function ends in return");
}

} // namespace hocket::test
