#include "compiler/allocate/tables.h"
#include "compiler/allocate/layout.h"
#include "compiler/kernels/gemm_scratch.h"
#include "dialects/par/Sharding.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace hocket::allocate {

Tables::Tables(ModuleOp module, format::Plan &plan) : plan(plan), module(module) {
  string("");
  for (auto mesh : module.getOps<par::MeshOp>()) {
    plan.axes.clear();
    for (auto [name, size, stride] : llvm::zip(mesh.getAxes(), mesh.getSizes(), par::axisStrides(mesh)))
      plan.axes.push_back({cast<StringAttr>(name).getValue().str(), uint32_t(size), uint32_t(stride)});
  }
  for (auto comm : module.getOps<sched::CommOp>()) {
    format::Communicator entry;
    entry.name = comm.getSymName().str();
    for (auto name : comm.getAxes().getAsRange<StringAttr>())
      entry.axes.push_back(uint32_t(std::max<int64_t>(0, axis(name.getValue()))));
    entry.pair = comm.getPair();
    entry.order = comm.getOrder();
    plan.communicators.push_back(entry);
  }
}

int64_t Tables::axis(StringRef name) const {
  for (auto [i, axis] : llvm::enumerate(plan.axes))
    if (axis.name == name)
      return i;
  return -1;
}

uint32_t Tables::string(StringRef text) {
  auto [it, fresh] = strings.try_emplace(text, plan.strings.size());
  if (fresh)
    plan.strings.push_back(text.str());
  return it->second;
}

uint32_t Tables::affine(const format::Affine &affine) {
  for (auto [i, a] : llvm::enumerate(plan.affines))
    if (a.coordinate == affine.coordinate && a.layer == affine.layer && a.micro == affine.micro &&
        a.constant == affine.constant)
      return i;
  plan.affines.push_back(affine);
  return plan.affines.size() - 1;
}

FailureOr<uint32_t> Tables::scalar(StringRef kind, format::DType dtype, Operation *reportOn) {
  static const std::pair<StringRef, format::ScalarKind> kinds[] = {
      {"lr", format::ScalarKind::LearningRate},
      {"c1", format::ScalarKind::BiasCorrection1},
      {"c2", format::ScalarKind::BiasCorrection2},
      {"seed", format::ScalarKind::Seed}};
  for (auto [name, value] : kinds) {
    if (name != kind)
      continue;
    for (auto [i, s] : llvm::enumerate(plan.scalars))
      if (s.kind == value && s.dtype == dtype)
        return uint32_t(i);
    plan.scalars.push_back({value, dtype});
    return uint32_t(plan.scalars.size() - 1);
  }
  return reportOn->emitOpError("scalar \"") << kind << "\" is none of lr, c1, c2, seed";
}

uint32_t Tables::kernel(const kernels::KernelDesc &desc) {
  auto [it, fresh] = kernelIndex.try_emplace(desc.symbol, plan.kernels.size());
  if (fresh)
    plan.kernels.push_back({desc.symbol, desc.args, desc.work, desc.flops, desc.memoryBytes});
  return it->second;
}

FailureOr<uint32_t> Tables::communicator(StringRef symbol, Operation *reportOn) {
  for (auto [i, c] : llvm::enumerate(plan.communicators))
    if (c.name == symbol)
      return uint32_t(i);
  return reportOn->emitOpError("names no communicator: @") << symbol;
}

FailureOr<const kernels::KernelDesc *> Tables::describe(StringRef symbol, Operation *reportOn) {
  auto it = descriptions.find(symbol);
  if (it != descriptions.end())
    return &it->second;
  auto kernel = module.lookupSymbol<sched::KernelOp>(symbol);
  if (!kernel)
    return reportOn->emitOpError("names no kernel: @") << symbol;
  FailureOr<kernels::KernelDesc> desc = kernels::describe(&kernel.getBody().front().front());
  if (failed(desc))
    return failure();
  return &descriptions.try_emplace(symbol, *desc).first->second;
}

FailureOr<uint32_t> Tables::gemm(sched::GemmOp op) {
  Type element = getElementTypeOrSelf(op.getA().getType());
  bool accumulate = bool(op.getC());
  std::string key =
      (Twine(op.getM()) + "x" + Twine(op.getN()) + "x" + Twine(op.getK()) + (op.getTa() ? "t" : "n") +
       (op.getTb() ? "t" : "n") + (accumulate ? "+" : "") + (element.isF64() ? "d" : "s"))
          .str();
  auto it = gemmIndex.find(key);
  if (it != gemmIndex.end())
    return it->second;
  // The kernel library states symbol, scratch and leading dimensions of the 2-D dot of this shape.
  OpBuilder builder(op.getContext());
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  auto aType = RankedTensorType::get(op.getTa() ? ArrayRef{k, m} : ArrayRef{m, k}, element);
  auto bType = RankedTensorType::get(op.getTb() ? ArrayRef{n, k} : ArrayRef{k, n}, element);
  Block block;
  Value a = block.addArgument(aType, op.getLoc()), b = block.addArgument(bType, op.getLoc());
  builder.setInsertionPointToEnd(&block);
  std::string dims = std::string(op.getTa() ? "km" : "mk") + "," + (op.getTb() ? "nk" : "kn") + "->mn";
  auto dot = model::DotOp::create(builder, op.getLoc(), RankedTensorType::get({m, n}, element), a, b,
                                  builder.getStringAttr(dims));
  std::optional<format::Gemm> gemm = kernels::asGemm(dot, accumulate);
  if (!gemm)
    return op.emitOpError("is no product that the kernel library makes: ") << dims;
  if (gemm->symbol.empty())
    gemm->scratchBytes = kernels::gemmScratchBound(*gemm, plan.threadsPerRank);
  uint32_t index = plan.gemms.size();
  plan.gemms.push_back(*gemm);
  gemmIndex[key] = index;
  return index;
}

FailureOr<format::Affine> Tables::coordinate(ArrayAttr axes, int64_t times, Operation *reportOn) const {
  format::Affine result;
  result.coordinate.assign(plan.axes.size(), 0);
  int64_t factor = times;
  for (Attribute name : llvm::reverse(axes)) {
    int64_t index = axis(cast<StringAttr>(name).getValue());
    if (index < 0)
      return reportOn->emitOpError("names no mesh axis: ") << name;
    result.coordinate[index] += factor;
    factor *= plan.axes[index].size;
  }
  return result;
}

} // namespace hocket::allocate
