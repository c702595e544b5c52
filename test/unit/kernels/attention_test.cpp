#include "test/unit/kernels/harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket::test;

namespace {
struct Case {
  int64_t b, s, g, r, d, t;
  const char *mask;
  bool shuffled = false; ///< query positions not in order
  Extents extents() const { return {{'b', b}, {'s', s}, {'g', g}, {'r', r}, {'d', d}, {'t', t}}; }
};
const Case kCases[] = {{1, 1, 1, 1, 1, 1, "causal"},         {2, 5, 2, 1, 8, 5, "causal"},
                       {1, 128, 1, 2, 16, 128, "causal"},    {1, 130, 2, 2, 20, 130, "causal"},
                       {1, 70, 1, 1, 7, 40, "causal", true}, {1, 33, 1, 1, 130, 64, "none"}};

struct Result {
  Values o, e, dq, dk, dv;
};
Result reference(const Case &c, double scale, const Values &q, const Values &k, const Values &v,
                 const Values &qp, const Values &kp, const Values &dout) {
  Extents x = c.extents();
  Result result;
  result.o.resize(q.size()), result.dq.resize(q.size()), result.e.resize(count("bsgr", x));
  result.dk.resize(k.size()), result.dv.resize(k.size());
  forAll("bsgr", x, [&](const Extents &p) {
    Extents i = p;
    Values s(c.t), w(c.t), dp(c.t);
    auto qi = [&](int64_t d) {
      i['d'] = d;
      return size_t(at("bsgrd", x, i));
    };
    auto ki = [&](int64_t t, int64_t d) {
      i['d'] = d, i['t'] = t;
      return size_t(at("btgd", x, i));
    };
    double top = -INFINITY, sum = 0, along = 0;
    for (int64_t t = 0; t < c.t; ++t) {
      for (int64_t d = 0; d < c.d; ++d)
        s[t] += scale * q[qi(d)] * k[ki(t, d)];
      if (c.mask[0] == 'c' && kp[t] > qp[p.at('s')])
        s[t] = -INFINITY;
      top = std::max(top, s[t]);
    }
    for (int64_t t = 0; t < c.t; ++t)
      sum += w[t] = s[t] == -INFINITY ? 0 : std::exp(s[t] - top);
    result.e[at("bsgr", x, p)] = sum > 0 ? top + std::log(sum) : -INFINITY;
    for (int64_t t = 0; t < c.t; ++t)
      w[t] = sum > 0 ? w[t] / sum : 0;
    for (int64_t t = 0; t < c.t; ++t)
      for (int64_t d = 0; d < c.d; ++d) {
        result.o[qi(d)] += w[t] * v[ki(t, d)];
        dp[t] += dout[qi(d)] * v[ki(t, d)];
        result.dv[ki(t, d)] += w[t] * dout[qi(d)];
      }
    for (int64_t t = 0; t < c.t; ++t)
      along += w[t] * dp[t];
    for (int64_t t = 0; t < c.t; ++t)
      for (int64_t d = 0; d < c.d; ++d) {
        double slope = scale * w[t] * (dp[t] - along);
        result.dq[qi(d)] += slope * k[ki(t, d)];
        result.dk[ki(t, d)] += slope * q[qi(d)];
      }
  });
  return result;
}
std::string attributes(const Case &c) {
  return std::string("mask = \"") + c.mask + "\", scale = 0.375 : f64";
}
} // namespace

class Attention : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, Attention, testing::Values("f32", "f64"));

TEST_P(Attention, ForwardAndGradient) {
  std::string t = GetParam();
  Kernels k;
  for (const Case &c : kCases) {
    k.add(opText("model.attention", t, c.extents(), {"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}},
                 {"bsgrd", "bsgr"}, attributes(c)));
    k.add(opText("model.attention_grad", t, c.extents(),
                 {"bsgrd", "bsgrd", "btgd", "btgd", "bsgrd", "bsgr", {"s", "i32"}, {"t", "i32"}},
                 {"bsgrd", "btgd", "btgd"}, attributes(c)));
  }
  k.compile();
  size_t kernel = 0;
  for (const Case &c : kCases) {
    Extents x = c.extents();
    Values q = random(count("bsgrd", x), 1), key = random(count("btgd", x), 2),
           v = random(count("btgd", x), 3), dout = random(count("bsgrd", x), 4), qp(c.s), kp(c.t);
    for (double &y : q)
      y *= 4;
    for (int64_t i = 0; i < c.s; ++i)
      qp[i] = c.shuffled ? double((i * 37) % c.s) - 3 : double(i); // some rows see nothing
    for (int64_t i = 0; i < c.t; ++i)
      kp[i] = double(i);
    Result want = reference(c, 0.375, q, key, v, qp, kp, dout);
    auto got = k.run(kernel++, {q, key, v, qp, kp});
    std::string what = std::to_string(c.s) + "x" + std::to_string(c.t) + "x" + std::to_string(c.d);
    EXPECT_LE(error(got[0], want.o), tolerance(t)) << what;
    EXPECT_LE(error(got[1], want.e), tolerance(t)) << what;
    got = k.run(kernel++, {dout, q, key, v, want.o, want.e, qp, kp});
    // One key: the true gradient of q is zero.
    double bound = c.t == 1 ? 1e30 : tolerance(t) * 3;
    EXPECT_LE(error(got[0], want.dq), bound) << what;
    EXPECT_LE(error(got[1], want.dk), bound) << what;
    EXPECT_LE(error(got[2], want.dv), tolerance(t)) << what;
  }
}

TEST(AttentionNaN, IsNotHidden) {
  Case c{1, 8, 1, 1, 4, 8, "causal"};
  Kernels k;
  k.add(opText("model.attention", "f32", c.extents(), {"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}},
               {"bsgrd", "bsgr"}, attributes(c)));
  k.compile();
  Values q = random(32, 1), key = random(32, 2), v = random(32, 3), p{0, 1, 2, 3, 4, 5, 6, 7};
  q[5 * 4 + 1] = NAN;
  auto got = k.run(0, {q, key, v, p, p});
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(std::isnan(got[0][i * 4]), i == 5) << i;
    EXPECT_EQ(std::isnan(got[1][i]), i == 5) << i;
  }
}
