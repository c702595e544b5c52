//===- Shard.cpp - hocket-shard: from a strategy to sharded types -----------===//
#include "compiler/shard/Passes.h"
#include "compiler/shard/Steps.h"
#include "dialects/model/Param.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

namespace hocket::shard {
#define GEN_PASS_DEF_SHARD
#include "compiler/shard/Passes.h.inc"
} // namespace hocket::shard

namespace {

/// The module's only op of a kind.
template <typename Op>
Op findOne(ModuleOp module, StringRef what) {
  auto ops = module.getOps<Op>();
  if (llvm::hasSingleElement(ops))
    return *ops.begin();
  module.emitError("needs one ") << what << ", has " << std::distance(ops.begin(), ops.end());
  return {};
}

/// Sharding starts from whole tensors.
LogicalResult checkWhole(const FunctionUses &functions) {
  auto encoded = [](TypeRange types) {
    return llvm::any_of(types, [](Type t) {
      auto tensor = dyn_cast<RankedTensorType>(t);
      return tensor && tensor.getEncoding();
    });
  };
  for (auto &[constFunction, use] : functions) {
    func::FuncOp function = constFunction;
    if (encoded(function.getArgumentTypes()))
      return function.emitError("is sharded already");
    for (Operation &op : function.getBody().front()) {
      if (encoded(op.getResultTypes()))
        return op.emitError("is sharded already");
      if (isa<par::AllReduceOp>(op))
        return op.emitError("is a collective before anything is sharded");
    }
  }
  return success();
}

/// A rank is given rows of tokens and labels, whole ones: only b may be sharded.
LogicalResult checkInputs(const FunctionUses &functions, const Table &table) {
  for (auto &[constFunction, use] : functions) {
    func::FuncOp function = constFunction;
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!function.getArgAttr(i, model::kInput))
        continue;
      for (auto [dim, letter] : llvm::enumerate(model::argDims(function, i)))
        if (const par::Axes &axes = table.at({argument, unsigned(dim)}); letter != 'b' && !axes.empty())
          return emitError(placeOf(table.tactic(argument, axes.back()).getLoc(), function))
                 << "input '" << model::argName(function, i) << "' is sharded by letter '" << letter
                 << "' over " << par::str(axes)
                 << "; a rank reads whole rows: inputs are sharded by 'b' only";
    }
  }
  return success();
}

/// Every layer of a scan runs on the same devices: its stacks are cut by a pipeline only.
LogicalResult checkStacks(const FunctionUses &functions, const Table &table) {
  for (auto &[constFunction, use] : functions)
    for (auto scan : func::FuncOp(constFunction).getBody().front().getOps<model::ScanOp>()) {
      auto stacks = llvm::to_vector(scan.getInputs().drop_front(scan.getCarries() + scan.getShared()));
      llvm::append_range(stacks, scan.getResults_().drop_front(scan.getCarries()));
      for (Value stack : stacks) {
        const par::Axes &axes = table.at({stack, 0});
        if (axes.empty())
          continue;
        InFlightDiagnostic error = emitError(placeOf(table.tactic(stack, axes.back()).getLoc(), scan))
                                   << "the layers of " << describe(scan, stack) << " are sharded over "
                                   << par::str(axes) << "; layers are cut by 'pipeline' only";
        error.attachNote(scan.getLoc()) << "they are the layers of a " << scan->getName();
        return error;
      }
    }
  return success();
}

struct Shard : shard::impl::ShardBase<Shard> {
  LogicalResult run() {
    ModuleOp module = getOperation();
    auto mesh = findOne<par::MeshOp>(module, "par.mesh");
    auto strategy = findOne<par::StrategyOp>(module, "par.strategy");
    if (!mesh || !strategy)
      return failure();
    FailureOr<FunctionUses> functions = functionUses(module);
    if (failed(functions) || failed(checkWhole(*functions)))
      return failure();
    bool padded = false;
    while (true) {
      auto relations = collectRelations(*functions);
      FailureOr<Table> table = propagate(module, mesh, strategy, relations);
      if (failed(table))
        return failure();
      if (failed(checkAgreement(relations, *table)) || failed(checkInputs(*functions, *table)) ||
          failed(checkStacks(*functions, *table)) ||
          failed(checkDivisible(*functions, relations, *table, mesh, padded)))
        return failure();
      if (!padded)
        pad(*functions, *table, mesh);
      padded = true;
      // Definitions are built on the padded extents and give new dimensions to shard.
      if (inlineSharded(*functions, *table) > 0)
        continue;
      writeTypes(*functions, *table);
      return insertCollectives(*functions, mesh);
    }
  }

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }
};

} // namespace
