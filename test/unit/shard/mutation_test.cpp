//===- mutation_test.cpp - No damaged program passes hocket-verify-shard ----===//
#include "compiler/search/build_strategy.h"
#include "compiler/shard/Passes.h"
#include "dialects/par/Sharding.h"
#include "test/unit/model/steps.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

ModelConfig tiny(Family family) {
  ModelConfig c;
  c.family = family;
  c.name = "tiny";
  c.layers = 2;
  c.hidden = 8;
  c.heads = c.kvHeads = 4;
  c.headDim = 2;
  c.ffn = 12;
  c.vocab = 11;
  c.maxPositions = 6;
  c.tied = family == Family::Gpt2;
  c.learnedPositions = family == Family::Gpt2;
  c.normEps = 1e-5;
  c.ropeTheta = 50;
  return c;
}

OwningOpRef<ModuleOp> sharded(MLIRContext &context, Family family) {
  DifferentiatePassOptions options;
  auto module = build(context, tiny(family), {8, 5, true}, &options);
  Strategy strategy;
  strategy.data = strategy.tensor = 2;
  strategy.microBatch = 2;
  Diagnostics diags;
  EXPECT_TRUE(succeeded(buildStrategy(*module, strategy, diags)));
  PassManager manager(&context);
  manager.addPass(shard::createShard());
  EXPECT_TRUE(succeeded(manager.run(*module)));
  return module;
}

bool accepted(ModuleOp module) {
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  PassManager manager(module.getContext());
  manager.addPass(shard::createVerifyShard());
  return succeeded(verify(module)) && succeeded(manager.run(module));
}

/// Applies mutation i = 0, 1, … of `mutate` (false when there is no i-th) to
/// fresh copies; returns how many there are, none of them accepted.
int run(ModuleOp module, llvm::function_ref<bool(ModuleOp, int, std::string &)> mutate) {
  for (int i = 0;; ++i) {
    OwningOpRef<ModuleOp> copy = module.clone();
    std::string what;
    if (!mutate(*copy, i, what))
      return i;
    EXPECT_FALSE(accepted(*copy)) << what;
  }
}

std::string text(Operation *op) {
  std::string out;
  llvm::raw_string_ostream(out) << *op;
  return out.substr(0, 400);
}

/// The i-th op of a kind, in order.
template <typename Op>
Op nth(ModuleOp module, int i) {
  Op found;
  module.walk([&](Op op) {
    if (i-- == 0)
      found = op;
  });
  return found;
}

/// The i-th value with a sharding.
mlir::Value nthSharded(ModuleOp module, int i) {
  for (auto function : module.getOps<func::FuncOp>()) {
    SmallVector<mlir::Value> values(function.getArguments().begin(), function.getArguments().end());
    for (Operation &op : function.getBody().front())
      llvm::append_range(values, op.getResults());
    for (mlir::Value value : values)
      if (auto type = dyn_cast<RankedTensorType>(value.getType()); type && type.getEncoding() && i-- == 0)
        return value;
  }
  return {};
}

/// Keeps function types in step with the values, so that what is caught is the sharding.
void refresh(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    function.setFunctionType(
        FunctionType::get(module.getContext(), function.getBody().getArgumentTypes(),
                          TypeRange(function.getBody().front().getTerminator()->getOperands())));
}

class Mutation : public testing::TestWithParam<Family> {
protected:
  void SetUp() override {
    context.loadDialect<par::ParDialect>();
    module = sharded(context, GetParam());
    ASSERT_TRUE(accepted(*module));
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(Mutation, DeletedCollective) {
  int count = run(*module, [](ModuleOp copy, int i, std::string &what) {
    auto op = nth<par::AllReduceOp>(copy, i);
    if (!op)
      return false;
    what = text(op);
    op.replaceAllUsesWith(op.getInputs());
    op.erase();
    refresh(copy);
    return true;
  });
  EXPECT_GE(count, 18);
}

TEST_P(Mutation, OtherAxis) {
  int count = run(*module, [](ModuleOp copy, int i, std::string &what) {
    auto op = nth<par::AllReduceOp>(copy, i);
    if (!op)
      return false;
    what = text(op);
    StringRef axis = cast<StringAttr>(op.getAxes()[0]).getValue();
    op.setAxesAttr(Builder(copy.getContext()).getStrArrayAttr({axis == "tensor" ? "data" : "tensor"}));
    return true;
  });
  EXPECT_GE(count, 18);
}

TEST_P(Mutation, OtherKind) {
  int count = run(*module, [](ModuleOp copy, int i, std::string &what) {
    auto op = nth<par::AllReduceOp>(copy, i);
    if (!op)
      return false;
    what = text(op);
    op.setKind(op.getKind() == "sum" ? "max" : "sum");
    return true;
  });
  EXPECT_GE(count, 18);
}

TEST_P(Mutation, DroppedEncoding) {
  int count = run(*module, [](ModuleOp copy, int i, std::string &what) {
    mlir::Value value = nthSharded(copy, i);
    if (!value)
      return false;
    Operation *at = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    what = "value " + std::to_string(i) + " of " + text(at);
    value.setType(par::withoutSharding(cast<RankedTensorType>(value.getType())));
    refresh(copy);
    return true;
  });
  EXPECT_GE(count, 100);
}

/// An axis more on a dimension that has one, or on the first.
TEST_P(Mutation, AddedAxis) {
  int count = run(*module, [](ModuleOp copy, int i, std::string &what) {
    mlir::Value value = nthSharded(copy, i);
    if (!value)
      return false;
    auto type = cast<RankedTensorType>(value.getType());
    Operation *at = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    what = "value " + std::to_string(i) + " of " + text(at);
    par::Sharding sharding = par::getSharding(type);
    if (sharding.dims.empty())
      sharding.partial.push_back("pipeline");
    else
      sharding.dims.back().push_back("pipeline");
    value.setType(par::withSharding(type, sharding));
    refresh(copy);
    return true;
  });
  EXPECT_GE(count, 100);
}

INSTANTIATE_TEST_SUITE_P(Families, Mutation, testing::Values(Family::Llama, Family::Gpt2),
                         [](auto &info) { return name(info.param).str(); });

} // namespace
