//===- gemm.cpp - Dots as matrix products -----------------------------------===//
#include "compiler/kernels/hash.h"
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

/// Rows of c in one unit of work; columns and depth of the packed part of b.
static constexpr int64_t kRowBlock = 24, kDepth = 256;

static std::string gemmSymbol(const format::Gemm &g) {
  Hash hash;
  for (int64_t v : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc})
    hash.number(v);
  hash.number(g.transposeA).number(g.transposeB).number(g.accumulate).number(int64_t(g.dtype));
  std::string name = "gemm_f64_";
  name += g.transposeA ? 't' : 'n';
  name += g.transposeB ? 't' : 'n';
  return name + (g.accumulate ? "_add_" : "_") + shapeName({g.m, g.n, g.k}) + "_" + hash.finish();
}

std::optional<format::Gemm> asGemm(model::DotOp dot, bool accumulate, bool *swapped) {
  if (swapped)
    *swapped = false;
  Type t = elementOf(dot.getResult());
  if ((!t.isF32() && !t.isF64()) || elementOf(dot.getA()) != t || elementOf(dot.getB()) != t)
    return std::nullopt;
  model::Dims letters = dot.getLetters();
  std::string a = letters.operands[0], b = letters.operands[1], out = letters.results[0];
  auto has = [](const std::string &s, char l) { return s.find(l) != std::string::npos; };
  for (const std::string &s : {a, b, out})
    for (size_t i = 0; i < s.size(); ++i)
      if (s.find(s[i], i + 1) != std::string::npos)
        return std::nullopt;
  std::string m, n, k;
  for (char l : a) {
    if (has(out, l) && has(b, l))
      return std::nullopt; // a batch letter
    if (has(out, l))
      m += l;
    else if (has(b, l))
      k += l;
    else
      return std::nullopt; // summed in one operand alone
  }
  std::string otherK;
  for (char l : b) {
    if (has(out, l))
      n += l;
    else if (has(a, l))
      otherK += l;
    else
      return std::nullopt;
  }
  if (k != otherK || (m.empty() && n.empty()))
    return std::nullopt;
  if (out != m + n) {
    if (out != n + m || !swapped)
      return std::nullopt;
    *swapped = true;
    std::swap(a, b);
    std::swap(m, n);
  }
  format::Gemm gemm;
  auto extents = model::extents(dot, letters);
  auto product = [&](const std::string &s) {
    int64_t p = 1;
    for (char l : s)
      p *= extents[l];
    return p;
  };
  gemm.m = product(m);
  gemm.n = product(n);
  gemm.k = product(k);
  gemm.accumulate = accumulate;
  gemm.dtype = t.isF32() ? format::DType::F32 : format::DType::F64;
  if (a == k + m && a != m + k)
    gemm.transposeA = true;
  else if (a != m + k)
    return std::nullopt;
  if (b == n + k && b != k + n)
    gemm.transposeB = true;
  else if (b != k + n)
    return std::nullopt;
  gemm.lda = gemm.transposeA ? gemm.m : gemm.k;
  gemm.ldb = gemm.transposeB ? gemm.k : gemm.n;
  gemm.ldc = gemm.n;
  if (gemm.dtype == format::DType::F64) {
    gemm.symbol = gemmSymbol(gemm);
    gemm.work = ceilDiv(gemm.m, kRowBlock);
  }
  return gemm;
}

LogicalResult generateGemm(const format::Gemm &g, ModuleOp kernels) {
  if (g.dtype != format::DType::F64)
    return kernels.emitError("matrix products of f32 are library calls");
  loadDialects(*kernels.getContext());
  Recipe recipe;
  recipe.type = Float64Type::get(kernels.getContext());
  recipe.emit = [&](Code &c, ArrayRef<Value> args, X begin, X end) {
    int64_t panel = 2 * c.lanesOf(), depth = std::min(kDepth, g.k);
    Value packed = c.stack(depth * panel);
    Value a = args[0], b = args[1], out = args[2];
    X zero = c.index(0);
    // Panels of b, packed [depth, panel], then all row blocks of the range. The
    // last block may be short: its rows are counted at compile time.
    auto part = [&](X j0, int64_t columns, X k0, int64_t k, bool add) {
      c.loop(k, [&](X p) {
        X row = k0 + p;
        X to = p * columns;
        c.lanes(columns, [&](X j, int64_t w) {
          X x = g.transposeB ? c.loadStrided(b, (j0 + j) * g.ldb + row, g.ldb, w)
                             : c.load(b, row * g.ldb + j0 + j, w);
          c.store(x, packed, to + j, w);
        });
      });
      auto rows = [&](X i0, int64_t count) {
        Matrix left{a, zero, g.transposeA ? 1 : g.lda, g.transposeA ? g.lda : 1};
        left.base = i0 * left.rows + k0 * left.columns;
        multiply(c, count, columns, k, left, {packed, zero, columns, 1}, {out, i0 * g.ldc + j0, g.ldc, 1},
                 add);
      };
      int64_t full = g.m / kRowBlock, rest = g.m % kRowBlock;
      if (full) {
        X limit = c.index(full);
        c.loop(begin, select(end < limit, end, limit), 1, [&](X item) { rows(item * kRowBlock, kRowBlock); });
      }
      if (rest)
        c.when(end > full, [&] { rows(c.index(full * kRowBlock), rest); });
    };
    auto columns = [&](X j0, int64_t n) {
      part(j0, n, zero, depth, g.accumulate);
      int64_t main = g.k / depth * depth;
      if (main > depth)
        c.loop(c.index(depth), c.index(main), depth, [&](X k0) { part(j0, n, k0, depth, true); });
      if (g.k > main)
        part(j0, n, c.index(main), g.k - main, true);
    };
    int64_t main = g.n / panel * panel;
    if (main)
      c.loop(zero, c.index(main), panel, [&](X j0) { columns(j0, panel); });
    if (g.n > main)
      columns(c.index(main), g.n - main);
  };
  recipe.work = g.work;
  auto memref = [&](int64_t rows, int64_t ld) { return MemRefType::get({rows * ld}, recipe.type); };
  SmallVector<Type> types{memref(g.transposeA ? g.k : g.m, g.lda), memref(g.transposeB ? g.n : g.k, g.ldb),
                          memref(g.m, g.ldc)};
  emitFunction(kernels, g.symbol, types, recipe);
  return success();
}

} // namespace hocket::kernels
