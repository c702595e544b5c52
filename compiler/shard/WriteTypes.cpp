//===- WriteTypes.cpp - From the side table to types; inlined definitions ---===//
#include "compiler/shard/Steps.h"
#include "dialects/model/Definition.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

void shard::setFunctionType(func::FuncOp function) {
  function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                                             returned(function).getTypes()));
}

/// Whether one of the letters that the op's kernel needs whole is sharded. Only fused ops have such.
static bool needsDefinition(model::LetterOp op, const Table &table) {
  std::string whole = op.getWholeLetters();
  model::Dims dims = op.getLetters();
  auto sharded = [&](ValueRange values, ArrayRef<std::string> letters) {
    for (auto [value, names] : llvm::zip(values, letters))
      for (auto [dim, letter] : llvm::enumerate(names))
        if (whole.find(letter) != std::string::npos && !table.at({value, unsigned(dim)}).empty())
          return true;
    return false;
  };
  return !whole.empty() &&
         (sharded(op->getOperands(), dims.operands) || sharded(op->getResults(), dims.results));
}

unsigned shard::inlineSharded(const FunctionUses &functions, const Table &table) {
  unsigned count = 0;
  for (auto &[function, use] : functions)
    for (Operation &op : llvm::make_early_inc_range(func::FuncOp(function).getBody().front())) {
      auto letters = dyn_cast<model::LetterOp>(op);
      if (!letters || !needsDefinition(letters, table))
        continue;
      OpBuilder builder(&op);
      op.replaceAllUsesWith(model::buildDefinition(builder, &op));
      op.erase();
      ++count;
    }
  return count;
}

static void write(Value value, const Table &table) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || table.of(value).empty())
    return;
  par::Sharding sharding;
  sharding.dims.assign(table.of(value).begin(), table.of(value).end());
  value.setType(par::withSharding(type, sharding));
}

void shard::writeTypes(const FunctionUses &functions, const Table &table) {
  for (auto &[constFunction, use] : functions) {
    func::FuncOp function = constFunction;
    for (BlockArgument argument : function.getArguments())
      write(argument, table);
    for (Operation &op : function.getBody().front())
      for (Value result : op.getResults())
        write(result, table);
    setFunctionType(function);
  }
}
