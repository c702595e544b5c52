#include "compiler/search/build_strategy.h"

#include "compiler/input/mlir_bridge.h"
#include "dialects/model/Model.h"
#include "dialects/model/Param.h"
#include "dialects/par/Sharding.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace hocket;

llvm::ArrayRef<DefaultTile> hocket::defaultTiles() {
  static const DefaultTile tiles[] = {
      {{"layer.wq", "layer.wk"}, 'g', "tensor"},
      {{"layer.wg", "layer.wu"}, 'f', "tensor"},
      {{"emb", "head"}, 'v', "tensor"},
  };
  return tiles;
}

namespace {

/// What the program says about itself.
struct Program {
  func::FuncOp step;
  SmallVector<StringRef> inputs; ///< names of tokens and labels
  int64_t batch = 0, layers = 0;
  bool has(StringRef name) {
    for (unsigned i = 0; i < step.getNumArguments(); ++i)
      if (model::argName(step, i) == name)
        return true;
    return false;
  }
};

FailureOr<Program> readProgram(ModuleOp module) {
  Program program;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (!function.getArgAttr(i, model::kInput))
        continue;
      size_t dim = model::argDims(function, i).find('b');
      if (dim == StringRef::npos)
        return function.emitError("input '") << model::argName(function, i) << "' has no batch letter b";
      if (program.step && program.step != function)
        return function.emitError("takes inputs, as @")
               << program.step.getName() << " does; one function must be the step";
      program.step = function;
      program.inputs.push_back(model::argName(function, i));
      program.batch = cast<RankedTensorType>(function.getArgument(i).getType()).getDimSize(dim);
    }
  if (!program.step || program.step.isExternal())
    return module.emitError("has no function that takes inputs (model.input)");
  for (auto scan : program.step.getBody().getOps<model::ScanOp>())
    if (!program.layers)
      program.layers = scan.getRange()[1] - scan.getRange()[0];
  return program;
}

} // namespace

LogicalResult hocket::buildStrategy(ModuleOp module, const Strategy &strategy, const Diagnostics &diags) {
  if (!module.getOps<par::StrategyOp>().empty() || par::findMesh(module))
    return module.emitError("has a strategy already");
  FailureOr<Program> read = readProgram(module);
  if (failed(read))
    return failure();
  Program &program = *read;
  int64_t perStep = strategy.data * strategy.microBatch;
  if (perStep <= 0 || program.batch % perStep != 0)
    return program.step.emitError("batch of ")
           << program.batch << " does not divide over data=" << strategy.data << " and micro-batches of "
           << strategy.microBatch;
  if (strategy.pipeline < 1 || strategy.pipeline > std::max<int64_t>(program.layers, 1))
    return program.step.emitError("has ")
           << program.layers << " layers, fewer than the " << strategy.pipeline << " stages of the pipeline";

  MLIRContext *context = module.getContext();
  OpBuilder b(context);
  b.setInsertionPointToStart(module.getBody());
  SmallVector<StringRef> axes(strategy.order.begin(), strategy.order.end());
  SmallVector<int64_t> sizes;
  for (StringRef axis : axes)
    sizes.push_back(strategy.size(axis));
  auto at = [&](Loc loc) { return toLocation(loc, diags, context); };
  // par::axisLoc finds them again.
  SmallVector<Location> places = {at(strategy.meshLoc)};
  for (StringRef axis : axes)
    places.push_back(NameLoc::get(b.getStringAttr(axis), at(strategy.loc(axis))));
  places.push_back(NameLoc::get(b.getStringAttr("micro"), at(strategy.loc("micro"))));
  par::MeshOp::create(b, FusedLoc::get(context, places), "mesh", b.getStrArrayAttr(axes),
                      b.getDenseI64ArrayAttr(sizes), b.getStrArrayAttr({"micro"}),
                      b.getDenseI64ArrayAttr({program.batch / perStep}));
  auto op = par::StrategyOp::create(b, at(strategy.meshLoc), "strategy");
  b.setInsertionPointToStart(&op.getBody().emplaceBlock());
  auto tile = [&](Location loc, ArrayRef<StringRef> names, char letter, StringRef axis) {
    if (!names.empty())
      par::TileOp::create(b, loc, program.step.getName(), b.getStrArrayAttr(names), StringRef(&letter, 1),
                          axis);
  };
  if (strategy.data > 1)
    tile(at(strategy.loc("data")), program.inputs, 'b', "data");
  tile(at(strategy.loc("micro")), program.inputs, 'b', "micro");
  if (strategy.tilesGiven) {
    for (const Tile &t : strategy.tiles)
      if (strategy.size(t.axis) > 1) {
        SmallVector<StringRef> names(t.names.begin(), t.names.end());
        tile(at(t.loc), names, t.letter, t.axis);
      }
  } else {
    for (const DefaultTile &t : defaultTiles()) {
      SmallVector<StringRef> names;
      llvm::copy_if(t.names, std::back_inserter(names), [&](StringRef name) { return program.has(name); });
      if (strategy.size(t.axis) > 1)
        tile(at(strategy.loc(t.axis)), names, t.letter, t.axis);
    }
  }
  SmallVector<int64_t> cuts;
  std::vector<int64_t> stages = stageLayers(strategy, program.layers);
  for (int64_t first = 0; int64_t n : ArrayRef(stages).drop_back())
    cuts.push_back(first += n);
  par::PipelineOp::create(b, at(strategy.loc("pipeline")), "layer", "pipeline", cuts,
                          name(strategy.schedule));
  return success();
}
