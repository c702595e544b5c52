#include "compiler/partition/Passes.h"
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
  for (auto &[axis, size] : sizes)
    if (size < 1)
      return mesh.emitError("axis \"") << axis << "\" has size " << size;
  return success();
}

FailureOr<Type> Partition::local(Operation *at, Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.getEncoding())
    return type;
  auto sharding = dyn_cast<par::ShardingAttr>(tensor.getEncoding());
  if (!sharding)
    return at->emitError("type ") << type << " has an encoding that is no sharding";
  if (int64_t(sharding.getDims().size()) != tensor.getRank())
    return at->emitError("the sharding of ")
           << type << " names " << sharding.getDims().size() << " dimensions";
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

/// The letter whose global index `op` needs, and the type that shards it.
static std::pair<char, RankedTensorType> indexed(Operation *op) {
  if (!isa<model::IotaOp, model::GatherOp, model::ScatterAddOp>(op))
    return {0, {}};
  model::Dims dims = cast<model::LetterOp>(op).getLetters();
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (isa<model::IotaOp>(op))
    return {dims.results[0][0], result};
  bool gather = isa<model::GatherOp>(op);
  std::string table = gather ? dims.operands[0] : dims.results[0];
  std::string rest = dims.operands[1] + (gather ? dims.results[0] : dims.operands[0]);
  std::string letter = model::minus(table, rest);
  return {letter.empty() ? 0 : letter[0],
          gather ? dyn_cast<RankedTensorType>(op->getOperand(0).getType()) : result};
}

/// Gives `op` (types still global) the offset of its shard.
LogicalResult Partition::addOffset(Operation *op) {
  auto [letter, type] = indexed(op);
  if (!letter || !type)
    return success();
  auto sharding = dyn_cast_if_present<par::ShardingAttr>(type.getEncoding());
  if (!sharding)
    return success();
  model::Dims dims = cast<model::LetterOp>(op).getLetters();
  std::string letters = isa<model::GatherOp>(op) ? dims.operands[0] : dims.results[0];
  size_t d = letters.find(letter);
  if (d >= sharding.getDims().size() || sharding.getDims()[d].empty())
    return success();
  ArrayAttr axes = sharding.getDims()[d];
  int64_t extent = type.getDimSize(d);
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    if (llvm::is_contained(timeAxes, axis.getValue()))
      return op->emitOpError("needs the index of '") << letter << "', which is sharded over time";
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
  // Offsets first: they read global types.
  return success(succeeded(each(&Partition::addOffset)) && succeeded(each(&Partition::convert)));
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
