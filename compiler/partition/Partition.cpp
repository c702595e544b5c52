#include "compiler/partition/Passes.h"
#include "compiler/partition/record.h"
#include "dialects/model/Model.h"
#include "dialects/model/Param.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/partition/Passes.h.inc"

namespace {

struct Partition {
  std::map<std::string, int64_t> sizes; ///< of axes, time axes included
  std::vector<std::string> timeAxes;

  LogicalResult readMesh(ModuleOp module);
  FailureOr<Type> local(Operation *at, Type type) const;
  LogicalResult record(Operation *op);
  LogicalResult addOffset(Operation *op);
  LogicalResult convert(Operation *op);
  LogicalResult run(ModuleOp module);
};

LogicalResult Partition::readMesh(ModuleOp module) {
  auto meshes = llvm::to_vector(module.getOps<par::MeshOp>());
  if (meshes.size() != 1)
    return module.emitError("partition needs one par.mesh, there are ") << meshes.size();
  par::MeshOp mesh = meshes.front();
  for (auto [axis, size] : llvm::zip(mesh.getAxes().getAsRange<StringAttr>(), mesh.getSizes()))
    sizes[axis.str()] = size;
  for (auto [axis, size] : llvm::zip(mesh.getTime().getAsRange<StringAttr>(), mesh.getTimes())) {
    sizes[axis.str()] = size;
    timeAxes.push_back(axis.str());
  }
  return success();
}

FailureOr<Type> Partition::local(Operation *at, Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getEncoding())
    return type;
  auto sharding = dyn_cast<par::ShardingAttr>(tensor.getEncoding());
  if (!sharding)
    return at->emitError("type ") << type << " has an encoding that is no sharding";
  assert(int64_t(sharding.getDims().size()) == tensor.getRank() && "the encoding's verifier compares them");
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [d, axes] : llvm::enumerate(sharding.getDims()))
    for (StringAttr axis : axes.getAsRange<StringAttr>()) {
      auto size = sizes.find(axis.str());
      if (size == sizes.end())
        return at->emitError("type ") << type << " names unknown axis \"" << axis.getValue() << "\"";
      if (shape[d] % size->second)
        return at->emitError("dimension ") << d << " of " << type << " does not divide by axis \""
                                           << axis.getValue() << "\" of size " << size->second;
      shape[d] /= size->second;
    }
  return Type(RankedTensorType::get(shape, tensor.getElementType()));
}

/// Gives `op` (types still global) the offset of its shard.
LogicalResult Partition::addOffset(Operation *op) {
  std::optional<unsigned> d = indexedDimension(op);
  if (!d)
    return success();
  auto type = dyn_cast<RankedTensorType>(isa<model::GatherOp>(op) ? op->getOperand(0).getType()
                                                                  : op->getResult(0).getType());
  auto sharding = type ? dyn_cast_if_present<par::ShardingAttr>(type.getEncoding()) : par::ShardingAttr();
  if (!sharding || *d >= sharding.getDims().size() || sharding.getDims()[*d].empty())
    return success();
  ArrayAttr axes = sharding.getDims()[*d];
  int64_t extent = type.getDimSize(*d);
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    if (llvm::is_contained(timeAxes, axis.getValue()))
      return op->emitOpError("needs the index of dimension ") << *d << ", which is sharded over time";
    auto size = sizes.find(axis.str());
    if (size == sizes.end())
      return op->emitOpError("names unknown axis \"") << axis.getValue() << "\"";
    extent /= size->second;
  }
  unsigned tensors = isa<model::IotaOp>(op) ? 0 : 2;
  if (op->getNumOperands() > tensors)
    return op->emitOpError("has an offset already");
  OpBuilder b(op);
  Value offset = par::CoordOp::create(b, op->getLoc(), b.getIndexType(), axes, extent);
  op->insertOperands(tensors, offset);
  return success();
}

LogicalResult Partition::record(Operation *op) {
  if (auto fn = dyn_cast<func::FuncOp>(op); fn && !fn.isExternal()) {
    fn->setAttr(kGlobal, TypeAttr::get(fn.getFunctionType()));
    fn->setAttr(kCollectives, countCollectives(fn));
  }
  return success();
}

LogicalResult Partition::convert(Operation *op) {
  for (OpResult r : op->getResults()) {
    FailureOr<Type> type = local(op, r.getType());
    if (failed(type))
      return failure();
    r.setType(*type);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument a : block.getArguments()) {
        FailureOr<Type> type = local(op, a.getType());
        if (failed(type))
          return failure();
        a.setType(*type);
      }
  if (auto fn = dyn_cast<func::FuncOp>(op)) {
    SmallVector<Type> in, out;
    for (auto [from, to] : {std::pair(fn.getArgumentTypes(), &in), std::pair(fn.getResultTypes(), &out)})
      for (Type t : from) {
        FailureOr<Type> type = local(op, t);
        if (failed(type))
          return failure();
        to->push_back(*type);
      }
    fn.setFunctionType(FunctionType::get(op->getContext(), in, out));
    // True extents are global ones; place.param keeps those of parameters.
    for (unsigned i = 0; i < fn.getNumArguments(); ++i)
      fn.removeArgAttr(i, model::kValid);
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      if (auto shaped = dyn_cast<ShapedType>(constant.getType()))
        constant.setValueAttr(splat.resizeSplat(shaped));
  return success();
}

LogicalResult Partition::run(ModuleOp module) {
  if (failed(readMesh(module)))
    return failure();
  auto each = [&](LogicalResult (Partition::*f)(Operation *)) {
    return failure(module
                       .walk([&](Operation *op) {
                         return op == module || succeeded((this->*f)(op)) ? WalkResult::advance()
                                                                          : WalkResult::interrupt();
                       })
                       .wasInterrupted());
  };
  // The record and the offsets read global types.
  return success(succeeded(each(&Partition::record)) && succeeded(each(&Partition::addOffset)) &&
                 succeeded(each(&Partition::convert)));
}

struct PartitionPass : impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    if (failed(Partition().run(getOperation())))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createPartitionPass() { return std::make_unique<PartitionPass>(); }

} // namespace hocket
