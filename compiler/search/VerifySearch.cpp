//===- VerifySearch.cpp - The strategy is one that the program can follow ---===//
#include "compiler/search/Passes.h"
#include "dialects/model/Model.h"
#include "dialects/model/Param.h"
#include "dialects/par/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_VERIFYSEARCH
#include "compiler/search/Passes.h.inc"

namespace {

struct VerifySearch : impl::VerifySearchBase<VerifySearch> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
  }

  LogicalResult verify() {
    ModuleOp module = getOperation();
    auto meshes = llvm::to_vector(module.getOps<par::MeshOp>());
    auto strategies = llvm::to_vector(module.getOps<par::StrategyOp>());
    if (meshes.size() != 1 || strategies.size() != 1)
      return module.emitError("has ")
             << meshes.size() << " meshes and " << strategies.size() << " strategies; one of each is due";
    par::PipelineOp pipeline;
    for (Operation &op : strategies[0].getBody().front()) {
      if (auto tile = dyn_cast<par::TileOp>(op)) {
        if (failed(verifyTile(tile, meshes[0])))
          return failure();
      } else if (auto cut = dyn_cast<par::PipelineOp>(op)) {
        if (pipeline)
          return cut.emitError("the pipeline is the second pipeline of the strategy");
        pipeline = cut;
        if (failed(verifyPipeline(cut, meshes[0])))
          return failure();
      } else {
        return op.emitOpError("is no tactic");
      }
    }
    return success();
  }

  LogicalResult verifyTile(par::TileOp tile, par::MeshOp mesh) {
    auto fn = getOperation().lookupSymbol<func::FuncOp>(tile.getIn());
    if (!fn)
      return tile.emitError("the tactic is in @") << tile.getIn() << ", which is no function";
    if (par::axisSize(mesh, tile.getAxis()) == 0)
      return tile.emitError("the tactic shards over \"")
             << tile.getAxis() << "\", which is no axis of the mesh";
    for (StringAttr value : tile.getValues().getAsRange<StringAttr>()) {
      unsigned i = 0;
      while (i < fn.getNumArguments() && model::argName(fn, i) != value.getValue())
        ++i;
      if (i == fn.getNumArguments()) {
        SmallVector<StringRef> names;
        for (unsigned k = 0; k < fn.getNumArguments(); ++k)
          names.push_back(model::argName(fn, k));
        return tile.emitError("the tactic names '") << value.getValue() << "', which is no argument of @"
                                                    << fn.getName() << didYouMean(value.getValue(), names);
      }
      if (!model::argDims(fn, i).contains(tile.getLetter()))
        return tile.emitError("the tactic shards letter ")
               << tile.getLetter() << " of '" << value.getValue() << "', whose letters are "
               << model::argDims(fn, i);
    }
    return success();
  }

  /// Layers of the scans over `body` (its forward and backward halves after
  /// differentiation); 0 where there is none, -1 where they differ.
  int64_t layers(StringRef body) {
    int64_t layers = 0;
    getOperation().walk([&](model::ScanOp scan) {
      StringRef name = scan.getBody();
      if (!name.consume_front(body) || !(name.empty() || name.starts_with(".")))
        return;
      int64_t n = scan.getRange()[1] - scan.getRange()[0];
      layers = layers == 0 || layers == n ? n : -1;
    });
    return layers;
  }

  LogicalResult verifyPipeline(par::PipelineOp cut, par::MeshOp mesh) {
    int64_t stages = par::axisSize(mesh, cut.getAxis());
    if (stages == 0 || par::isTimeAxis(mesh, cut.getAxis()))
      return cut.emitError("the pipeline is over \"") << cut.getAxis() << "\", which is no axis of devices";
    if (int64_t(cut.getCuts().size()) + 1 != stages)
      return cut.emitError("the pipeline has ")
             << cut.getCuts().size() << " cuts for " << stages << " stages";
    if (cut.getCuts().empty())
      return success(); // one stage, of any program
    int64_t n = layers(cut.getBody());
    if (n < 1)
      return cut.emitError("the pipeline cuts '")
             << cut.getBody() << "', "
             << (n == 0 ? "over which nothing is scanned" : "which is scanned over different layers");
    if (cut.getCuts().back() >= n)
      return cut.emitError("the pipeline cuts at layer ") << cut.getCuts().back() << " of " << n;
    return success();
  }
};

} // namespace
} // namespace hocket
