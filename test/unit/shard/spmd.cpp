#include "spmd.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace hocket;

namespace hocket::test {

static Tensor zeros(llvm::ArrayRef<int64_t> shape) {
  return Tensor(std::vector<int64_t>(shape.begin(), shape.end()));
}

Spmd::Spmd(ModuleOp module) : module(module), mesh(par::findMesh(module)) {
  for (llvm::ArrayRef<int64_t> sizes : {mesh.getSizes(), mesh.getTimes()})
    for (int64_t size : sizes)
      ranks *= size;
  auto localize = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    global[value] = type;
    RankedTensorType local = par::localType(type, [&](StringRef axis) { return par::axisSize(mesh, axis); });
    if (!local)
      llvm::report_fatal_error("a sharding does not divide");
    value.setType(local);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (BlockArgument argument : function.getArguments())
      localize(argument);
    for (Operation &op : function.getBody().front())
      for (Value result : op.getResults())
        localize(result);
  }
}

/// The first axis is the major one.
int64_t Spmd::coordinate(int64_t rank, const par::Axes &axes) const {
  int64_t result = 0;
  for (StringRef axis : axes) {
    int64_t stride = 1, position = par::axisRank(mesh, axis);
    auto size = [&](int64_t i) {
      int64_t space = mesh.getSizes().size();
      return i < space ? mesh.getSizes()[i] : mesh.getTimes()[i - space];
    };
    for (int64_t i = position + 1, e = mesh.getSizes().size() + mesh.getTimes().size(); i < e; ++i)
      stride *= size(i);
    result = result * size(position) + rank / stride % size(position);
  }
  return result;
}

/// Calls `fn` with the offsets of equal elements of a local tensor and of the global one.
static void pair(llvm::ArrayRef<int64_t> local, llvm::ArrayRef<int64_t> global, llvm::ArrayRef<int64_t> first,
                 llvm::function_ref<void(int64_t, int64_t)> fn) {
  int64_t count = 1;
  for (int64_t n : local)
    count *= n;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, stride = 1;
    bool inside = true;
    for (size_t d = local.size(); d-- > 0; stride *= global[d]) {
      int64_t index = rest % local[d] + first[d];
      rest /= local[d];
      inside &= index < global[d];
      at += index * stride;
    }
    if (inside)
      fn(i, at);
  }
}

static llvm::SmallVector<int64_t> firsts(RankedTensorType type, llvm::ArrayRef<int64_t> local,
                                         llvm::function_ref<int64_t(const par::Axes &)> coordinate) {
  llvm::SmallVector<int64_t> first;
  for (auto [n, axes] : llvm::zip(local, par::getSharding(type).dims))
    first.push_back(n * coordinate(axes));
  return first;
}

Tensor Spmd::cut(const Tensor &whole, RankedTensorType type, int64_t rank) const {
  auto local = par::localType(type, [&](StringRef axis) { return par::axisSize(mesh, axis); }).getShape();
  Tensor result = zeros(local);
  pair(local, whole.shape, firsts(type, local, [&](const par::Axes &axes) { return coordinate(rank, axes); }),
       [&](int64_t to, int64_t from) { result.data[to] = whole.data[from]; });
  return result;
}

Tensor Spmd::join(const PerRank &locals, RankedTensorType type, std::string &error) const {
  Tensor result = zeros(type.getShape());
  std::vector<bool> written(result.data.size());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const Tensor &local = locals[rank];
    pair(local.shape, type.getShape(),
         firsts(type, local.shape, [&](const par::Axes &axes) { return coordinate(rank, axes); }),
         [&](int64_t from, int64_t to) {
           if (written[to] && !(result.data[to] == local.data[from]))
             error = "devices disagree on a value that is not sharded";
           result.data[to] = local.data[from];
           written[to] = true;
         });
  }
  return result;
}

Tensor crop(const Tensor &padded, const std::vector<int64_t> &shape) {
  Tensor result(shape);
  pair(shape, padded.shape, llvm::SmallVector<int64_t>(shape.size(), 0),
       [&](int64_t to, int64_t from) { result.data[to] = padded.data[from]; });
  return result;
}

std::vector<Spmd::PerRank> Spmd::allReduce(par::AllReduceOp op, const std::vector<PerRank> &operands) {
  par::Axes axes = par::axesOf(op.getAxes()), others;
  for (ArrayAttr names : {mesh.getAxes(), mesh.getTime()})
    for (StringRef axis : par::axesOf(names))
      if (!llvm::is_contained(axes, axis))
        others.push_back(axis);
  bool max = op.getKind() == "max";
  std::vector<PerRank> results;
  for (const PerRank &operand : operands) {
    // In the order of ranks, so that all members get the same bits.
    std::map<int64_t, Tensor> sums;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto [it, fresh] = sums.try_emplace(coordinate(rank, others), operand[rank]);
      if (!fresh)
        for (auto [sum, x] : llvm::zip(it->second.data, operand[rank].data))
          sum = max ? std::max(sum, x) : sum + x;
    }
    PerRank result;
    for (int64_t rank = 0; rank < ranks; ++rank)
      result.push_back(sums.at(coordinate(rank, others)));
    results.push_back(std::move(result));
  }
  return results;
}

/// The looked-up letter of gather and scatter_add counts from the shard's first element.
std::vector<Spmd::PerRank> Spmd::letters(Operation *op, const std::vector<PerRank> &operands) {
  Value indexed;
  if (auto gather = dyn_cast<model::GatherOp>(op))
    indexed = gather.getTable();
  else if (isa<model::ScatterAddOp, model::IotaOp>(op))
    indexed = op->getResult(0);
  std::vector<PerRank> results(op->getNumResults());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::vector<const Tensor *> inputs;
    for (const PerRank &operand : operands)
      inputs.push_back(&operand[rank]);
    int64_t offset = 0;
    if (indexed) {
      model::Dims dims = cast<model::LetterOp>(op).getLetters();
      std::string table = isa<model::GatherOp>(op) ? dims.operands[0] : dims.results[0];
      std::string other = isa<model::GatherOp>(op)       ? dims.results[0]
                          : isa<model::ScatterAddOp>(op) ? dims.operands[0]
                                                         : "";
      size_t dim = table.find(model::minus(table, other));
      offset = coordinate(rank, par::getSharding(global.at(indexed)).dims[dim]) *
               cast<RankedTensorType>(indexed.getType()).getDimSize(dim);
    }
    Tensor shifted;
    if (offset && !isa<model::IotaOp>(op)) {
      shifted = *inputs[1];
      for (double &x : shifted.data)
        x -= double(offset);
      inputs[1] = &shifted;
    }
    Tensors out = evaluateOp(op, inputs);
    if (isa<model::IotaOp>(op))
      for (double &x : out[0].data)
        x += double(offset);
    for (auto [to, from] : llvm::zip(results, out))
      to.push_back(std::move(from));
  }
  return results;
}

std::vector<Spmd::PerRank> Spmd::scan(model::ScanOp op, const std::vector<PerRank> &operands) {
  auto body = module.lookupSymbol<func::FuncOp>(op.getBody());
  size_t carries = op.getCarries(), whole = carries + op.getShared();
  int64_t count = op.getRange()[1] - op.getRange()[0];
  std::vector<PerRank> results;
  for (Type type : op.getResultTypes())
    results.emplace_back(ranks, Tensor(type));
  std::vector<PerRank> carry(operands.begin(), operands.begin() + carries);
  for (int64_t step = 0; step < count; ++step) {
    int64_t l = op.getReverse() ? count - 1 - step : step;
    std::vector<PerRank> inputs = carry;
    for (size_t i = carries; i < operands.size(); ++i) {
      inputs.push_back(operands[i]);
      if (i < whole)
        continue;
      for (Tensor &tensor : inputs.back()) {
        Tensor slice(std::vector<int64_t>(tensor.shape.begin() + 1, tensor.shape.end()));
        std::copy_n(tensor.data.begin() + l * slice.size(), slice.size(), slice.data.begin());
        tensor = std::move(slice);
      }
    }
    std::vector<PerRank> outputs = call(body, inputs);
    for (size_t i = carries; i < outputs.size(); ++i)
      for (auto [to, from] : llvm::zip(results[i], outputs[i]))
        std::copy(from.data.begin(), from.data.end(), to.data.begin() + l * from.size());
    carry.assign(outputs.begin(), outputs.begin() + carries);
  }
  std::copy(carry.begin(), carry.end(), results.begin());
  return results;
}

std::vector<Spmd::PerRank> Spmd::call(func::FuncOp function, const std::vector<PerRank> &arguments) {
  llvm::DenseMap<Value, PerRank> values;
  for (auto [argument, tensors] : llvm::zip_equal(function.getArguments(), arguments))
    values[argument] = tensors;
  for (Operation &op : function.getBody().front()) {
    std::vector<PerRank> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.at(operand));
    std::vector<PerRank> results;
    if (isa<func::ReturnOp>(op))
      return operands;
    if (auto inner = dyn_cast<func::CallOp>(op))
      results = call(module.lookupSymbol<func::FuncOp>(inner.getCallee()), operands);
    else if (auto loop = dyn_cast<model::ScanOp>(op))
      results = scan(loop, operands);
    else if (auto reduce = dyn_cast<par::AllReduceOp>(op))
      results = allReduce(reduce, operands);
    else
      results = letters(&op, operands);
    for (auto [value, tensors] : llvm::zip_equal(op.getResults(), results))
      values[value] = std::move(tensors);
  }
  llvm_unreachable("a function ends in return");
}

Tensors Spmd::run(StringRef name, const Tensors &inputs, std::string &error) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  std::vector<PerRank> arguments;
  for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs)) {
    PerRank &tensors = arguments.emplace_back();
    for (int64_t rank = 0; rank < ranks; ++rank)
      tensors.push_back(cut(input, global.at(argument), rank));
  }
  Tensors results;
  for (auto [value, tensors] :
       llvm::zip_equal(function.getBody().front().getTerminator()->getOperands(), call(function, arguments)))
    results.push_back(join(tensors, global.at(value), error));
  return results;
}

} // namespace hocket::test
