#include "test/unit/kernels/harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket::test;
namespace kernels = hocket::kernels;
namespace model = hocket::model;

class Contract : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, Contract, testing::Values("f32", "f64"));

namespace {
struct Sum {
  Extents e;
  std::string a, b, out; ///< b empty: a reduction
  std::string kind = "sum";
};
Values reference(const Sum &s, const Values &a, const Values &b) {
  std::string summed;
  for (char l : s.a + s.b)
    if (s.out.find(l) == std::string::npos && summed.find(l) == std::string::npos)
      summed += l;
  Values want(count(s.out, s.e));
  forAll(s.out, s.e, [&](const Extents &p) {
    double acc = s.kind == "max" ? -INFINITY : 0;
    forAll(summed, s.e, [&](const Extents &q) {
      Extents i = p;
      i.insert(q.begin(), q.end());
      double x = a[at(s.a, s.e, i)] * (s.b.empty() ? 1 : b[at(s.b, s.e, i)]);
      acc = s.kind == "max" ? std::max(acc, x) : acc + x;
    });
    want[at(s.out, s.e, p)] = acc;
  });
  return want;
}
} // namespace

TEST_P(Contract, Reduce) {
  std::string t = GetParam();
  std::vector<Sum> sums;
  for (const char *kind : {"sum", "max"})
    for (int64_t h : {1, 5, 16, 64, 200}) {
      Extents e{{'b', 3}, {'s', 7}, {'h', h}};
      for (const char *out : {"bs", "h", "", "b", "sh", "bh", "s", "hs"})
        sums.push_back({e, "bsh", "", out, kind});
    }
  Kernels k;
  for (const Sum &s : sums)
    k.add(opText("model.reduce", t, s.e, {s.a.c_str()}, {s.out.c_str()}, "kind = \"" + s.kind + "\""));
  k.compile();
  for (size_t i = 0; i < sums.size(); ++i) {
    Values a = random(count(sums[i].a, sums[i].e), unsigned(i));
    EXPECT_LE(error(k.run(i, {a})[0], reference(sums[i], a, {})), tolerance(t))
        << sums[i].kind << " " << sums[i].a << "->" << sums[i].out << " h " << sums[i].e['h'];
  }
}

TEST_P(Contract, DotOfAnyLetters) {
  std::string t = GetParam();
  Extents e{{'b', 2}, {'s', 5}, {'t', 9}, {'g', 2}, {'r', 3}, {'d', 20}, {'h', 33}, {'l', 2}};
  std::vector<Sum> sums{{e, "bsh", "bsh", ""},
                        {e, "bsgrd", "btgd", "bgrst"},
                        {e, "bgrst", "btgd", "bsgrd"},
                        {e, "bsh", "bsh", "h"},
                        {e, "bsh", "bsh", "bs"},
                        {e, "bs", "t", "bst"},
                        {e, "bsh", "th", "tbs"},
                        {e, "bsh", "hs", "b"},
                        {e, "lhgrd", "lhgrd", ""},
                        {e, "bsh", "h", "bs"},
                        {e, "", "h", "h"},
                        {e, "bgrst", "bsgrd", "btgd"},
                        {e, "hd", "dh", ""}};
  Kernels k;
  for (const Sum &s : sums)
    k.add(opText("model.dot", t, s.e, {s.a.c_str(), s.b.c_str()}, {s.out.c_str()}, ""));
  k.compile();
  for (size_t i = 0; i < sums.size(); ++i) {
    Values a = random(count(sums[i].a, e), unsigned(i)), b = random(count(sums[i].b, e), 99);
    EXPECT_LE(error(k.run(i, {a, b})[0], reference(sums[i], a, b)), tolerance(t))
        << sums[i].a << "," << sums[i].b << "->" << sums[i].out;
  }
}

TEST(Gemm, LettersThatGroup) {
  Kernels k;
  Extents e{{'b', 2}, {'s', 5}, {'g', 2}, {'r', 3}, {'d', 4}, {'h', 8}, {'v', 11}, {'t', 6}};
  auto gemm = [&](const char *a, const char *b, const char *out, bool *swapped = nullptr) {
    auto *op = k.parse(opText("model.dot", "f32", e, {a, b}, {out}, ""));
    return kernels::asGemm(mlir::cast<model::DotOp>(op), false, swapped);
  };
  auto g = gemm("bsh", "hgrd", "bsgrd");
  ASSERT_TRUE(g);
  EXPECT_EQ(g->m, 10);
  EXPECT_EQ(g->n, 24);
  EXPECT_EQ(g->k, 8);
  EXPECT_FALSE(g->transposeA || g->transposeB);
  EXPECT_EQ(g->lda, 8);
  EXPECT_EQ(g->ldb, 24);
  EXPECT_EQ(g->ldc, 24);
  EXPECT_EQ(g->symbol, "");
  g = gemm("bsh", "vh", "bsv");
  ASSERT_TRUE(g);
  EXPECT_TRUE(g->transposeB && !g->transposeA && g->ldb == 8);
  g = gemm("bsgrd", "bsh", "grdh");
  ASSERT_TRUE(g);
  EXPECT_TRUE(g->transposeA && !g->transposeB && g->lda == 24 && g->k == 10);
  EXPECT_FALSE(gemm("bsh", "bsv", "vh"));
  bool swapped = false;
  g = gemm("bsh", "bsv", "vh", &swapped);
  ASSERT_TRUE(g);
  EXPECT_TRUE(swapped && g->m == 11 && g->n == 8 && g->transposeA && !g->transposeB);
  EXPECT_FALSE(gemm("bsh", "bsh", ""));         // no rows and no columns
  EXPECT_FALSE(gemm("bsgrd", "btgd", "bgrst")); // batch letters
  EXPECT_FALSE(gemm("bsh", "sbv", "hv"));       // k in two orders
  EXPECT_FALSE(gemm("shb", "hv", "sbv"));       // m is split
  EXPECT_FALSE(gemm("bsh", "hv", "sbv"));       // m in two orders
}

TEST(Gemm, GeneratedInF64) {
  Kernels k;
  struct Shape {
    int64_t m, n, k;
  };
  std::vector<Shape> shapes{{1, 1, 2}, {25, 17, 257}, {53, 40, 30}};
  struct Case {
    Sum sum;
    bool accumulate;
  };
  std::vector<Case> cases;
  for (const Shape &s : shapes)
    for (const char *a : {"mk", "km"})
      for (const char *b : {"kn", "nk"})
        for (bool accumulate : {false, true}) {
          Sum sum{{{'m', s.m}, {'n', s.n}, {'k', s.k}}, a, b, "mn"};
          auto *op = k.parse(opText("model.dot", "f64", sum.e, {a, b}, {"mn"}, ""));
          auto gemm = kernels::asGemm(mlir::cast<model::DotOp>(op), accumulate);
          ASSERT_TRUE(gemm);
          ASSERT_NE(gemm->symbol, "");
          k.addGemm(*gemm, "f64");
          cases.push_back({sum, accumulate});
        }
  k.compile();
  for (size_t i = 0; i < cases.size(); ++i) {
    const Sum &s = cases[i].sum;
    Values a = random(count(s.a, s.e), 1), b = random(count(s.b, s.e), 2), old = random(count(s.out, s.e), 3);
    Values want = reference(s, a, b);
    std::vector<Values> inputs{a, b};
    if (cases[i].accumulate) {
      inputs.push_back(old);
      for (size_t j = 0; j < want.size(); ++j)
        want[j] += old[j];
    }
    EXPECT_LE(error(k.run(i, inputs)[0], want), 1e-13) << k.desc(i).symbol;
  }
}
