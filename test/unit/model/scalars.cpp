//===- scalars.cpp - The region of a map as a list of steps -----------------===//
#include "interpreter.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace hocket::model;

namespace hocket::test {

static bool holds(arith::CmpIPredicate p, double x, double y) {
  using P = arith::CmpIPredicate;
  switch (p) {
  case P::eq:
    return x == y;
  case P::ne:
    return x != y;
  case P::slt:
    return x < y;
  case P::sle:
    return x <= y;
  case P::sgt:
    return x > y;
  case P::sge:
    return x >= y;
  default:
    llvm::report_fatal_error("the interpreter compares signed integers only");
  }
}

static bool holds(arith::CmpFPredicate p, double x, double y) {
  using P = arith::CmpFPredicate;
  switch (p) {
  case P::OEQ:
    return x == y;
  case P::OGT:
    return x > y;
  case P::OGE:
    return x >= y;
  case P::OLT:
    return x < y;
  case P::OLE:
    return x <= y;
  case P::ONE:
    return x < y || x > y;
  default:
    llvm::report_fatal_error("the interpreter compares floats by ordered predicates only");
  }
}

ScalarProgram::ScalarProgram(MapOp op) {
  Block &body = op.getBody().front();
  llvm::DenseMap<Value, unsigned> slotOf;
  auto slot = [&](Value v) { return slotOf.try_emplace(v, unsigned(slotOf.size())).first->second; };
  for (Value argument : body.getArguments())
    slot(argument);
  arguments = body.getNumArguments();
  std::vector<std::pair<unsigned, double>> constants;
  for (Operation &o : body.without_terminator()) {
    unsigned a = o.getNumOperands() > 0 ? slot(o.getOperand(0)) : 0,
             b = o.getNumOperands() > 1 ? slot(o.getOperand(1)) : 0,
             c = o.getNumOperands() > 2 ? slot(o.getOperand(2)) : 0, r = slot(o.getResult(0));
    auto unary = [&](double (*fn)(double)) { steps.push_back([=](double *s) { s[r] = fn(s[a]); }); };
    auto binary = [&](auto fn) { steps.push_back([=](double *s) { s[r] = fn(s[a], s[b]); }); };
    llvm::TypeSwitch<Operation *>(&o)
        .Case([&](arith::ConstantOp constant) {
          Attribute value = constant.getValue();
          constants.emplace_back(r, isa<FloatAttr>(value) ? cast<FloatAttr>(value).getValueAsDouble()
                                                          : double(cast<IntegerAttr>(value).getInt()));
        })
        .Case<arith::AddFOp, arith::AddIOp>(
            [&](Operation *) { binary([](double x, double y) { return x + y; }); })
        .Case<arith::SubFOp, arith::SubIOp>(
            [&](Operation *) { binary([](double x, double y) { return x - y; }); })
        .Case<arith::MulFOp, arith::MulIOp>(
            [&](Operation *) { binary([](double x, double y) { return x * y; }); })
        .Case<arith::DivFOp>([&](Operation *) { binary([](double x, double y) { return x / y; }); })
        .Case<arith::DivSIOp>(
            [&](Operation *) { binary([](double x, double y) { return std::trunc(x / y); }); })
        .Case<arith::RemSIOp>(
            [&](Operation *) { binary([](double x, double y) { return std::fmod(x, y); }); })
        .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
            [&](Operation *) { binary([](double x, double y) { return std::max(x, y); }); })
        .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
            [&](Operation *) { binary([](double x, double y) { return std::min(x, y); }); })
        .Case<arith::AndIOp>(
            [&](Operation *) { binary([](double x, double y) { return double(int64_t(x) & int64_t(y)); }); })
        .Case<arith::OrIOp>(
            [&](Operation *) { binary([](double x, double y) { return double(int64_t(x) | int64_t(y)); }); })
        .Case<arith::XOrIOp>(
            [&](Operation *) { binary([](double x, double y) { return double(int64_t(x) ^ int64_t(y)); }); })
        .Case([&](arith::CmpIOp cmp) {
          binary([p = cmp.getPredicate()](double x, double y) { return double(holds(p, x, y)); });
        })
        .Case([&](arith::CmpFOp cmp) {
          binary([p = cmp.getPredicate()](double x, double y) { return double(holds(p, x, y)); });
        })
        .Case<arith::SelectOp>(
            [&](Operation *) { steps.push_back([=](double *s) { s[r] = s[a] != 0 ? s[b] : s[c]; }); })
        .Case<arith::NegFOp>([&](Operation *) { steps.push_back([=](double *s) { s[r] = -s[a]; }); })
        .Case<arith::SIToFPOp, arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp, arith::ExtSIOp,
              arith::TruncIOp>([&](Operation *) { steps.push_back([=](double *s) { s[r] = s[a]; }); })
        .Case<arith::FPToSIOp>([&](Operation *) { unary(std::trunc); })
        .Case<math::ExpOp>([&](Operation *) { unary(std::exp); })
        .Case<math::LogOp>([&](Operation *) { unary(std::log); })
        .Case<math::TanhOp>([&](Operation *) { unary(std::tanh); })
        .Case<math::SqrtOp>([&](Operation *) { unary(std::sqrt); })
        .Case<math::RsqrtOp>([&](Operation *) { unary([](double x) { return 1 / std::sqrt(x); }); })
        .Case<math::SinOp>([&](Operation *) { unary(std::sin); })
        .Case<math::CosOp>([&](Operation *) { unary(std::cos); })
        .Case<math::ErfOp>([&](Operation *) { unary(std::erf); })
        .Case<math::AbsFOp>([&](Operation *) { unary(std::fabs); })
        .Default([](Operation *unknown) {
          llvm::report_fatal_error("the interpreter does not know '" + unknown->getName().getStringRef() +
                                   "'");
        });
  }
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(slot(value));
  slots.resize(slotOf.size());
  for (auto [r, value] : constants)
    slots[r] = value;
}

void ScalarProgram::run(const double *in, double *out) {
  std::copy_n(in, arguments, slots.begin());
  for (auto &step : steps)
    step(slots.data());
  for (size_t i = 0; i < yielded.size(); ++i)
    out[i] = slots[yielded[i]];
}

} // namespace hocket::test
