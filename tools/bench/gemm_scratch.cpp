//===- gemm_scratch.cpp - What the product library asks for, and how fast ---===//
//
//   gemm_scratch demand          CSV of oneDNN's scratch for a grid of shapes and random ones
//   gemm_scratch time M N K...   GFLOP/s of one thread for every way to ask for a product
//
// The library reads DNNL_MAX_CPU_ISA when it is loaded: one process for each.
// Build: c++ -O2 -std=c++20 gemm_scratch.cpp -ldl -o gemm_scratch
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <random>
#include <string>
#include <time.h>
#include <vector>

namespace {

void *library;
template <typename F>
F *symbol(const char *name, F *) {
  void *found = dlsym(library, name);
  if (!found) {
    std::fprintf(stderr, "libdnnl.so.2 lacks %s\n", name);
    std::exit(3);
  }
  return reinterpret_cast<F *>(found);
}
#define CALL(f, ...) symbol(#f, &::f)(__VA_ARGS__)
#define CHECK(f, ...)                                                                                        \
  if (dnnl_status_t s = CALL(f, __VA_ARGS__); s != dnnl_success) {                                           \
    std::fprintf(stderr, #f ": status %d\n", int(s));                                                        \
    std::exit(1);                                                                                            \
  }

struct Shape {
  int64_t m, n, k;
};

dnnl_engine_t engine;

void load() {
  library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(3);
  }
  CHECK(dnnl_engine_create, &engine, dnnl_cpu, 0);
}

void threads(int count) { symbol("omp_set_num_threads", static_cast<void (*)(int)>(nullptr))(count); }

struct Made {
  dnnl_memory_desc_t a, b, c, scratch;
  dnnl_primitive_desc_t desc;
};

void describe(dnnl_memory_desc_t &d, int64_t rows, int64_t columns, bool transposed) {
  dnnl_dims_t dims = {rows, columns};
  dnnl_dims_t strides = {transposed ? 1 : columns, transposed ? rows : 1};
  CHECK(dnnl_memory_desc_init_by_strides, &d, 2, dims, dnnl_f32, strides);
}

/// As the runtime makes it (`transposedC`: c stored n x m); all that the library
/// has, its own choice first.
std::vector<Made> makeAll(Shape s, bool ta, bool tb, bool accumulate, bool transposedC, size_t limit = 8) {
  Made made;
  describe(made.a, s.m, s.k, ta);
  describe(made.b, s.k, s.n, tb);
  describe(made.c, s.m, s.n, transposedC);
  dnnl_primitive_attr_t attributes;
  CHECK(dnnl_primitive_attr_create, &attributes);
  CHECK(dnnl_primitive_attr_set_scratchpad_mode, attributes, dnnl_scratchpad_mode_user);
  if (accumulate) {
    dnnl_post_ops_t after;
    CHECK(dnnl_post_ops_create, &after);
    CHECK(dnnl_post_ops_append_sum, after, 1.0f);
    CHECK(dnnl_primitive_attr_set_post_ops, attributes, after);
    CALL(dnnl_post_ops_destroy, after);
  }
  dnnl_matmul_desc_t product;
  CHECK(dnnl_matmul_desc_init, &product, &made.a, &made.b, nullptr, &made.c);
  dnnl_primitive_desc_iterator_t next;
  CHECK(dnnl_primitive_desc_iterator_create, &next, &product, attributes, engine, nullptr);
  CALL(dnnl_primitive_attr_destroy, attributes);
  std::vector<Made> all;
  do {
    made.desc = CALL(dnnl_primitive_desc_iterator_fetch, next);
    made.scratch = *CALL(dnnl_primitive_desc_query_md, made.desc, dnnl_query_scratchpad_md, 0);
    all.push_back(made);
  } while (all.size() < limit && CALL(dnnl_primitive_desc_iterator_next, next) == dnnl_success);
  CALL(dnnl_primitive_desc_iterator_destroy, next);
  return all;
}

const char *implementation(const Made &p) {
  const char *name = "?";
  CALL(dnnl_primitive_desc_query, p.desc, dnnl_query_impl_info_str, 0, &name);
  return name;
}

std::vector<Shape> shapes(size_t random) {
  std::vector<Shape> r;
  const int64_t grid[] = {1, 2, 15, 16, 17, 48, 64, 65, 127, 256, 512, 768, 1000, 2048, 4097, 6656, 16384};
  for (int64_t m : grid)
    for (int64_t n : grid)
      for (int64_t k : grid)
        r.push_back({m, n, k});
  std::mt19937_64 bits(1);
  for (size_t i = 0; i < random; ++i) {
    auto side = [&] { return int64_t(std::exp2(double(bits() % 14001) / 1000.0)); };
    r.push_back({side(), side(), side()});
  }
  return r;
}

void demand() {
  const char *limit = getenv("DNNL_MAX_CPU_ISA"), *isa = limit ? limit : "ALL";
  load();
  for (int count : {1, 2, 4, 8, 16}) {
    threads(count);
    for (const Shape &s : shapes(2000))
      for (int kind = 0; kind < 8; ++kind) {
        Made p = makeAll(s, kind & 1, kind & 2, kind & 4, false, 1).front();
        std::printf("%s,%d,%d,%d,%d,%lld,%lld,%lld,%s,%zu\n", isa, count, kind & 1, kind >> 1 & 1, kind >> 2,
                    (long long)s.m, (long long)s.n, (long long)s.k, implementation(p),
                    CALL(dnnl_memory_desc_get_size, &p.scratch));
        CALL(dnnl_primitive_desc_destroy, p.desc);
      }
  }
}

/// Of this thread, so others on the machine count only through its caches.
double seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

/// The best of several runs, in GFLOP/s; 0 for a product that the library lacks.
double speed(const Made &p, Shape s) {
  std::vector<float> a(s.m * s.k, 0.5f), b(s.k * s.n, 0.25f), c(s.m * s.n, 1.0f);
  std::vector<char> scratch(CALL(dnnl_memory_desc_get_size, &p.scratch) + 64);
  dnnl_primitive_t primitive;
  CHECK(dnnl_primitive_create, &primitive, p.desc);
  dnnl_stream_t stream;
  CHECK(dnnl_stream_create, &stream, engine, dnnl_stream_default_flags);
  dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, nullptr},
                             {DNNL_ARG_WEIGHTS, nullptr},
                             {DNNL_ARG_DST, nullptr},
                             {DNNL_ARG_SCRATCHPAD, nullptr}};
  void *data[] = {a.data(), b.data(), c.data(), scratch.data()};
  const dnnl_memory_desc_t *descriptions[] = {&p.a, &p.b, &p.c, &p.scratch};
  for (int i = 0; i < 4; ++i)
    CHECK(dnnl_memory_create, &args[i].memory, descriptions[i], engine, data[i]);
  double best = 1e30, flops = 2.0 * double(s.m) * double(s.n) * double(s.k);
  int runs = std::max(5, int(3e10 / flops));
  for (int i = 0; i < runs; ++i) {
    double start = seconds();
    CHECK(dnnl_primitive_execute, primitive, stream, 4, args);
    best = std::min(best, seconds() - start);
  }
  for (dnnl_exec_arg_t &arg : args)
    CALL(dnnl_memory_destroy, arg.memory);
  CALL(dnnl_stream_destroy, stream);
  CALL(dnnl_primitive_destroy, primitive);
  return flops / best * 1e-9;
}

void timeAll(Shape s) {
  load();
  threads(1);
  for (int kind = 0; kind < 8; ++kind)
    for (bool transposedC : {false, true}) {
      bool ta = kind & 1, tb = kind & 2, accumulate = kind & 4;
      std::vector<Made> made = makeAll(s, ta, tb, accumulate, transposedC);
      for (Made &p : made) {
        const char *name = implementation(p);
        std::printf("%lld x %lld x %lld a%s b%s c%s%s %-16s %9zu bytes", (long long)s.m, (long long)s.n,
                    (long long)s.k, ta ? "^T" : "  ", tb ? "^T" : "  ", transposedC ? "^T" : "  ",
                    accumulate ? " +" : "  ", name, CALL(dnnl_memory_desc_get_size, &p.scratch));
        // The reference loops make 0.1 GFLOP/s: named, not timed.
        if (std::strncmp(name, "ref", 3))
          std::printf(" %8.1f GFLOP/s", speed(p, s));
        std::printf("\n");
        CALL(dnnl_primitive_desc_destroy, p.desc);
      }
    }
}

} // namespace

int main(int argc, char **argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "demand" && argc == 2) {
    demand();
    return 0;
  }
  if (mode == "time" && argc == 5) {
    timeAll({std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4])});
    return 0;
  }
  std::fprintf(stderr, "usage: gemm_scratch demand | time M N K\n");
  return 2;
}
