#include "compiler/differentiate/Reverse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket {

LogicalResult Reverse::run() {
  auto isActive = [&](Value v) { return active.contains(v); };
  for (Operation *op : forward)
    if (llvm::any_of(op->getOperands(), isActive))
      for (Value result : op->getResults())
        if (isa<FloatType>(getElementTypeOrSelf(result)))
          active.insert(result);
  for (Operation *op : llvm::reverse(forward)) {
    SmallVector<Value> results;
    SmallVector<bool> wanted;
    for (Value result : op->getResults())
      results.push_back(isActive(result) ? adjoint(result) : Value());
    if (llvm::none_of(results, [](Value v) { return bool(v); }))
      continue;
    for (Value operand : op->getOperands())
      wanted.push_back(isActive(operand));
    OpDerivative d{op, results, wanted, {}};
    if (failed(special && isa<ScanOp>(op) ? special(builder, d) : differentiate(builder, d)))
      return failure();
    for (auto [operand, value] : llvm::zip(op->getOperands(), d.operands))
      if (value && isActive(operand))
        contributions[operand].push_back(value);
  }
  return success();
}

Value Reverse::adjoint(Value value) {
  auto it = contributions.find(value);
  if (it == contributions.end())
    return Value();
  SmallVector<Value, 2> &terms = it->second;
  if (terms.size() > 1) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    std::string letters = StringRef("abcdefghijklmnopqrstuvwxyz").take_front(rank).str();
    if (Operation *op = value.getDefiningOp(); isa_and_nonnull<LetterOp>(op))
      letters = resultTerm(op, cast<OpResult>(value).getResultNumber()).letters;
    else if (auto argument = dyn_cast<BlockArgument>(value))
      if (auto fn = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
        if (auto dims = fn.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "model.dims"))
          letters = dims.str();
    SmallVector<Term> inputs;
    for (Value term : terms)
      inputs.push_back({term, letters});
    Value sum = Build(builder, value.getLoc())
                    .map(inputs, letters,
                         [](ImplicitLocOpBuilder &b, ValueRange a) -> Scalars {
                           Value total = a[0];
                           for (Value v : a.drop_front())
                             total = arith::AddFOp::create(b, total, v);
                           return {total};
                         })
                    .value;
    terms.assign(1, sum);
  }
  return terms[0];
}

void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!op.hasTrait<OpTrait::IsTerminator>() && isOpTriviallyDead(&op))
      op.erase();
}

} // namespace hocket
