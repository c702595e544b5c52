#include "compiler/differentiate/ScalarDerivative.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numbers>

using namespace mlir;
using namespace hocket::model;

namespace hocket {
namespace {

/// Reverse mode over one block of scalars.  A null value is a zero.
class Scalar {
public:
  Scalar(Block &block, Location loc) : b(loc, loc.getContext()), block(block) {
    b.setInsertionPointToEnd(&block);
  }

  FailureOr<SmallVector<Value>> run(MapOp map, ArrayRef<std::pair<Value, Value>> seeds,
                                    ArrayRef<bool> wanted) {
    for (auto [argument, want] : llvm::zip(block.getArguments(), wanted))
      if (want)
        active.insert(argument);
    SmallVector<Operation *> forward;
    for (Operation &op : block) {
      forward.push_back(&op);
      for (Value result : op.getResults())
        if (isa<FloatType>(result.getType()) &&
            llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
          active.insert(result);
    }
    for (auto [value, adjoint] : seeds)
      add(value, adjoint);
    for (Operation *op : llvm::reverse(forward)) {
      Value g = op->getNumResults() == 1 ? adjoints.lookup(op->getResult(0)) : Value();
      if (!g)
        continue;
      if (failed(differentiate(op, g)))
        return map.emitOpError("cannot be differentiated: no derivative of '") << op->getName() << "'";
    }
    SmallVector<Value> result;
    for (BlockArgument argument : block.getArguments())
      result.push_back(adjoints.lookup(argument));
    return result;
  }

private:
  static bool isConstant(Value v, double value) {
    llvm::APFloat constant(0.0);
    return matchPattern(v, m_ConstantFloat(&constant)) && constant.convertToDouble() == value;
  }

  void add(Value to, Value adjoint) {
    if (!active.contains(to))
      return;
    Value &sum = adjoints[to];
    sum = sum ? plus(sum, adjoint) : adjoint;
  }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value times(Value x, Value y) {
    if (isConstant(x, 1))
      return y;
    if (isConstant(y, 1))
      return x;
    return arith::MulFOp::create(b, x, y);
  }
  Value times(Value x, double y) { return times(x, constant(x, y)); }
  Value over(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value constant(Value like, double value) { return scalar(b, like.getType(), value); }
  void choose(Value condition, Value g, Value ifTrue, Value ifFalse) {
    Value zero = constant(g, 0);
    if (active.contains(ifTrue))
      add(ifTrue, arith::SelectOp::create(b, condition, g, zero));
    if (active.contains(ifFalse))
      add(ifFalse, arith::SelectOp::create(b, condition, zero, g));
  }
  Value compare(arith::CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, p, x, y); }

  LogicalResult differentiate(Operation *op, Value g) {
    Value x = op->getNumOperands() > 0 ? op->getOperand(0) : Value();
    Value y = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
    Value r = op->getResult(0);
    auto gives = [&](Value to, Value adjoint) {
      add(to, adjoint);
      return success();
    };
    using R = LogicalResult;
    return llvm::TypeSwitch<Operation *, R>(op)
        .Case([&](arith::AddFOp) {
          add(x, g);
          return gives(y, g);
        })
        .Case([&](arith::SubFOp) {
          add(x, g);
          return active.contains(y) ? gives(y, neg(g)) : success();
        })
        .Case([&](arith::MulFOp) {
          if (active.contains(x))
            add(x, times(g, y));
          return active.contains(y) ? gives(y, times(g, x)) : success();
        })
        .Case([&](arith::DivFOp) {
          Value quotient = over(g, y);
          add(x, quotient);
          return active.contains(y) ? gives(y, neg(times(quotient, r))) : success();
        })
        .Case([&](arith::NegFOp) { return gives(x, neg(g)); })
        .Case([&](math::ExpOp) { return gives(x, times(g, r)); })
        .Case([&](math::LogOp) { return gives(x, over(g, x)); })
        .Case([&](math::TanhOp) { return gives(x, times(g, minus(constant(r, 1), times(r, r)))); })
        .Case([&](math::SqrtOp) { return gives(x, over(times(g, 0.5), r)); })
        .Case([&](math::RsqrtOp) { return gives(x, times(times(g, -0.5), times(r, times(r, r)))); })
        .Case([&](math::SinOp) { return gives(x, times(g, math::CosOp::create(b, x))); })
        .Case([&](math::CosOp) { return gives(x, neg(times(g, math::SinOp::create(b, x)))); })
        .Case([&](math::ErfOp) {
          Value bell = math::ExpOp::create(b, neg(times(x, x)));
          return gives(x, times(times(g, 2 / std::sqrt(std::numbers::pi)), bell));
        })
        .Case([&](arith::MaximumFOp) {
          choose(compare(arith::CmpFPredicate::OGE, x, y), g, x, y);
          return success();
        })
        .Case([&](arith::MinimumFOp) {
          choose(compare(arith::CmpFPredicate::OLE, x, y), g, x, y);
          return success();
        })
        .Case([&](arith::SelectOp select) {
          choose(x, g, select.getTrueValue(), select.getFalseValue());
          return success();
        })
        .Case([&](arith::ExtFOp) { return gives(x, arith::TruncFOp::create(b, x.getType(), g)); })
        .Case([&](arith::TruncFOp) { return gives(x, arith::ExtFOp::create(b, x.getType(), g)); })
        .Default([](Operation *) { return failure(); });
  }

  ImplicitLocOpBuilder b;
  Block &block;
  llvm::SmallPtrSet<Value, 16> active;
  llvm::DenseMap<Value, Value> adjoints;
};

} // namespace

FailureOr<SmallVector<Value>> differentiateScalars(MapOp map, Block &block,
                                                   ArrayRef<std::pair<Value, Value>> seeds,
                                                   ArrayRef<bool> wanted) {
  return Scalar(block, map.getLoc()).run(map, seeds, wanted);
}

} // namespace hocket
