//===- large_test.cpp - Tensors of more than 2^31 elements ------------------===//
//
// Each kernel runs the last units of its work on a large tensor, of which only
// the pages at the end exist, and must give the bits that it gives on a small
// tensor that is just this end.  An index cut to 32 bits misses the end.
//
//===----------------------------------------------------------------------===//
#include "test/unit/kernels/harness.h"
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace hocket::test;
using hocket::format::Access;
using hocket::format::KernelArg;

namespace {

/// Zeroes; memory is used only where it is touched.
class Sparse {
public:
  explicit Sparse(uint64_t bytes) : bytes(bytes) {
    void *p =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      ADD_FAILURE() << "cannot map " << bytes << " bytes";
    else
      data = static_cast<uint8_t *>(p);
  }
  Sparse(Sparse &&o) : data(o.data), bytes(o.bytes) { o.data = nullptr; }
  ~Sparse() {
    if (data)
      munmap(data, bytes);
  }
  uint8_t *data = nullptr;
  uint64_t bytes;
};

/// An op on tensors whose first letter is `large` or 1 long; input `index` (if any) names, in its
/// last element, `last` in the large and `only` in the small one.
void sameAtTheEnd(const std::string &large, const std::string &small, int index = -1, int32_t last = 0,
                  int32_t only = 0) {
  Kernels k;
  auto a = k.desc(k.add(large)), b = k.desc(k.add(small));
  auto code = hocket::kernels::compile(*k.module, hostIsa());
  ASSERT_TRUE(mlir::succeeded(code)) << k.errors;
  Library library(*code);
  auto runLarge = library.find(a.symbol), runSmall = library.find(b.symbol);
  ASSERT_TRUE(runLarge && runSmall);
  ASSERT_EQ(a.args.size(), b.args.size());
  std::vector<Sparse> wide, narrow;
  uint64_t widest = 0;
  for (size_t i = 0; i < a.args.size(); ++i) {
    wide.emplace_back(a.args[i].bytes);
    narrow.emplace_back(b.args[i].bytes);
    ASSERT_TRUE(wide[i].data && narrow[i].data);
    widest = std::max(widest, a.args[i].bytes);
    if (a.args[i].access == Access::Write)
      continue;
    if (int(i) == index) {
      ASSERT_EQ(b.args[i].bytes, 4u);
      std::memcpy(wide[i].data + a.args[i].bytes - 4, &last, 4);
      std::memcpy(narrow[i].data, &only, 4);
      continue;
    }
    std::vector<float> values;
    for (double v : random(int64_t(b.args[i].bytes / 4), unsigned(i + 1)))
      values.push_back(float(v));
    std::memcpy(narrow[i].data, values.data(), b.args[i].bytes);
    std::memcpy(wide[i].data + a.args[i].bytes - b.args[i].bytes, values.data(), b.args[i].bytes);
  }
  EXPECT_GT(widest, 4 * (uint64_t(1) << 31)) << "not large";
  std::vector<void *> wideArgs, narrowArgs;
  for (size_t i = 0; i < wide.size(); ++i) {
    wideArgs.push_back(wide[i].data);
    narrowArgs.push_back(narrow[i].data);
  }
  runSmall(narrowArgs.data(), 0, b.work);
  runLarge(wideArgs.data(), a.work - b.work, a.work);
  for (size_t i = 0; i < wide.size(); ++i) {
    if (a.args[i].access == Access::Read || a.args[i].access == Access::Value)
      continue;
    EXPECT_EQ(0, std::memcmp(narrow[i].data, wide[i].data + wide[i].bytes - narrow[i].bytes, narrow[i].bytes))
        << "argument " << i << " of " << a.symbol;
    bool zero = true;
    for (uint64_t at = 0; at < narrow[i].bytes; ++at)
      zero &= narrow[i].data[at] == 0;
    EXPECT_FALSE(zero) << "argument " << i << " of " << b.symbol << " says nothing";
  }
}

std::string twice() {
  return "{\n  ^bb0(%x: f32):\n    %y = arith.addf %x, %x : f32\n    model.yield %y : f32\n  } ";
}
std::string sum() {
  return "{\n  ^bb0(%x: f32, %y: f32):\n    %z = arith.addf %x, %y : f32\n    model.yield %z : f32\n  } ";
}

TEST(Large, FlatMap) {
  auto op = [](int64_t x) { return opText("model.map", "f32", {{'x', x}}, {"x"}, {"x"}, "", twice()); };
  sameAtTheEnd(op((int64_t(1) << 32) + 4096), op(4096));
}

TEST(Large, MapOfRows) {
  auto op = [](int64_t b) {
    return opText("model.map", "f32", {{'b', b}, {'h', 1000}}, {"bh", "h"}, {"bh"}, "", sum());
  };
  sameAtTheEnd(op(int64_t(5) << 20), op(1));
}

TEST(Large, Norm) {
  auto op = [](int64_t s) {
    return opText("model.rmsnorm", "f32", {{'s', s}, {'h', 16384}}, {"sh", "h"}, {"sh", "s"},
                  "eps = 1.0e-5 : f64");
  };
  sameAtTheEnd(op(int64_t(1) << 18), op(1));
}

TEST(Large, GatherFromATable) {
  auto op = [](int64_t v) {
    return opText("model.gather", "f32", {{'s', 1}, {'v', v}, {'h', 16384}}, {"vh", {"s", "i32"}}, {"sh"},
                  "");
  };
  sameAtTheEnd(op(int64_t(1) << 18), op(1), 1, (1 << 18) - 1);
}

TEST(Large, GatherOfManyTokens) {
  auto op = [](int64_t s) {
    return opText("model.gather", "f32", {{'s', s}, {'v', 1}, {'h', 16384}}, {"vh", {"s", "i32"}}, {"sh"},
                  "");
  };
  sameAtTheEnd(op(int64_t(1) << 18), op(1), 1, 0);
}

TEST(Large, ScatterAdd) {
  auto op = [](int64_t v, int64_t h) {
    return opText("model.scatter_add", "f32", {{'s', 1}, {'v', v}, {'h', h}}, {"sh", {"s", "i32"}}, {"vh"},
                  "");
  };
  sameAtTheEnd(op(1 << 10, 1 << 22), op(1, 64), 1, (1 << 10) - 1);
}

TEST(Large, CrossEntropyGradient) {
  auto op = [](int64_t s) {
    return opText("model.xent_grad", "f32", {{'s', s}, {'v', 128256}}, {"sv", {"s", "i32"}, "s"}, {"sv"},
                  "scale = 0.125 : f64");
  };
  sameAtTheEnd(op(1 << 15), op(1), 1, 0);
}

TEST(Large, Rope) {
  auto op = [](int64_t s) {
    return opText("model.rope", "f32", {{'s', s}, {'d', 64}}, {"sd", {"s", "i32"}}, {"sd"},
                  "theta = 10000.0 : f64");
  };
  sameAtTheEnd(op((1 << 26) + 1), op(1), 1, 54321, 54321);
}

TEST(Large, Attention) {
  auto op = [](int64_t b) {
    return opText("model.attention", "f32", {{'b', b}, {'s', 64}, {'t', 64}, {'g', 1}, {'r', 1}, {'d', 64}},
                  {"bsgrd", "btgd", "btgd", {"s", "i32"}, {"t", "i32"}}, {"bsgrd", "bsgr"},
                  "mask = \"none\", scale = 0.125 : f64");
  };
  sameAtTheEnd(op((1 << 19) + 1), op(1));
}

TEST(Large, InitialValues) {
  Kernels k;
  const int64_t n = (int64_t(1) << 32) + 4096;
  k.addInit({"normal", 0.02, mlir::Float32Type::get(&k.context), {n}, {n}, 5, {}});
  k.addInit({"normal", 0.02, mlir::Float32Type::get(&k.context), {4096}, {4096}, 5, {}});
  auto code = hocket::kernels::compile(*k.module, hostIsa());
  ASSERT_TRUE(mlir::succeeded(code)) << k.errors;
  Library library(*code);
  Sparse wide(uint64_t(n) * 4), narrow(4096 * 4), low(4096 * 4);
  int64_t seed = 7, base = 0, end = n - 4096;
  void *wideArgs[] = {wide.data, &base, &seed}, *narrowArgs[] = {narrow.data, &end, &seed},
       *lowArgs[] = {low.data, &base, &seed};
  library.find(k.desc(0).symbol)(wideArgs, k.desc(0).work - 1, k.desc(0).work);
  library.find(k.desc(1).symbol)(narrowArgs, 0, 1);
  library.find(k.desc(1).symbol)(lowArgs, 0, 1);
  EXPECT_EQ(0, std::memcmp(narrow.data, wide.data + uint64_t(n - 4096) * 4, 4096 * 4));
  EXPECT_NE(0, std::memcmp(narrow.data, low.data, 4096 * 4)) << "the index is cut to 32 bits";
}

} // namespace
