#include "test/unit/kernels/harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket::test;

/// A region over arguments %x0, %x1, … of element type `t`.
static std::string region(const std::string &t, int inputs, const std::string &body,
                          const std::string &yields, int results = 1) {
  std::string head = "{\n  ^bb0(";
  for (int i = 0; i < inputs; ++i)
    head += (i ? ", " : "") + std::string("%x") + std::to_string(i) + ": " + t;
  std::string types;
  for (int i = 0; i < results; ++i)
    types += (i ? ", " : "") + t;
  std::string text = head + "):\n" + body + "    model.yield " + yields + " : " + types + "\n  } ";
  for (size_t p; (p = text.find("$T")) != std::string::npos;)
    text.replace(p, 2, t);
  return text;
}

static const char *kGelu = R"(
    %h = arith.constant 0.5 : $T
    %o = arith.constant 1.0 : $T
    %k = arith.constant 0.7978845608028654 : $T
    %c = arith.constant 0.044715 : $T
    %x2 = arith.mulf %x0, %x0 : $T
    %x3 = arith.mulf %x2, %x0 : $T
    %cx = arith.mulf %c, %x3 : $T
    %s = arith.addf %x0, %cx : $T
    %ks = arith.mulf %k, %s : $T
    %t = math.tanh %ks : $T
    %t1 = arith.addf %o, %t : $T
    %hx = arith.mulf %h, %x0 : $T
    %y = arith.mulf %hx, %t1 : $T
)";

class Map : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, Map, testing::Values("f32", "f64"));

TEST_P(Map, GeluOfManySizes) {
  std::string t = GetParam();
  Kernels k;
  std::vector<int64_t> sizes{1, 3, 16, 17, 100, 4096, 4097, 12345};
  for (int64_t n : sizes)
    k.add(opText("model.map", t, {{'x', n}}, {"x"}, {"x"}, "", region(t, 1, kGelu, "%y")));
  k.compile();
  for (size_t i = 0; i < sizes.size(); ++i) {
    Values x = random(sizes[i], 7), want;
    for (double &v : x) {
      v = double(float(v * 8));
      want.push_back(0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))));
    }
    auto got = k.run(i, {x});
    EXPECT_LE(error(got[0], want), tolerance(t)) << sizes[i];
    EXPECT_LE(error(k.runInPlace(i, {x}, 0, 0)[0], want), tolerance(t)) << sizes[i];
  }
}

TEST_P(Map, RelativeAccuracyOfFunctions) {
  std::string t = GetParam();
  struct Function {
    const char *op;
    double (*f)(double);
    double lo, hi;
  };
  const Function functions[] = {{"exp", std::exp, -80, 80},
                                {"tanh", std::tanh, -9, 9},
                                {"log", std::log, 2, 1e6},
                                {"sqrt", std::sqrt, 0, 1e6},
                                {"rsqrt", [](double v) { return 1 / std::sqrt(v); }, 1e-6, 1e6},
                                {"erf", std::erf, -4, 4}};
  Kernels k;
  const int64_t n = 5000;
  for (const Function &f : functions)
    k.add(opText("model.map", t, {{'x', n}}, {"x"}, {"x"}, "",
                 region(t, 1, std::string("    %y = math.") + f.op + " %x0 : $T\n", "%y")));
  k.compile();
  for (size_t i = 0; i < std::size(functions); ++i) {
    const Function &f = functions[i];
    Values x = random(n, 3), got;
    for (double &v : x)
      v = double(float(f.lo + (v + 1) / 2 * (f.hi - f.lo)));
    got = k.run(i, {x})[0];
    double worst = 0;
    for (int64_t j = 0; j < n; ++j)
      worst = std::max(worst, std::abs(got[j] - f.f(x[j])) / std::max(1e-30, std::abs(f.f(x[j]))));
    EXPECT_LE(worst, t == "f64" ? 1e-14 : 2e-6) << f.op;
  }
}

TEST_P(Map, ExpOfExtremes) {
  std::string t = GetParam();
  Kernels k;
  k.add(opText("model.map", t, {{'x', 20}}, {"x"}, {"x"}, "",
               region(t, 1, "    %y = math.exp %x0 : $T\n", "%y")));
  k.compile();
  Values x(20, 0.0);
  x[0] = -INFINITY, x[1] = INFINITY, x[2] = NAN, x[3] = -1e30, x[4] = -104, x[17] = -INFINITY, x[18] = NAN;
  Values y = k.run(0, {x})[0];
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_EQ(y[3], 0);
  EXPECT_LE(y[4], 1e-44);
  EXPECT_EQ(y[17], 0);
  EXPECT_TRUE(std::isnan(y[18]));
  EXPECT_NEAR(y[10], 1, 1e-6);
}

TEST_P(Map, Broadcasts) {
  std::string t = GetParam();
  Kernels k;
  struct Shape {
    Extents e;
    std::vector<Arg> in;
    const char *out;
  };
  std::vector<Shape> shapes{
      {{{'b', 2}, {'s', 3}, {'h', 37}}, {"bsh", "h"}, "bsh"},
      {{{'b', 2}, {'s', 3}, {'h', 37}}, {"bsh", "bs"}, "bsh"},
      {{{'b', 3}, {'s', 5}, {'h', 16}}, {"bh", "sh"}, "bsh"},
      {{{'b', 3}, {'s', 5}, {'h', 4}}, {"", "h"}, "bsh"},
      {{{'b', 19}, {'s', 33}}, {"sb", "bs"}, "bs"},
      {{{'b', 1}, {'s', 1}, {'h', 1}}, {"bsh", "h"}, "bsh"},
      {{{'b', 2}, {'s', 1}, {'h', 50}}, {"s", "bh"}, "bsh"},
      {{{'b', 4000}, {'h', 3}}, {"b", "h"}, "bh"},
      {{{'b', 2}, {'s', 3}, {'h', 5000}}, {"bsh", "b"}, "bsh"},
  };
  for (const Shape &s : shapes)
    k.add(
        opText("model.map", t, s.e, s.in, {s.out}, "",
               region(t, 2, "    %p = arith.mulf %x0, %x1 : $T\n    %y = arith.addf %p, %x1 : $T\n", "%y")));
  k.compile();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape &s = shapes[i];
    std::string a = s.in[0].letters, b = s.in[1].letters, o = s.out;
    Values x = random(count(a, s.e), 1), y = random(count(b, s.e), 2), want(count(o, s.e));
    forAll(o, s.e, [&](const Extents &p) {
      double u = x[at(a, s.e, p)], v = y[at(b, s.e, p)];
      want[at(o, s.e, p)] = u * v + v;
    });
    EXPECT_LE(error(k.run(i, {x, y})[0], want), tolerance(t)) << a << "," << b << "->" << o;
  }
}

TEST_P(Map, AdamWInPlaceWithScalars) {
  std::string t = GetParam();
  const int64_t n = 4100;
  Kernels k;
  std::string body = R"(
    %b1 = arith.constant 0.9 : $T
    %n1 = arith.constant 0.1 : $T
    %b2 = arith.constant 0.95 : $T
    %n2 = arith.constant 0.05 : $T
    %eps = arith.constant 1.0e-8 : $T
    %wd = arith.constant 0.1 : $T
    %g = arith.mulf %x1, %x4 : $T
    %m0 = arith.mulf %b1, %x2 : $T
    %m1 = arith.mulf %n1, %g : $T
    %m = arith.addf %m0, %m1 : $T
    %gg = arith.mulf %g, %g : $T
    %v0 = arith.mulf %b2, %x3 : $T
    %v1 = arith.mulf %n2, %gg : $T
    %v = arith.addf %v0, %v1 : $T
    %r = math.sqrt %v : $T
    %d = arith.addf %r, %eps : $T
    %u = arith.divf %m, %d : $T
    %w = arith.mulf %wd, %x0 : $T
    %s = arith.addf %u, %w : $T
    %l = arith.mulf %x5, %s : $T
    %p = arith.subf %x0, %l : $T
)";
  k.add(opText("model.map", t, {{'x', n}}, {"x", "x", "x", "x", "", ""}, {"x", "x", "x"}, "",
               region(t, 6, body, "%p, %m, %v", 3)));
  k.compile();
  Values p = random(n, 1), g = random(n, 2), m = random(n, 3), v = random(n, 4), f{0.5}, lr{0.0009765625};
  for (double &x : v)
    x = std::abs(x);
  Values wp, wm, wv;
  for (int64_t i = 0; i < n; ++i) {
    double gg = g[i] * 0.5;
    wm.push_back(0.9 * m[i] + 0.1 * gg);
    wv.push_back(0.95 * v[i] + 0.05 * gg * gg);
    wp.push_back(p[i] - lr[0] * (wm[i] / (std::sqrt(wv[i]) + 1e-8) + 0.1 * p[i]));
  }
  auto got = k.run(0, {p, g, m, v, f, lr});
  EXPECT_LE(error(got[0], wp), tolerance(t));
  EXPECT_LE(error(got[1], wm), tolerance(t));
  EXPECT_LE(error(got[2], wv), tolerance(t));
  EXPECT_LE(error(k.runInPlace(0, {p, g, m, v, f, lr}, 0, 0)[0], wp), tolerance(t));
  EXPECT_LE(error(k.runInPlace(0, {p, g, m, v, f, lr}, 3, 2)[2], wv), tolerance(t));
}

TEST_P(Map, IntegersAndOffsets) {
  std::string t = GetParam();
  // A mask of padded classes: x where i + offset < 10, else -inf.
  std::string text = "{\n  ^bb0(%x: " + t + ", %i: i32, %o: index):\n" + R"(
    %n = arith.constant 10 : index
    %low = arith.constant -1.0e30 : )" +
                     t + R"(
    %j = arith.index_cast %i : i32 to index
    %g = arith.addi %j, %o : index
    %c = arith.cmpi slt, %g, %n : index
    %y = arith.select %c, %x, %low : )" +
                     t + "\n    model.yield %y : " + t + "\n  } ";
  Kernels k;
  k.add(opText("model.map", t, {{'b', 3}, {'v', 21}}, {"bv", {"v", "i32"}, {"", "index"}}, {"bv"}, "", text));
  k.compile();
  Values x = random(63, 1), i(21), want(63);
  for (int j = 0; j < 21; ++j)
    i[j] = j;
  for (int j = 0; j < 63; ++j)
    want[j] = j % 21 + 4 < 10 ? x[j] : double(t == "f32" ? float(-1e30) : -1e30);
  EXPECT_EQ(k.run(0, {x, i, {4}})[0], want);
}
