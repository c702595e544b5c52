// Norms, cross-entropy, gather, scatter_add, rope, iota, constant.
#include "test/unit/kernels/harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket::test;

class Rows : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, Rows, testing::Values("f32", "f64"));

static std::vector<Extents> rowExtents() {
  std::vector<Extents> all;
  for (int64_t h : {1, 7, 16, 64, 100, 130})
    all.push_back({{'b', 2}, {'s', 5}, {'h', h}});
  return all;
}

TEST_P(Rows, Norms) {
  std::string t = GetParam();
  Kernels k;
  for (const Extents &e : rowExtents()) {
    k.add(opText("model.rmsnorm", t, e, {"bsh", "h"}, {"bsh", "bs"}, "eps = 1.0e-5 : f64"));
    k.add(opText("model.rmsnorm_grad", t, e, {"bsh", "bsh", "bs", "h"}, {"bsh", "h"}, ""));
    k.add(opText("model.layernorm", t, e, {"bsh", "h", "h"}, {"bsh", "bs", "bs"}, "eps = 1.0e-5 : f64"));
    k.add(opText("model.layernorm_grad", t, e, {"bsh", "bsh", "bs", "bs", "h"}, {"bsh", "h", "h"}, ""));
  }
  k.compile();
  size_t kernel = 0;
  for (const Extents &e : rowExtents()) {
    int64_t h = e.at('h'), rows = 10;
    Values x = random(rows * h, 1), w = random(h, 2), b = random(h, 3), dy = random(rows * h, 4);
    for (int layer = 0; layer < 2; ++layer) {
      Values y(rows * h), mean(rows), r(rows), dx(rows * h), dw(h), db(h);
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0, squares = 0, along = 0, offset = 0;
        for (int64_t j = 0; j < h; ++j)
          sum += layer ? x[i * h + j] : 0;
        mean[i] = sum / h;
        for (int64_t j = 0; j < h; ++j)
          squares += (x[i * h + j] - mean[i]) * (x[i * h + j] - mean[i]);
        r[i] = 1 / std::sqrt(squares / h + 1e-5);
        if (t == "f32") // the gradient takes the rounded values
          mean[i] = float(mean[i]), r[i] = float(r[i]);
        for (int64_t j = 0; j < h; ++j) {
          double n = (x[i * h + j] - mean[i]) * r[i], d = dy[i * h + j];
          y[i * h + j] = n * w[j] + (layer ? b[j] : 0);
          dw[j] += d * n;
          db[j] += d;
          along += d * w[j] * n / h;
          offset += layer ? d * w[j] / h : 0;
        }
        for (int64_t j = 0; j < h; ++j) {
          double n = (x[i * h + j] - mean[i]) * r[i];
          dx[i * h + j] = r[i] * (dy[i * h + j] * w[j] - offset - n * along);
        }
      }
      // h = 1: layernorm divides rounding errors by sqrt(eps).
      double tol = tolerance(t) * (h == 1 ? 100 : 1);
      if (layer) {
        auto got = k.run(kernel++, {x, w, b});
        EXPECT_LE(error(got[0], y), tol) << h;
        EXPECT_LE(error(got[1], mean), tol) << h;
        EXPECT_LE(error(got[2], r), tol) << h;
        got = k.run(kernel++, {dy, x, mean, r, w});
        EXPECT_LE(error(got[0], dx), h == 1 ? 1e9 : tol) << h;
        EXPECT_LE(error(got[1], dw), tol) << h;
        EXPECT_LE(error(got[2], db), tol) << h;
      } else {
        auto got = k.run(kernel++, {x, w});
        EXPECT_LE(error(got[0], y), tol) << h;
        EXPECT_LE(error(got[1], r), tol) << h;
        got = k.run(kernel++, {dy, x, r, w});
        EXPECT_LE(error(got[0], dx), h == 1 ? 1e-3 : tol) << h;
        EXPECT_LE(error(got[1], dw), tol) << h;
      }
    }
  }
}

TEST_P(Rows, CrossEntropy) {
  std::string t = GetParam();
  struct Case {
    int64_t v, valid;
  };
  const Case cases[] = {{1, 1}, {5, 5}, {16, 16}, {37, 30}, {256, 256}, {300, 259}};
  Kernels k;
  const int64_t rows = 11;
  for (const Case &c : cases) {
    std::string attr =
        "scale = 0.125 : f64" + (c.v == c.valid ? "" : ", valid = " + std::to_string(c.valid) + " : i64");
    Extents e{{'b', 1}, {'s', rows}, {'v', c.v}};
    k.add(opText("model.xent", t, e, {"bsv", {"bs", "i32"}}, {"", "bs"}, attr));
    k.add(opText("model.xent_grad", t, e, {"bsv", {"bs", "i32"}, "bs"}, {"bsv"}, attr));
  }
  k.compile();
  size_t kernel = 0;
  for (const Case &c : cases) {
    Values x = random(rows * c.v, 1), labels = integers(rows, 0, c.valid, 2), lse(rows), dx(rows * c.v);
    for (double &v : x)
      v *= 16;
    labels[3] = -1;
    labels[4] = double(c.valid); // not a class: ignored, and no address
    labels[5] = -2147483648.0;
    double loss = 0;
    for (int64_t i = 0; i < rows; ++i) {
      double top = -INFINITY, sum = 0;
      for (int64_t j = 0; j < c.valid; ++j)
        top = std::max(top, x[i * c.v + j]);
      for (int64_t j = 0; j < c.valid; ++j)
        sum += std::exp(x[i * c.v + j] - top);
      lse[i] = std::log(sum) + top;
      if (labels[i] < 0 || labels[i] >= double(c.valid))
        continue;
      loss += 0.125 * (lse[i] - x[i * c.v + int64_t(labels[i])]);
      for (int64_t j = 0; j < c.valid; ++j)
        dx[i * c.v + j] = 0.125 * (std::exp(x[i * c.v + j] - lse[i]) - (j == int64_t(labels[i])));
    }
    auto got = k.run(kernel++, {x, labels});
    EXPECT_LE(error(got[0], {loss}), c.v == 1 ? 1e30 : tolerance(t)) << c.v;
    EXPECT_NEAR(got[0][0], loss, 1e-5 * std::abs(loss) + 1e-6) << c.v;
    EXPECT_LE(error(got[1], lse), tolerance(t)) << c.v;
    EXPECT_LE(error(k.run(kernel++, {x, labels, lse})[0], dx), c.v == 1 ? 1e30 : tolerance(t) * 2) << c.v;
  }
}

TEST_P(Rows, GatherAndScatter) {
  std::string t = GetParam();
  struct Case {
    const char *table, *indices, *out;
    bool offset;
    Extents e;
  };
  std::vector<Case> cases;
  for (int64_t h : {1, 6, 64, 67, 200})
    for (bool offset : {false, true})
      cases.push_back({"vh", "bs", "bsh", offset, {{'b', 2}, {'s', 9}, {'v', 7}, {'h', h}}});
  for (bool offset : {false, true}) {
    cases.push_back({"bsv", "bs", "bs", offset, {{'b', 2}, {'s', 9}, {'v', 7}}});
    cases.push_back({"v", "s", "s", offset, {{'s', 40}, {'v', 7}}});
    cases.push_back({"bvh", "bs", "bsh", offset, {{'b', 3}, {'s', 4}, {'v', 5}, {'h', 18}}});
    cases.push_back({"ph", "s", "sh", offset, {{'s', 8}, {'p', 8}, {'h', 32}}});
  }
  Kernels k;
  for (const Case &c : cases) {
    std::vector<Arg> gather{c.table, {c.indices, "i32"}}, scatter{c.out, {c.indices, "i32"}};
    if (c.offset) {
      gather.push_back({"", "index"});
      scatter.push_back({"", "index"});
    }
    k.add(opText("model.gather", t, c.e, gather, {c.out}, ""));
    k.add(opText("model.scatter_add", t, c.e, scatter, {c.table}, ""));
  }
  k.compile();
  size_t kernel = 0;
  for (const Case &c : cases) {
    char v = std::string(c.table).find('v') == std::string::npos ? 'p' : 'v';
    int64_t extent = c.e.at(v), shift = c.offset ? 3 : 0;
    Values table = random(count(c.table, c.e), 1), updates = random(count(c.out, c.e), 2);
    Values indices = integers(count(c.indices, c.e), -2 + shift, extent + 2 + shift, 3);
    indices[0] = -2147483648.0;
    indices[1] = 2147483647.0;
    Values out(count(c.out, c.e)), sum(count(c.table, c.e));
    forAll(c.out, c.e, [&](const Extents &p) {
      int64_t i = int64_t(indices[at(c.indices, c.e, p)]) - shift;
      if (i < 0 || i >= extent)
        return;
      Extents q = p;
      q[v] = i;
      out[at(c.out, c.e, p)] = table[at(c.table, c.e, q)];
      sum[at(c.table, c.e, q)] += updates[at(c.out, c.e, p)];
    });
    std::vector<Values> a{table, indices}, b{updates, indices};
    if (c.offset)
      a.push_back({double(shift)}), b.push_back({double(shift)});
    EXPECT_EQ(k.run(kernel++, a)[0], out) << c.table << "," << c.indices << "->" << c.out;
    EXPECT_LE(error(k.run(kernel++, b)[0], sum), tolerance(t))
        << c.out << "," << c.indices << "->" << c.table;
  }
}

TEST_P(Rows, Rope) {
  std::string t = GetParam();
  struct Case {
    const char *x;
    int64_t d;
    bool scaled, inverse;
  };
  const Case cases[] = {{"bsgrd", 2, false, false}, {"bsgrd", 16, false, false}, {"bsgd", 64, true, false},
                        {"bsgrd", 34, true, true},  {"bsgd", 10, false, true},   {"sbd", 128, true, false}};
  Kernels k;
  auto extents = [](const Case &c) { return Extents{{'b', 2}, {'s', 5}, {'g', 2}, {'r', 3}, {'d', c.d}}; };
  for (const Case &c : cases)
    k.add(opText("model.rope", t, extents(c), {c.x, {"s", "i32"}}, {c.x},
                 std::string("theta = 10000.0 : f64") +
                     (c.scaled ? ", scaling = array<f64: 8.0, 1.0, 4.0, 64.0>" : "") +
                     (c.inverse ? ", inverse" : "")));
  k.compile();
  for (size_t i = 0; i < std::size(cases); ++i) {
    const Case &c = cases[i];
    Extents e = extents(c);
    Values x = random(count(c.x, e), 1), p{0, 1, 7, 8191, 131071}, want(x.size());
    forAll(c.x, e, [&](const Extents &q) {
      int64_t j = q.at('d'), half = c.d / 2, pair = j % half;
      double f = std::pow(10000.0, -2.0 * double(pair) / double(c.d));
      if (c.scaled) {
        double wave = 2 * M_PI / f;
        double smooth = (64 / wave - 1) / (4 - 1);
        f = wave > 64 ? f / 8 : wave < 16 ? f : (1 - smooth) * f / 8 + smooth * f;
      }
      double angle = p[q.at('s')] * f * (c.inverse ? -1 : 1);
      Extents low = q, high = q;
      low['d'] = pair;
      high['d'] = pair + half;
      double a = x[at(c.x, e, low)], b = x[at(c.x, e, high)];
      want[at(c.x, e, q)] =
          j < half ? a * std::cos(angle) - b * std::sin(angle) : b * std::cos(angle) + a * std::sin(angle);
    });
    // An angle of 1e5 has an error of 1e-11 already in the reference.
    EXPECT_LE(error(k.run(i, {x, p})[0], want), t == "f64" ? 1e-10 : 1e-6) << c.x << " " << c.d;
  }
}

TEST_P(Rows, IotaAndConstant) {
  std::string t = GetParam();
  Kernels k;
  std::vector<int64_t> sizes{1, 15, 33, 4096, 5000};
  for (int64_t n : sizes) {
    k.add(opText("model.iota", t, {{'s', n}}, {}, {{"s", "i32"}}, ""));
    k.add(opText("model.iota", t, {{'s', n}}, {{"", "index"}}, {{"s", "i32"}}, ""));
    k.add(opText("model.constant", t, {{'s', n}, {'b', 2}}, {}, {"bs"}, "value = 1.5 : " + t));
  }
  k.compile();
  size_t kernel = 0;
  for (int64_t n : sizes) {
    Values plain(n), shifted(n);
    for (int64_t i = 0; i < n; ++i)
      plain[i] = double(i), shifted[i] = double(i + 1000);
    EXPECT_EQ(k.run(kernel++, {})[0], plain);
    EXPECT_EQ(k.run(kernel++, {{1000}})[0], shifted);
    EXPECT_EQ(k.run(kernel++, {})[0], Values(2 * n, 1.5));
  }
}
