//===- allocations.h - Counting heap allocations by whom they are made ------===//
//
// hocket-run replaces malloc and operator new by counting ones; they ask here
// whether the calling thread is one of ours and inside a library call. Threads
// that a library started are the library's.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>

namespace hocket::device::allocations {

/// Set first thing on every thread that runs our code: ranks, streams, helpers, main.
inline thread_local bool ourThread = false;

/// Depth of library calls of this thread.
inline thread_local int libraryDepth = 0;

/// While alive, this thread's allocations are the library's.
struct InLibrary {
  InLibrary() { ++libraryDepth; }
  ~InLibrary() { --libraryDepth; }
};

/// Filled by the counting allocator, when the program has one.
struct Counts {
  std::atomic<bool> counting{false};
  std::atomic<uint64_t> ours{0}, library{0};
};
inline Counts counts;

inline void count() noexcept {
  if (!counts.counting.load(std::memory_order_relaxed))
    return;
  (libraryDepth || !ourThread ? counts.library : counts.ours).fetch_add(1, std::memory_order_relaxed);
}

} // namespace hocket::device::allocations
