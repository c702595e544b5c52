#include "test/unit/kernels/harness.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace hocket::test;
using hocket::kernels::InitSpec;

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}
static double normal(uint64_t seed, uint64_t key, uint64_t i) {
  const uint64_t c = 0x9E3779B97F4A7C15;
  uint64_t z = mix(mix((seed ^ key) + c) + (i + 1) * c);
  double u1 = (double(z >> 32) + 0.5) / 4294967296.0, u2 = (double(z & 0xffffffff) + 0.5) / 4294967296.0;
  return std::sqrt(-2 * std::log(u1)) * std::cos(2 * M_PI * u2);
}

class Init : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Types, Init, testing::Values("f32", "f64"));

TEST_P(Init, ShardsDrawTheGlobalNumbers) {
  std::string t = GetParam();
  Kernels k;
  mlir::Type type =
      t == "f32" ? mlir::Type(mlir::Float32Type::get(&k.context)) : mlir::Float64Type::get(&k.context);
  const uint64_t key = 0xF00DF00DF00DF00D;
  // Global [2, 5, 7]; the middle letter in three shards of 2: the last holds one row and one of padding.
  for (const char *kind : {"normal", "one", "zero"})
    k.addInit({kind, 0.02, type, {2, 2, 7}, {2, 5, 7}, key, {1}});
  k.addInit({"normal", 0.02, type, {2, 5, 7}, {2, 5, 7}, key, {}});
  k.compile();
  const double seed = 1234;
  Values whole = k.run(3, {{0}, {seed}})[0];
  for (int64_t i = 0; i < 70; ++i)
    EXPECT_NEAR(whole[i], 0.02 * normal(1234, key, uint64_t(i)), t == "f64" ? 1e-16 : 4e-9) << i;
  for (int64_t shard = 0; shard < 3; ++shard) {
    double offset = double(shard * 2);
    Values got = k.run(0, {{offset * 7}, {seed}, {offset}})[0];
    Values ones = k.run(1, {{offset * 7}, {seed}, {offset}})[0];
    EXPECT_EQ(k.run(2, {{offset * 7}, {seed}, {offset}})[0], Values(28, 0));
    for (int64_t l = 0; l < 2; ++l)
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t j = 0; j < 7; ++j) {
          int64_t row = shard * 2 + i;
          EXPECT_EQ(got[(l * 2 + i) * 7 + j], row < 5 ? whole[(l * 5 + row) * 7 + j] : 0);
          EXPECT_EQ(ones[(l * 2 + i) * 7 + j], row < 5 ? 1 : 0);
        }
  }
}

TEST(InitMoments, AreNormal) {
  Kernels k;
  k.addInit({"normal", 1, mlir::Float32Type::get(&k.context), {100000}, {100000}, 5, {}});
  k.compile();
  double mean = 0, squares = 0;
  Values drawn = k.run(0, {{0}, {42}})[0];
  for (double v : drawn)
    mean += v / 1e5, squares += v * v / 1e5;
  EXPECT_NEAR(mean, 0, 0.01);
  EXPECT_NEAR(squares, 1, 0.02);
}
