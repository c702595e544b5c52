//===- Relations.cpp - Which dimensions must be sharded alike ---------------===//
#include "compiler/shard/Relations.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

OperandRange shard::returned(func::FuncOp function) {
  return function.getBody().front().getTerminator()->getOperands();
}

func::FuncOp shard::calledFunction(Operation *op) {
  FlatSymbolRefAttr symbol;
  if (auto scan = dyn_cast<model::ScanOp>(op))
    symbol = scan.getBodyAttr();
  else if (auto call = dyn_cast<func::CallOp>(op))
    symbol = call.getCalleeAttr();
  else
    return {};
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, symbol);
}

std::string shard::describe(Operation *op, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "model.name"))
        return ("'" + name.getValue() + "'").str();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (operand == value)
      return "operand " + std::to_string(i);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    if (result == value)
      return "result " + std::to_string(i);
  return "a value of its body";
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static LogicalResult visit(func::FuncOp function, llvm::MapVector<func::FuncOp, FunctionUse> &order,
                           llvm::SmallVectorImpl<func::FuncOp> &open) {
  if (order.contains(function))
    return success();
  if (llvm::is_contained(open, function))
    return function.emitError("calls itself; a stack of layers is one model.scan");
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return function.emitError("must have one block");
  open.push_back(function);
  for (Operation &op : function.getBody().front()) {
    func::FuncOp callee = calledFunction(&op);
    if (!callee)
      continue;
    if (failed(visit(callee, order, open)))
      return failure();
    FunctionUse &use = order[callee];
    use.root = false;
    if (auto scan = dyn_cast<model::ScanOp>(op))
      use.carries = std::max<int64_t>(use.carries, scan.getCarries());
  }
  open.pop_back();
  order.insert({function, FunctionUse()});
  return success();
}

FailureOr<FunctionUses> shard::functionUses(ModuleOp module) {
  FunctionUses order;
  llvm::SmallVector<func::FuncOp> open;
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(visit(function, order, open)))
      return failure();
  return order;
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

static int64_t rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

static Relation letterRelation(model::LetterOp op) {
  Relation relation{op, /*exclusive=*/true, {}};
  model::Dims dims = op.getLetters();
  llvm::SmallMapVector<char, Group, 8> groups;
  auto add = [&](ValueRange values, llvm::ArrayRef<std::string> letters) {
    for (auto [value, names] : llvm::zip(values, letters))
      for (auto [dim, letter] : llvm::enumerate(names))
        groups[letter].slots.push_back({value, unsigned(dim)});
  };
  add(op->getOperands(), dims.operands);
  add(op->getResults(), dims.results);
  for (auto &[letter, group] : groups) {
    group.letter = letter;
    relation.groups.push_back(std::move(group));
  }
  return relation;
}

namespace {
/// Collects groups of values whose dimensions correspond one to one.
struct Ties {
  Relation relation;

  /// All dimensions of the values agree; value i has `skip[i]` further leading ones.
  void tie(llvm::ArrayRef<std::pair<Value, unsigned>> values) {
    int64_t rank = rankOf(values.front().first) - values.front().second;
    for (int64_t dim = 0; dim < rank; ++dim) {
      Group group;
      for (auto [value, skip] : values)
        group.slots.push_back({value, unsigned(dim + skip)});
      relation.groups.push_back(std::move(group));
    }
  }
};
} // namespace

/// Counts and types of a scan or call are its function's: their verifiers compare them.
static Relation scanRelation(model::ScanOp scan) {
  func::FuncOp body = calledFunction(scan);
  auto inputs = scan.getInputs();
  auto results = scan.getResults_();
  OperandRange yields = returned(body);
  int64_t carries = scan.getCarries(), shared = scan.getShared();
  Ties ties{{scan, /*exclusive=*/false, {}}};
  for (int64_t i = carries, e = inputs.size(); i < e; ++i)
    ties.tie({{body.getArgument(i), 0}, {inputs[i], i >= carries + shared}});
  for (int64_t i = 0, e = results.size(); i < e; ++i) {
    if (i >= carries)
      ties.tie({{yields[i], 0}, {results[i], 1}});
    else
      ties.tie({{inputs[i], 0}, {body.getArgument(i), 0}, {yields[i], 0}, {results[i], 0}});
  }
  return ties.relation;
}

static Relation callRelation(func::CallOp call) {
  func::FuncOp callee = calledFunction(call);
  Ties ties{{call, /*exclusive=*/false, {}}};
  for (auto [outer, inner] : llvm::zip(call.getOperands(), callee.getArguments()))
    ties.tie({{outer, 0}, {inner, 0}});
  for (auto [outer, inner] : llvm::zip(call.getResults(), returned(callee)))
    ties.tie({{inner, 0}, {outer, 0}});
  return ties.relation;
}

/// Every result of an all_reduce is sharded as its operand.
static Relation reduceRelation(par::AllReduceOp op) {
  Ties ties{{op, /*exclusive=*/false, {}}};
  for (auto [from, to] : llvm::zip(op.getInputs(), op.getResults_()))
    ties.tie({{from, 0}, {to, 0}});
  return ties.relation;
}

llvm::SmallVector<Relation, 0> shard::collectRelations(const FunctionUses &functions) {
  llvm::SmallVector<Relation, 0> relations;
  for (auto &[function, use] : functions)
    for (Operation &op : func::FuncOp(function).getBody().front()) {
      if (auto letters = dyn_cast<model::LetterOp>(op))
        relations.push_back(letterRelation(letters));
      else if (auto scan = dyn_cast<model::ScanOp>(op))
        relations.push_back(scanRelation(scan));
      else if (auto call = dyn_cast<func::CallOp>(op))
        relations.push_back(callRelation(call));
      else if (auto reduce = dyn_cast<par::AllReduceOp>(op))
        relations.push_back(reduceRelation(reduce));
    }
  return relations;
}
