//===- arena.h - The one block of memory of a rank --------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::device::cpu {

/// `bytes` of zeroed anonymous memory, 2 MiB aligned, huge pages advised.
/// Throws Error(4) when the system refuses.
class Arena {
public:
  explicit Arena(uint64_t bytes);
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  std::byte *data() const { return start; }
  /// Bytes of it that are in memory now: pages that were touched.
  uint64_t residentBytes() const;

private:
  void *mapping = nullptr;
  uint64_t mapped = 0, length = 0;
  std::byte *start = nullptr;
};

} // namespace hocket::device::cpu
