#include "runtime/device/cpu/matmul.h"

#include "runtime/device/allocations.h"
#include "runtime/error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <oneapi/dnnl/dnnl.h>
#include <string>

namespace hocket::device::cpu {
namespace {

/// The functions that we call, by their own types.
struct Api {
#define HOCKET_DNNL(f) decltype(&::dnnl_##f) f = nullptr;
#define HOCKET_DNNL_ALL                                                                                      \
  HOCKET_DNNL(version)                                                                                       \
  HOCKET_DNNL(engine_create)                                                                                 \
  HOCKET_DNNL(engine_destroy)                                                                                \
  HOCKET_DNNL(stream_create)                                                                                 \
  HOCKET_DNNL(stream_destroy)                                                                                \
  HOCKET_DNNL(memory_desc_init_by_strides)                                                                   \
  HOCKET_DNNL(memory_desc_get_size)                                                                          \
  HOCKET_DNNL(memory_create)                                                                                 \
  HOCKET_DNNL(memory_destroy)                                                                                \
  HOCKET_DNNL(memory_set_data_handle)                                                                        \
  HOCKET_DNNL(matmul_desc_init)                                                                              \
  HOCKET_DNNL(primitive_attr_create)                                                                         \
  HOCKET_DNNL(primitive_attr_destroy)                                                                        \
  HOCKET_DNNL(primitive_attr_set_scratchpad_mode)                                                            \
  HOCKET_DNNL(primitive_attr_set_post_ops)                                                                   \
  HOCKET_DNNL(post_ops_create)                                                                               \
  HOCKET_DNNL(post_ops_destroy)                                                                              \
  HOCKET_DNNL(post_ops_append_sum)                                                                           \
  HOCKET_DNNL(primitive_desc_create)                                                                         \
  HOCKET_DNNL(primitive_desc_destroy)                                                                        \
  HOCKET_DNNL(primitive_desc_query_md)                                                                       \
  HOCKET_DNNL(primitive_create)                                                                              \
  HOCKET_DNNL(primitive_destroy)                                                                             \
  HOCKET_DNNL(primitive_execute)
  HOCKET_DNNL_ALL
#undef HOCKET_DNNL
};

[[noreturn]] void unusable(const std::string &why) {
  throw Error(kExitIncompatible, "matrix products need oneDNN 2.x (Debian: libdnnl2): " + why);
}

void check(dnnl_status_t status, const char *what) {
  if (status != dnnl_success)
    throw Error(kExitIncompatible,
                std::string("oneDNN: ") + what + " failed with status " + std::to_string(status));
}

class OneDnn final : public MatmulLibrary {
public:
  OneDnn() {
    // Read when the OpenMP runtime is loaded: idle threads sleep instead of
    // spinning, or ranks that share cores crawl.  What the user set stays.
    setenv("OMP_WAIT_POLICY", "passive", 0);
    setenv("GOMP_SPINCOUNT", "0", 0);
    handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      std::string reason = dlerror();
      if (void *newer = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL)) {
        dlclose(newer);
        reason = "found libdnnl.so.3, whose interface differs";
      }
      unusable(reason);
    }
#define HOCKET_DNNL(f)                                                                                       \
  api.f = reinterpret_cast<decltype(api.f)>(dlsym(handle, "dnnl_" #f));                                      \
  if (!api.f)                                                                                                \
    unusable("libdnnl.so.2 lacks dnnl_" #f);
    HOCKET_DNNL_ALL
#undef HOCKET_DNNL
    // A symbol's lookup through the library finds the OpenMP runtime it was linked with.
    setThreads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
    check(api.engine_create(&engine, dnnl_cpu, 0), "engine");
  }

  std::string version() const override {
    const dnnl_version_t *v = api.version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }

  void useThreads(uint32_t threads) noexcept override {
    if (setThreads)
      setThreads(static_cast<int>(threads));
  }

  std::unique_ptr<Product> prepare(const format::Gemm &gemm, uint32_t entry, uint32_t threads) override;

  Api api;
  void *handle = nullptr;
  dnnl_engine_t engine = nullptr;
  void (*setThreads)(int) = nullptr;
};

class OneDnnProduct final : public MatmulLibrary::Product {
public:
  OneDnnProduct(OneDnn &library, const format::Gemm &gemm, uint32_t entry) : api(library.api) {
    dnnl_memory_desc_t a, b, c;
    describe(a, gemm.m, gemm.k, gemm.lda, gemm.transposeA);
    describe(b, gemm.k, gemm.n, gemm.ldb, gemm.transposeB);
    describe(c, gemm.m, gemm.n, gemm.ldc, false);
    dnnl_primitive_attr_t attributes;
    check(api.primitive_attr_create(&attributes), "attributes");
    check(api.primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user), "scratchpad mode");
    if (gemm.accumulate) {
      dnnl_post_ops_t after;
      check(api.post_ops_create(&after), "post-operations");
      check(api.post_ops_append_sum(after, 1.0f), "sum");
      check(api.primitive_attr_set_post_ops(attributes, after), "post-operations");
      api.post_ops_destroy(after);
    }
    dnnl_matmul_desc_t product;
    check(api.matmul_desc_init(&product, &a, &b, nullptr, &c), "matmul");
    dnnl_primitive_desc_t chosen;
    check(api.primitive_desc_create(&chosen, &product, attributes, library.engine, nullptr), "matmul");
    api.primitive_attr_destroy(attributes);
    dnnl_memory_desc_t scratch = *api.primitive_desc_query_md(chosen, dnnl_query_scratchpad_md, 0);
    scratchBytes = api.memory_desc_get_size(&scratch);
    dnnl_status_t made = api.primitive_create(&primitive, chosen);
    api.primitive_desc_destroy(chosen);
    check(made, "matmul");
    if (scratchBytes > gemm.scratchBytes)
      throw Error(kExitIncompatible, "product " + std::to_string(entry) + " (" + std::to_string(gemm.m) +
                                         " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k) +
                                         "): " + library.version() + " needs " +
                                         std::to_string(scratchBytes) +
                                         " bytes of scratch on this CPU, the plan declares " +
                                         std::to_string(gemm.scratchBytes));
    const dnnl_memory_desc_t *descriptions[] = {&a, &b, &c, &scratch};
    const int roles[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    for (int i = 0; i < 4; ++i) {
      check(api.memory_create(&memory[i], descriptions[i], library.engine, nullptr), "memory");
      args[i] = {roles[i], memory[i]};
    }
    check(api.stream_create(&stream, library.engine, dnnl_stream_default_flags), "stream");
  }

  ~OneDnnProduct() override {
    api.stream_destroy(stream);
    for (dnnl_memory_t m : memory)
      api.memory_destroy(m);
    api.primitive_destroy(primitive);
  }

  bool run(void *a, void *b, void *c, void *scratch) noexcept override {
    allocations::InLibrary library;
    void *const data[] = {a, b, c, scratch};
    int count = scratchBytes ? 4 : 3;
    for (int i = 0; i < count; ++i)
      if (api.memory_set_data_handle(memory[i], data[i]) != dnnl_success)
        return false;
    return api.primitive_execute(primitive, stream, count, args) == dnnl_success;
  }

private:
  /// rows x columns as the product sees it; transposed: stored columns x rows.
  void describe(dnnl_memory_desc_t &d, int64_t rows, int64_t columns, int64_t ld, bool transposed) {
    dnnl_dims_t dims = {rows, columns};
    dnnl_dims_t strides = {transposed ? 1 : ld, transposed ? ld : 1};
    check(api.memory_desc_init_by_strides(&d, 2, dims, dnnl_f32, strides), "memory description");
  }

  const Api &api;
  size_t scratchBytes = 0;
  dnnl_primitive_t primitive = nullptr;
  dnnl_stream_t stream = nullptr;
  dnnl_memory_t memory[4] = {};
  dnnl_exec_arg_t args[4] = {};
};

std::unique_ptr<MatmulLibrary::Product> OneDnn::prepare(const format::Gemm &gemm, uint32_t entry,
                                                        uint32_t threads) {
  if (gemm.dtype != format::DType::F32)
    throw Error(kExitIncompatible,
                "product " + std::to_string(entry) + ": the library has no products of this type");
  // oneDNN divides the work at creation for the calling thread's number of threads.
  useThreads(threads);
  return std::make_unique<OneDnnProduct>(*this, gemm, entry);
}

} // namespace

std::shared_ptr<MatmulLibrary> MatmulLibrary::load() {
  static std::mutex mutex;
  static std::weak_ptr<MatmulLibrary> loaded;
  std::lock_guard lock(mutex);
  std::shared_ptr<MatmulLibrary> library = loaded.lock();
  if (!library)
    loaded = library = std::make_shared<OneDnn>();
  return library;
}

} // namespace hocket::device::cpu
