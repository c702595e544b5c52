//===- support.h - Parsing, random inputs and errors ------------------------===//
#pragma once

#include "interpreter.h"

#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace hocket::test {

inline void loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                      model::ModelDialect>();
}

inline mlir::OwningOpRef<mlir::ModuleOp> parse(mlir::MLIRContext &context, const std::string &text) {
  loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  return module;
}

/// The largest |a - b| / max(|b|), with a floor of 1 under the scale.
inline double error(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.shape, b.shape);
  double worst = 0, scale = 1;
  for (double x : b.data)
    scale = std::max(scale, std::fabs(x));
  for (size_t i = 0; i < a.data.size(); ++i)
    if (!(std::fabs(a.data[i] - b.data[i]) <= worst))
      worst = std::fabs(a.data[i] - b.data[i]);
  return worst / scale;
}

/// Floats in (-1, 1); integers in [0, below).
inline Tensor randomTensor(mlir::Type type, std::mt19937_64 &rng, int64_t below) {
  Tensor tensor(type);
  bool real = mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
  for (double &x : tensor.data)
    x = real ? std::uniform_real_distribution<double>(-1, 1)(rng)
             : double(std::uniform_int_distribution<int64_t>(0, below - 1)(rng));
  return tensor;
}

} // namespace hocket::test
