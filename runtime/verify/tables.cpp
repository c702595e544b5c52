//===- tables.cpp - Kernels, gemms, affines, scalars, numbers ---------------===//

#include "runtime/verify/context.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hocket::verify {

/// Bytes from the first to behind the last element of a row-major matrix;
/// 0 when it does not fit 62 bits.
static uint64_t matrixBytes(uint64_t rows, uint64_t cols, uint64_t ld, DType t) {
  uint64_t n;
  if (__builtin_mul_overflow(rows - 1, ld, &n) || __builtin_add_overflow(n, cols, &n) ||
      __builtin_mul_overflow(n, sizeOf(t), &n) || n > kMaxArenaBytes)
    return 0;
  return n;
}

static void verifyGemm(Context &cx, size_t number, const Gemm &g) {
  std::string who = "gemm " + num(number);
  GemmBytes &bytes = cx.gemmBytes.emplace_back();
  if (g.m < 1 || g.n < 1 || g.k < 1)
    return cx.plainFinding(who + " has extents " + std::to_string(g.m) + ", " + std::to_string(g.n) + ", " +
                               std::to_string(g.k),
                           "extents of at least 1");
  if (g.dtype != DType::F32 && g.dtype != DType::F64)
    cx.plainFinding(who + " has element type " + nameOf(g.dtype), "f32 or f64");
  if (g.work < 1)
    cx.plainFinding(who + " has work " + std::to_string(g.work), "at least 1");
  struct Matrix {
    const char *name;
    int64_t rows, cols, ld;
    uint64_t *bytes;
  } matrices[] = {{"lda", g.transposeA ? g.k : g.m, g.transposeA ? g.m : g.k, g.lda, &bytes.a},
                  {"ldb", g.transposeB ? g.n : g.k, g.transposeB ? g.k : g.n, g.ldb, &bytes.b},
                  {"ldc", g.m, g.n, g.ldc, &bytes.c}};
  for (const Matrix &m : matrices) {
    if (m.ld < m.cols)
      cx.plainFinding(who + " has " + m.name + " = " + std::to_string(m.ld),
                      "a leading dimension of at least the row's " + std::to_string(m.cols) + " elements");
    else if (!(*m.bytes = matrixBytes(m.rows, m.cols, m.ld, g.dtype)))
      cx.plainFinding(who + ": " + std::to_string(m.rows) + " rows with " + m.name + " = " +
                          std::to_string(m.ld) + " overflow",
                      "matrices below 2^62 bytes");
  }
}

static void verifyKernel(Context &cx, size_t number, const Kernel &k) {
  std::string who = "kernel " + num(number) + " " + quote(k.symbol);
  if (k.symbol.empty() || k.symbol.find('\0') != std::string::npos)
    cx.plainFinding(who + " has no usable symbol", "a name in the code section");
  if (k.work < 1)
    cx.plainFinding(who + " has work " + std::to_string(k.work), "at least 1");
  if (!(k.flops >= 0 && k.memoryBytes >= 0 && std::isfinite(k.flops + k.memoryBytes)))
    cx.plainFinding(who + " has FLOPs or bytes that are negative or not finite", "finite numbers from 0");
  for (size_t i = 0; i < k.args.size(); ++i) {
    const KernelArg &a = k.args[i];
    if (a.access > Access::Value || a.bytes == 0 || a.bytes > kMaxArenaBytes ||
        (a.access == Access::Value && a.bytes > 8))
      cx.plainFinding(who + ": argument " + num(i) + " is " + nameOf(a.access) + " of " + num(a.bytes) +
                          " bytes",
                      "1 to 8 bytes for a value, 1 to 2^62 for memory");
  }
}

/// No point of the mesh, layer or micro-batch that the plan can name may
/// overflow: the sum of the terms' greatest magnitudes must fit.
static void verifyAffines(Context &cx) {
  const Plan &p = cx.plan;
  int64_t layers = 0, micros = int64_t(p.microBatches) - 1;
  for (const ClassProgram &c : p.classes)
    for (const Instr &i : c.instrs)
      if (i.op == Op::Repeat)
        layers = std::max({layers, std::abs(int64_t(i.from)), std::abs(int64_t(i.to))});
  for (size_t n = 0; n < p.affines.size(); ++n) {
    const Affine &a = p.affines[n];
    if (a.coordinate.size() != p.axes.size()) {
      cx.plainFinding("affine " + num(n) + " has " + num(a.coordinate.size()) + " coefficients",
                      num(p.axes.size()) + ", one per mesh axis");
      continue;
    }
    uint64_t sum = 0;
    bool fits = true;
    auto add = [&](int64_t coefficient, int64_t greatest) {
      uint64_t magnitude = coefficient < 0 ? 0 - uint64_t(coefficient) : uint64_t(coefficient), term;
      fits = fits && !__builtin_mul_overflow(magnitude, uint64_t(greatest), &term) &&
             !__builtin_add_overflow(sum, term, &sum);
    };
    for (size_t x = 0; x < p.axes.size(); ++x)
      add(a.coordinate[x], int64_t(p.axes[x].size) - 1);
    add(a.layer, layers);
    add(a.micro, micros);
    add(a.constant, 1);
    if (!fits || sum > uint64_t(INT64_MAX))
      cx.plainFinding("affine " + num(n) + " overflows 64 bits on this mesh", "coefficients whose sum fits");
  }
}

static void verifyOptimizer(Context &cx) {
  const Optimizer &o = cx.plan.optimizer;
  auto check = [&](const char *name, double v, bool ok, const char *legal) {
    if (!ok || !std::isfinite(v))
      cx.plainFinding(std::string("optimizer: ") + name + " is out of range", legal);
  };
  const char *positive = "a finite number from 0";
  check("lr", o.lr, o.lr >= 0, positive);
  check("min_lr", o.minLr, o.minLr >= 0, positive);
  check("eps", o.eps, o.eps >= 0, positive);
  check("decay", o.decay, o.decay >= 0, positive);
  check("clip", o.clip, o.clip >= 0, positive);
  check("beta1", o.beta1, o.beta1 >= 0 && o.beta1 < 1, "from 0 to below 1");
  check("beta2", o.beta2, o.beta2 >= 0 && o.beta2 < 1, "from 0 to below 1");
  if (o.schedule > ScheduleKind::Cosine)
    cx.plainFinding("optimizer: schedule " + num(uint64_t(o.schedule)), "constant (0) or cosine (1)");
}

void verifyTables(Context &cx) {
  const Plan &p = cx.plan;
  auto atLeastOne = [&](const char *name, uint64_t v) {
    if (v == 0)
      cx.plainFinding(std::string(name) + " is 0", "at least 1");
  };
  atLeastOne("global batch", p.globalBatch);
  atLeastOne("sequence", p.sequence);
  atLeastOne("vocabulary", p.vocabulary);
  atLeastOne("micro-batches", p.microBatches);
  if (p.threadsPerRank < 1 || p.threadsPerRank > 1024)
    cx.plainFinding(num(p.threadsPerRank) + " threads per rank", "1 to 1024");
  if (!(p.predictedStepSeconds >= 0 && p.flopsPerStep >= 0 && std::isfinite(p.predictedStepSeconds) &&
        std::isfinite(p.flopsPerStep)))
    cx.plainFinding("predicted step time or FLOPs negative or not finite", "finite numbers from 0");
  if (p.dtype != DType::F32 && p.dtype != DType::F64)
    cx.plainFinding(std::string("the plan's element type is ") + nameOf(p.dtype), "f32 or f64");
  for (size_t i = 0; i < p.kernels.size(); ++i)
    verifyKernel(cx, i, p.kernels[i]);
  for (size_t i = 0; i < p.gemms.size(); ++i)
    verifyGemm(cx, i, p.gemms[i]);
  for (size_t i = 0; i < p.scalars.size(); ++i) {
    const Scalar &s = p.scalars[i];
    bool seed = s.kind == ScalarKind::Seed;
    if (s.kind > ScalarKind::Seed ||
        (seed ? s.dtype != DType::I64 : s.dtype != DType::F32 && s.dtype != DType::F64))
      cx.plainFinding("scalar " + num(i) + " of kind " + num(uint64_t(s.kind)) + " has type " +
                          nameOf(s.dtype),
                      "i64 for the seed, f32 or f64 for the others");
  }
  verifyAffines(cx);
  verifyOptimizer(cx);
}

} // namespace hocket::verify
