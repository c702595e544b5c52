//===- memory.h - What the process has in memory ----------------------------===//
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::run {

/// Peak resident bytes of the process so far (VmHWM); 0 when unknown.
uint64_t peakResident();

/// Bytes of [begin, begin + bytes) that are resident now.
uint64_t resident(const std::byte *begin, uint64_t bytes);

} // namespace hocket::run
