//===- gemm_scratch_test.cpp - The bound against the library ----------------===//
//
// The library's demand on this machine, for shapes that no list holds: a seeded
// slice of sizes, transpositions and threads. Skipped where there is no oneDNN.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/gemm_scratch.h"

#include <cmath>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <oneapi/dnnl/dnnl.h>
#include <random>
#include <string>

using namespace hocket;

namespace {

#define DNNL(f, ...) call<decltype(::dnnl_##f)>("dnnl_" #f, __VA_ARGS__)

class Library {
  template <typename F, typename... Args>
  auto call(const char *name, Args... args) {
    return reinterpret_cast<F *>(dlsym(handle, name))(args...);
  }

public:
  Library() : handle(dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL)) {
    if (handle) {
      EXPECT_EQ(DNNL(engine_create, &engine, dnnl_cpu, 0), dnnl_success);
    }
  }
  ~Library() {
    if (handle)
      DNNL(engine_destroy, engine);
  }
  explicit operator bool() const { return handle; }

  /// Made as runtime/device/cpu/matmul.cpp makes it.
  uint64_t demand(const format::Gemm &g, int threads) {
    call<void(int)>("omp_set_num_threads", threads);
    auto describe = [&](int64_t rows, int64_t columns, bool transposed) {
      dnnl_memory_desc_t d;
      dnnl_dims_t dims = {rows, columns};
      dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};
      EXPECT_EQ(DNNL(memory_desc_init_by_strides, &d, 2, dims, dnnl_f32, strides), dnnl_success);
      return d;
    };
    dnnl_memory_desc_t a = describe(g.m, g.k, g.transposeA), b = describe(g.k, g.n, g.transposeB),
                       c = describe(g.m, g.n, false);
    dnnl_primitive_attr_t attributes;
    EXPECT_EQ(DNNL(primitive_attr_create, &attributes), dnnl_success);
    EXPECT_EQ(DNNL(primitive_attr_set_scratchpad_mode, attributes, dnnl_scratchpad_mode_user), dnnl_success);
    if (g.accumulate) {
      dnnl_post_ops_t after;
      EXPECT_EQ(DNNL(post_ops_create, &after), dnnl_success);
      EXPECT_EQ(DNNL(post_ops_append_sum, after, 1.0f), dnnl_success);
      EXPECT_EQ(DNNL(primitive_attr_set_post_ops, attributes, after), dnnl_success);
      DNNL(post_ops_destroy, after);
    }
    dnnl_matmul_desc_t product;
    EXPECT_EQ(DNNL(matmul_desc_init, &product, &a, &b, nullptr, &c), dnnl_success);
    dnnl_primitive_desc_t made = nullptr;
    EXPECT_EQ(DNNL(primitive_desc_create, &made, &product, attributes, engine, nullptr), dnnl_success);
    DNNL(primitive_attr_destroy, attributes);
    uint64_t bytes =
        DNNL(memory_desc_get_size, DNNL(primitive_desc_query_md, made, dnnl_query_scratchpad_md, 0));
    const char *name = "";
    DNNL(primitive_desc_query, made, dnnl_query_impl_info_str, 0, static_cast<void *>(&name));
    implementation = name;
    DNNL(primitive_desc_destroy, made);
    return bytes;
  }

  std::string implementation;

private:
  void *handle;
  dnnl_engine_t engine = nullptr;
};

format::Gemm gemm(int64_t m, int64_t n, int64_t k, int kind) {
  format::Gemm g;
  g.m = m, g.n = n, g.k = k;
  g.transposeA = kind & 1, g.transposeB = kind & 2, g.accumulate = kind & 4;
  return g;
}

TEST(GemmScratch, NeverBelowTheLibrary) {
  Library library;
  if (!library)
    GTEST_SKIP() << "no libdnnl.so.2";
  std::mt19937_64 bits(20220617);
  auto side = [&] { // even over the logarithm, and half the time a multiple of 16
    int64_t s = int64_t(std::exp2(double(bits() % 14001) / 1000.0));
    return bits() % 2 ? s : (s + 15) / 16 * 16;
  };
  uint64_t bounds = 0, demands = 0;
  for (int i = 0; i < 20000; ++i) {
    format::Gemm g = gemm(side(), side(), side(), int(bits() % 8));
    int threads = int(1 + bits() % 24);
    uint64_t bound = kernels::gemmScratchBound(g, threads), demand = library.demand(g, threads);
    ASSERT_GE(bound, demand) << g.m << " x " << g.n << " x " << g.k << " ta " << g.transposeA << " tb "
                             << g.transposeB << " + " << g.accumulate << ", " << threads << " threads, "
                             << library.implementation;
    bounds += bound;
    demands += demand;
  }
  // Not merely huge: where the library wants scratch at all, close to it.
  if (library.implementation == "brg:avx512_core") {
    EXPECT_LT(double(bounds), 1.25 * double(demands));
  }
}

// Weights of Llama-3.1-405B cut in 8, 2048 tokens: activations, their gradients,
// gradients of weights.
TEST(GemmScratch, LayersOf405B) {
  Library library;
  if (!library)
    GTEST_SKIP() << "no libdnnl.so.2";
  const int64_t tokens = 2048;
  for (auto [in, out] : {std::pair<int64_t, int64_t>{16384, 2048},
                         {16384, 128},
                         {2048, 16384},
                         {16384, 6656},
                         {6656, 16384},
                         {16384, 16032}})
    for (int threads : {1, 8, 16})
      for (format::Gemm g : {gemm(tokens, out, in, 0), gemm(tokens, in, out, 2), gemm(in, out, tokens, 5)}) {
        uint64_t bound = kernels::gemmScratchBound(g, threads), demand = library.demand(g, threads);
        EXPECT_GE(bound, demand) << g.m << " x " << g.n << " x " << g.k << ", " << threads << " threads";
        // Threads that share a sum over k hold a c each; all other scratch is per block.
        uint64_t shared = out < 64 * threads && g.transposeA ? uint64_t(g.m * g.n) * 4 : 0;
        EXPECT_LE(bound, threads * (shared + (uint64_t(2) << 20)));
      }
}

// Derived by hand in gemm_scratch.cpp's terms.
TEST(GemmScratch, WorkedCases) {
  EXPECT_EQ(kernels::gemmScratchBound(gemm(1, 1, 1, 0), 1), 512u + 128);
  EXPECT_EQ(kernels::gemmScratchBound(gemm(256, 512, 512, 1), 1),
            512u + 256 * 528 * 4 + 512 * 64 * 4 + 3 * 128);
  EXPECT_EQ(kernels::gemmScratchBound(gemm(256, 64, 2048, 6), 1),
            512u + 1024 * 64 * 4 + 256 * 64 * 4 + 3 * 128);
  // 4 of 16 threads along k, a c for each thread.
  EXPECT_EQ(kernels::gemmScratchBound(gemm(16384, 768, 2048, 1), 16),
            16 * (512u + 256 * 528 * 4 + uint64_t(16384) * 768 * 4) + 3 * 128);
}

TEST(GemmScratch, TakesAnyExtents) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_GT(kernels::gemmScratchBound(gemm(0, -1, 0, 7), 0), 0u);
  EXPECT_EQ(kernels::gemmScratchBound(gemm(most, 1, most, 5), 0xffffffff),
            std::numeric_limits<uint64_t>::max());
}

} // namespace
