//===- order_test.cpp - The scalars of a map have one order -----------------===//
#include "support.h"

#include "dialects/model/Order.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket::test;

namespace {

/// A function with one map over a, b whose region is `body`; printed once its scalars are ordered.
std::string ordered(const std::string &body) {
  MLIRContext context;
  auto module = parse(context, R"(
    func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %z:2 = model.map(%x, %y) {
      ^bb0(%a: f32, %b: f32):
)" + body + R"(
      } {dims = "b,b->b,b"} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
      return %z#0, %z#1 : tensor<4xf32>, tensor<4xf32>
    })");
  hocket::model::orderMaps(*module);
  EXPECT_TRUE(succeeded(verify(*module)));
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

const char *const kInOrder = R"(
  %0 = arith.addf %a, %b : f32
  %1 = math.exp %0 : f32
  %2 = arith.mulf %a, %a : f32
  %3 = arith.subf %1, %2 : f32
  %4 = arith.divf %2, %b : f32
  model.yield %3, %4 : f32, f32)";

TEST(Order, LeavesWhatIsInOrder) {
  std::string text = ordered(kInOrder);
  size_t at = 0;
  for (const char *op : {"addf", "exp", "mulf", "subf", "divf", "yield"}) {
    size_t next = text.find(op, at);
    ASSERT_NE(next, std::string::npos) << op << "\n" << text;
    at = next;
  }
}

TEST(Order, OperandsComeLeftToRight) {
  EXPECT_EQ(ordered(R"(
  %2 = arith.mulf %a, %a : f32
  %4 = arith.divf %2, %b : f32
  %0 = arith.addf %a, %b : f32
  %1 = math.exp %0 : f32
  %3 = arith.subf %1, %2 : f32
  model.yield %3, %4 : f32, f32)"),
            ordered(kInOrder));
}

// Chains of them too: a user is dropped before what it uses.
TEST(Order, DropsWhatNothingNeeds) {
  EXPECT_EQ(ordered(R"(
  %c = arith.constant 2.0 : f32
  %d = arith.mulf %c, %a : f32
  %e = math.exp %d : f32
  %0 = arith.addf %a, %b : f32
  %f = arith.addf %e, %d : f32
  %1 = math.exp %0 : f32
  %2 = arith.mulf %a, %a : f32
  %3 = arith.subf %1, %2 : f32
  %g = arith.addf %3, %f : f32
  %4 = arith.divf %2, %b : f32
  model.yield %3, %4 : f32, f32)"),
            ordered(kInOrder));
}

TEST(Order, AYieldOfArgumentsStays) {
  std::string text = ordered("  model.yield %b, %a : f32, f32");
  EXPECT_NE(text.find("model.yield"), std::string::npos);
}

} // namespace
