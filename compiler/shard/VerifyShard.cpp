//===- VerifyShard.cpp - hocket-verify-shard: what sharding must leave ------===//
//
// Checks the types that are written, from nothing but the mesh and the ops'
// letters: it would find the same faults in a program sharded by hand.
//
//===----------------------------------------------------------------------===//
#include "compiler/shard/Passes.h"
#include "compiler/shard/Steps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

namespace hocket::shard {
#define GEN_PASS_DEF_VERIFYSHARD
#include "compiler/shard/Passes.h.inc"
} // namespace hocket::shard

namespace {

/// Reads axes off the written types, a table as propagation makes it.
Table tableOf(ArrayRef<Relation> relations) {
  Table table;
  DenseSet<Value> seen;
  for (const Relation &relation : relations)
    for (const Group &group : relation.groups)
      for (const Slot &slot : group.slots)
        if (seen.insert(slot.value).second)
          for (auto [dim, axes] : llvm::enumerate(par::getSharding(slot.value.getType()).dims))
            for (StringRef axis : axes)
              table.add({slot.value, unsigned(dim)}, axis);
  return table;
}

std::string str(const Partial &partial) {
  return partial.axes.empty() ? "whole" : ("partial " + partial.kind + par::str(partial.axes)).str();
}

class Verifier {
public:
  Verifier(ModuleOp module, par::MeshOp mesh) : mesh(mesh) {
    for (auto strategy : module.getOps<par::StrategyOp>())
      for (auto cut : strategy.getBody().front().getOps<par::PipelineOp>())
        pipelineAxes.push_back(cut.getAxis());
  }

  LogicalResult function(func::FuncOp function, const FunctionUse &use) {
    bool ok = true;
    afterCut.clear();
    for (BlockArgument argument : function.getArguments()) {
      ok &= succeeded(types(function, argument, use));
      if (!partialOf(argument).axes.empty())
        ok = false, function.emitError("argument ")
                        << argument.getArgNumber() << " is " << str(partialOf(argument));
    }
    for (Operation &op : function.getBody().front()) {
      for (Value result : op.getResults())
        ok &= succeeded(types(&op, result, use));
      ok &= succeeded(partials(&op, use)) && succeeded(cut(&op));
    }
    return success(ok);
  }

private:
  /// Axes are the mesh's, divide their dimension, and are not the pipeline's.
  LogicalResult types(Operation *at, Value value, const FunctionUse &use) {
    par::Sharding sharding = par::getSharding(value.getType());
    auto known = [&](const par::Axes &axes) -> LogicalResult {
      for (StringRef axis : axes) {
        if (par::axisSize(mesh, axis) == 0)
          return at->emitError("uses axis \"") << axis << "\", which is not in the mesh: " << value.getType();
        if (llvm::is_contained(pipelineAxes, axis))
          return at->emitError("shards a tensor over the pipeline axis \"")
                 << axis << "\": " << value.getType();
      }
      return success();
    };
    if (failed(known(sharding.partial)))
      return failure();
    for (auto [dim, axes] : llvm::enumerate(sharding.dims)) {
      if (failed(known(axes)))
        return failure();
      int64_t extent = cast<RankedTensorType>(value.getType()).getDimSize(dim);
      int64_t shards = par::shards(axes, [&](StringRef axis) { return par::axisSize(mesh, axis); });
      if (extent % shards != 0)
        return at->emitError("dimension ") << dim << " of " << value.getType() << " has extent " << extent
                                           << ", which is not a multiple of " << shards;
    }
    par::Axes sorted = sharding.partial;
    par::canonicalize(mesh, sorted);
    if (sorted != sharding.partial)
      return at->emitError("partial axes are not in the mesh's order: ") << value.getType();
    return success();
  }

  LogicalResult whole(Operation *op, MutableArrayRef<OpOperand> operands) {
    for (auto [i, operand] : llvm::enumerate(operands))
      if (!partialOf(operand.get()).axes.empty() && !passesPartial(operand))
        return op->emitError("takes operand ") << i << ", which is " << str(partialOf(operand.get()))
                                               << "; partial values enter only maps that add equal "
                                               << "ones, updates of a scatter_add, and par.all_reduce";
    return success();
  }

  LogicalResult result(Operation *op, unsigned i, const Partial &expected) {
    Partial found = partialOf(op->getResult(i));
    if (found == expected)
      return success();
    return op->emitError("result ") << i << " is " << str(found) << ", must be " << str(expected);
  }

  LogicalResult partials(Operation *op, const FunctionUse &use) {
    if (auto reduce = dyn_cast<par::AllReduceOp>(op))
      return collective(reduce, use);
    if (op->hasTrait<OpTrait::IsTerminator>())
      return whole(op, use.root ? op->getOpOperands() : op->getOpOperands().take_front(use.carries));
    if (!addsPartials(op) && failed(whole(op, op->getOpOperands())))
      return failure();
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      if (failed(result(op, i, expectedPartial(op, i, mesh))))
        return failure();
    if (auto letters = dyn_cast<model::LetterOp>(op))
      return wholeLetters(letters);
    return success();
  }

  LogicalResult wholeLetters(model::LetterOp op) {
    std::string whole = op.getWholeLetters();
    model::Dims dims = op.getLetters();
    for (auto [value, letters] : llvm::zip(op->getOperands(), dims.operands))
      for (auto [letter, axes] : llvm::zip(letters, par::getSharding(value.getType()).dims))
        if (!axes.empty() && whole.find(letter) != std::string::npos)
          return op->emitError("needs letter '")
                 << letter << "' whole, it is sharded over " << par::str(axes);
    return success();
  }

  LogicalResult collective(par::AllReduceOp op, const FunctionUse &use) {
    unsigned time =
        llvm::count_if(par::axesOf(op.getAxes()), [&](StringRef a) { return par::isTimeAxis(mesh, a); });
    if (time && !use.root)
      return op.emitError("sums over time inside a layer; that is done in the step");
    if (time && time != op.getAxes().size())
      return op.emitError("mixes time and space axes");
    // The op cannot ask this itself: from partition on types are local and say nothing of partial sums.
    for (auto [i, value] : llvm::enumerate(op.getInputs()))
      if (partialOf(value).axes.empty())
        return op.emitError("reduces operand ")
               << i << ", which is whole: each device would add a copy of it";
    return success();
  }

  /// What a sum over time gives, and all that follows from it, has no time axis left.
  LogicalResult cut(Operation *op) {
    auto reduce = dyn_cast<par::AllReduceOp>(op);
    bool after = reduce && par::isTimeAxis(mesh, cast<StringAttr>(reduce.getAxes()[0]).getValue());
    bool follows = llvm::any_of(op->getOperands(), [&](Value v) { return afterCut.contains(v); });
    if (!after && !follows)
      return success();
    auto timeless = [&](ValueRange values) {
      for (Value value : values)
        for (const par::Axes &axes : par::getSharding(value.getType()).dims)
          if (llvm::any_of(axes, [&](StringRef axis) { return par::isTimeAxis(mesh, axis); }))
            return false;
      return true;
    };
    afterCut.insert(op->getResults().begin(), op->getResults().end());
    if (!timeless(op->getResults()) || (follows && !timeless(op->getOperands())))
      return op->emitError("works on one micro-batch and follows the sum over all of them");
    return success();
  }

  par::MeshOp mesh;
  SmallVector<StringRef> pipelineAxes;
  DenseSet<Value> afterCut;
};

struct VerifyShard : shard::impl::VerifyShardBase<VerifyShard> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    markAllAnalysesPreserved();
    par::MeshOp mesh = par::findMesh(module);
    if (!mesh) {
      module.emitError("needs one par.mesh");
      return signalPassFailure();
    }
    FailureOr<FunctionUses> functions = functionUses(module);
    if (failed(functions))
      return signalPassFailure();
    auto relations = collectRelations(*functions);
    if (failed(checkAgreement(relations, tableOf(relations))))
      return signalPassFailure();
    Verifier verifier(module, mesh);
    for (auto &[function, use] : *functions)
      if (failed(verifier.function(function, use)))
        signalPassFailure();
  }
};

} // namespace
