//===- span.h - One timed operation of a stream -----------------------------===//
#pragma once

#include <cstdint>
#include <time.h>

namespace hocket::trace {

/// Kinds of spans; the category in the trace file.
enum class SpanKind : uint8_t { Launch, Gemm, Copy, Fill, Wait, Host, Begin, End };

struct Span {
  SpanKind kind = SpanKind::Launch;
  const char *what = "";      ///< static text: "gemm", "all_reduce"
  uint32_t name = 0;          ///< into Plan::strings
  int64_t begin = 0, end = 0; ///< nanoseconds, see now()
};

/// Monotonic nanoseconds.
inline int64_t now() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace hocket::trace
