//===- tiny_run.h - The tiny plan with its kernels, and what it must compute ===//
#pragma once

#include "runtime/device/device.h"
#include "test/unit/common/tiny_plan.h"

#include <array>
#include <cstring>
#include <map>

extern "C" {
#define HOCKET_TINY(f) void f(void **, int64_t, int64_t);
#define HOCKET_TINY_ALL                                                                                      \
  HOCKET_TINY(tiny_embed)                                                                                    \
  HOCKET_TINY(tiny_add)                                                                                      \
  HOCKET_TINY(tiny_sumsq)                                                                                    \
  HOCKET_TINY(tiny_update)                                                                                   \
  HOCKET_TINY(tiny_init)                                                                                     \
  HOCKET_TINY(tiny_loss)                                                                                     \
  HOCKET_TINY(tiny_gemm_forward)                                                                             \
  HOCKET_TINY(tiny_gemm_weight)                                                                              \
  HOCKET_TINY(tiny_gemm_input)
HOCKET_TINY_ALL
#undef HOCKET_TINY
}

namespace hocket::test {

inline device::KernelFunction tinyKernel(const std::string &symbol) {
#define HOCKET_TINY(f)                                                                                       \
  if (symbol.starts_with(#f "_"))                                                                            \
    return &f;
  HOCKET_TINY_ALL
#undef HOCKET_TINY
  return nullptr;
}

/// The tiny plan with its products as kernels, so that results do not depend on a library.
inline Plan tinyRunPlan() {
  Plan p = tinyPlan();
  for (auto [gemm, name] : {std::pair(tiny::Forward, "tiny_gemm_forward"),
                            {tiny::WeightGradient, "tiny_gemm_weight"},
                            {tiny::InputGradient, "tiny_gemm_input"}})
    p.gemms[gemm].symbol = declaredSymbol(name, p.gemms[gemm]);
  p.isa = "x86-64";
  return p;
}

/// What the four ranks compute, one after the other in one thread.
class TinyReference {
public:
  using X = std::array<float, 32>;
  using W = std::array<float, 16>;
  /// [stage][tensor][layer]
  W w[2][2][2], m[2][2][2] = {}, v[2][2][2] = {}, g[2][2][2];

  explicit TinyReference(int64_t seed) {
    for (int64_t s = 0; s < 2; ++s)
      for (int64_t t = 0; t < 2; ++t)
        for (int64_t l = 0; l < 2; ++l) {
          int64_t base = 16 * t + 32 * l + 64 * s;
          call(tiny_init, w[s][t][l].data(), &base, &seed);
        }
  }

  /// tokens, labels: [4 rows, 4].  Returns the loss; `train` also updates.
  float step(const int32_t *tokens, const int32_t *labels, float lr, bool train) {
    X stash[2][2][3], d; // [micro][stage][layer]
    float loss = 0;
    for (auto &stage : g)
      for (auto &rank : stage)
        for (W &layer : rank)
          layer.fill(0);
    for (int mb = 0; mb < 2; ++mb) {
      call(tiny_embed, const_cast<int32_t *>(tokens + mb * 8), stash[mb][0][0].data());
      for (int s = 0; s < 2; ++s) {
        if (s == 1)
          stash[mb][1][0] = stash[mb][0][2];
        for (int l = 0; l < 2; ++l) {
          X a, b;
          call(tiny_gemm_forward, stash[mb][s][l].data(), w[s][0][l].data(), a.data());
          call(tiny_gemm_forward, stash[mb][s][l].data(), w[s][1][l].data(), b.data());
          for (int i = 0; i < 32; ++i)
            a[i] = a[i] + b[i];
          call(tiny_add, stash[mb][s][l].data(), a.data(), stash[mb][s][l + 1].data());
        }
      }
      call(tiny_loss, stash[mb][1][2].data(), const_cast<int32_t *>(labels + mb * 8), &loss, d.data());
      for (int t = 0; t < 2; ++t) {
        X dx;
        call(tiny_gemm_input, d.data(), w[1][t][0].data(), dx.data());
        for (int l = 1; l >= 0; --l) {
          call(tiny_gemm_weight, stash[mb][1][l].data(), d.data(), g[1][t][l].data());
          call(tiny_gemm_weight, stash[mb][0][l].data(), dx.data(), g[0][t][l].data());
        }
      }
    }
    if (train)
      update(lr);
    return loss;
  }

private:
  void update(float lr) {
    float part[4], norm;
    for (int r = 0; r < 4; ++r)
      call(tiny_sumsq, g[r / 2][r % 2][0].data(), &part[r]);
    norm = ((part[0] + part[1]) + part[2]) + part[3];
    for (int r = 0; r < 4; ++r)
      for (int l = 0; l < 2; ++l)
        call(tiny_update, w[r / 2][r % 2][l].data(), g[r / 2][r % 2][l].data(), m[r / 2][r % 2][l].data(),
             v[r / 2][r % 2][l].data(), &norm, &lr);
  }
  template <class... Args>
  static void call(device::KernelFunction f, Args *...args) {
    void *list[] = {args...};
    f(list, 0, 1);
  }
};

} // namespace hocket::test
