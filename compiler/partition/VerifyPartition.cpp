#include "compiler/partition/Passes.h"
#include "compiler/partition/record.h"
#include "dialects/model/Model.h"
#include "dialects/par/Sharding.h"
#include "dialects/place/Place.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "compiler/partition/Passes.h.inc"

namespace {

/// Reads nothing of Partition.cpp but its record, and multiplies where that divides.
struct Verifier {
  ModuleOp module;
  par::MeshOp mesh;

  LogicalResult run();
  LogicalResult isLocal(Operation *op, Type type);
  LogicalResult checkExtents(Operation *op, const Twine &what, Type local, Type global);
  LogicalResult checkAxes(Operation *op, ArrayAttr names);
  LogicalResult checkIndex(Operation *op);
  LogicalResult checkRecord(func::FuncOp fn);
  LogicalResult checkHomes(place::TaskOp task);
  LogicalResult check(Operation *op);
};

LogicalResult Verifier::isLocal(Operation *op, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getEncoding())
    return op->emitError("type ") << type << " is still global";
  return success();
}

/// The rule of this level: local extent × shards = global (padded) extent.
LogicalResult Verifier::checkExtents(Operation *op, const Twine &what, Type local, Type global) {
  auto l = dyn_cast<RankedTensorType>(local), g = dyn_cast<RankedTensorType>(global);
  if (!l || !g) {
    if (local != global)
      return op->emitOpError(what) << " is " << local << " and was " << global;
    return success();
  }
  if (l.getElementType() != g.getElementType() || l.getRank() != g.getRank())
    return op->emitOpError(what) << " is " << local << " and was " << global;
  par::Sharding sharding = par::getSharding(g);
  for (int64_t d = 0; d < g.getRank(); ++d) {
    int64_t shards = par::shards(sharding.dims[d], [&](StringRef axis) { return par::axisSize(mesh, axis); });
    if (l.getDimSize(d) * shards != g.getDimSize(d))
      return op->emitOpError(what) << " has " << l.getDimSize(d) << " in dimension " << d << " in each of "
                                   << shards << " shards; all have " << g.getDimSize(d);
  }
  return success();
}

LogicalResult Verifier::checkAxes(Operation *op, ArrayAttr names) {
  for (StringAttr a : names.getAsRange<StringAttr>())
    if (par::axisRank(mesh, a) < 0 || par::isTimeAxis(mesh, a))
      return op->emitOpError("names axis \"") << a.getValue() << "\", which is no axis of space";
  return success();
}

/// What differs between the ranks of a class is an affine function of their coordinates, the layer
/// and the micro-batch: an index is a `par.coord` or an argument, and it counts whole shards.
LogicalResult Verifier::checkIndex(Operation *op) {
  if (!isa<model::IotaOp, model::GatherOp, model::ScatterAddOp>(op))
    return success();
  for (Value v : op->getOperands()) {
    if (!v.getType().isIndex() || isa<BlockArgument>(v))
      continue;
    auto coord = v.getDefiningOp<par::CoordOp>();
    if (!coord)
      return op->emitOpError("takes an index that is no par.coord");
    auto table = cast<RankedTensorType>(isa<model::GatherOp>(op) ? op->getOperand(0).getType()
                                                                 : op->getResult(0).getType());
    std::optional<unsigned> d = indexedDimension(op);
    assert(d && "an op with an index has a letter for it");
    if (int64_t(coord.getTimes()) != table.getDimSize(*d))
      return op->emitOpError("starts at ") << coord.getTimes() << " × coordinate; a shard has "
                                           << table.getDimSize(*d) << " of that letter";
  }
  return success();
}

LogicalResult Verifier::checkRecord(func::FuncOp fn) {
  if (fn.isExternal())
    return success();
  auto global = fn->getAttrOfType<TypeAttr>(kGlobal);
  auto type = global ? dyn_cast<FunctionType>(global.getValue()) : FunctionType();
  auto counts = fn->getAttrOfType<DictionaryAttr>(kCollectives);
  if (!type || !counts)
    return fn.emitOpError("lacks \"")
           << (type ? kCollectives : kGlobal) << "\", the record of its global level";
  if (type.getNumInputs() != fn.getNumArguments() || type.getNumResults() != fn.getNumResults())
    return fn.emitOpError("has ") << fn.getNumArguments() << " arguments and " << fn.getNumResults()
                                  << " results; it had " << type.getNumInputs() << " and "
                                  << type.getNumResults();
  for (unsigned i = 0; i < fn.getNumArguments(); ++i)
    if (failed(checkExtents(fn, "argument " + Twine(i), fn.getArgumentTypes()[i], type.getInput(i))))
      return failure();
  for (unsigned i = 0; i < fn.getNumResults(); ++i)
    if (failed(checkExtents(fn, "result " + Twine(i), fn.getResultTypes()[i], type.getResult(i))))
      return failure();
  DictionaryAttr now = countCollectives(fn);
  for (DictionaryAttr side : {counts, now})
    for (NamedAttribute entry : side) {
      auto was = counts.getAs<IntegerAttr>(entry.getName()), is = now.getAs<IntegerAttr>(entry.getName());
      if (was != is)
        return fn.emitOpError("has ") << (is ? is.getInt() : 0) << " \"" << entry.getName().getValue()
                                      << "\"; it had " << (was ? was.getInt() : 0);
    }
  return success();
}

/// Parameters and moments: the argument of a stage's function is what the stage's `place.param` says.
LogicalResult Verifier::checkHomes(place::TaskOp task) {
  auto fn = module.lookupSymbol<func::FuncOp>(task.getFn());
  if (!fn)
    return task.emitOpError("runs unknown function @") << task.getFn();
  for (unsigned a = 0; a < fn.getNumArguments(); ++a) {
    auto home = fn.getArgAttrOfType<StringAttr>(a, "place.home");
    if (!home)
      continue;
    auto [kind, name] = home.getValue().split(' ');
    if (kind != "param" && kind != "m" && kind != "v")
      continue;
    auto params = module.getOps<place::ParamOp>();
    auto param = llvm::find_if(params, [&, name = name](place::ParamOp p) {
      return p.getMesh() == task.getMesh() && p.getName() == name;
    });
    if (param == params.end())
      return task.emitOpError("uses \"")
             << home.getValue() << "\", which does not live on @" << task.getMesh();
    auto local = dyn_cast<RankedTensorType>(fn.getArgumentTypes()[a]);
    if (local && (*param).getStacked()) {
      int64_t layers = (*param).getLayers()[1] - (*param).getLayers()[0];
      if (local.getRank() == 0 || local.getDimSize(0) != layers)
        return fn.emitOpError("argument ") << a << " is " << local << "; @" << task.getMesh() << " holds "
                                           << layers << " layers of " << name;
      local = RankedTensorType::get(local.getShape().drop_front(), local.getElementType());
    }
    if (failed(checkExtents(fn, "argument " + Twine(a), local, (*param).getType())))
      return failure();
  }
  return success();
}

LogicalResult Verifier::check(Operation *op) {
  for (Type t : op->getResultTypes())
    if (failed(isLocal(op, t)))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Type t : block.getArgumentTypes())
        if (failed(isLocal(op, t)))
          return failure();
  if (auto fn = dyn_cast<func::FuncOp>(op)) {
    for (Type t : llvm::concat<const Type>(fn.getArgumentTypes(), fn.getResultTypes()))
      if (failed(isLocal(op, t)))
        return failure();
    return checkRecord(fn);
  }
  if (auto task = dyn_cast<place::TaskOp>(op))
    return checkHomes(task);
  if (auto reduce = dyn_cast<par::AllReduceOp>(op))
    return checkAxes(op, reduce.getAxes());
  if (auto coord = dyn_cast<par::CoordOp>(op))
    return checkAxes(op, coord.getAxes());
  return checkIndex(op);
}

LogicalResult Verifier::run() {
  mesh = par::findMesh(module);
  if (!mesh)
    return module.emitError("has no par.mesh");
  return failure(module
                     .walk([&](Operation *op) {
                       return op == module || succeeded(check(op)) ? WalkResult::advance()
                                                                   : WalkResult::interrupt();
                     })
                     .wasInterrupted());
}

struct VerifyPartitionPass : impl::VerifyPartitionPassBase<VerifyPartitionPass> {
  void runOnOperation() override {
    Verifier verifier{getOperation(), {}};
    if (failed(verifier.run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyPartitionPass() { return std::make_unique<VerifyPartitionPass>(); }

} // namespace hocket
