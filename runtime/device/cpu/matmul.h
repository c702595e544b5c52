//===- matmul.h - Matrix products of the library, loaded on demand ----------===//
//
// oneDNN 2.x through its C API and dlopen; needed only by plans with library
// products.  Its scratch lies in the plan's arena.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <memory>
#include <vector>

namespace hocket::device::cpu {

/// The loaded library; one per process.
class MatmulLibrary {
public:
  /// Throws Error(3) when there is no library of a known version.
  static std::shared_ptr<MatmulLibrary> load();
  virtual ~MatmulLibrary() = default;
  /// "oneDNN 2.6.3"
  virtual std::string version() const = 0;

  /// One prepared product; used by one thread at a time.
  class Product {
  public:
    virtual ~Product() = default;
    /// Throws nothing; false when the library reports a failure.
    virtual bool run(void *a, void *b, void *c, void *scratch) noexcept = 0;
  };

  /// Prepares for `threads` threads.  Throws Error(3) when the library needs
  /// more scratch than the entry declares, with both numbers.
  virtual std::unique_ptr<Product> prepare(const format::Gemm &gemm, uint32_t entry, uint32_t threads) = 0;

  /// The calling thread's products use `threads` threads.
  virtual void useThreads(uint32_t threads) noexcept = 0;
};

} // namespace hocket::device::cpu
