//===- memory_limit.h - How much memory this process may have ---------------===//
#pragma once

#include <cstdint>
#include <string>

namespace hocket::device::cpu {

struct MemoryLimit {
  uint64_t bytes = UINT64_MAX;
  std::string source; ///< the file that says so
};

/// The smallest of the machine's memory and the limits of this process's control groups, version 1 and 2, up
/// to their roots.  `root` stands before every path (tests).
MemoryLimit memoryLimit(const std::string &root = "");

} // namespace hocket::device::cpu
