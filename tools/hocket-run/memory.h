//===- memory.h - What the process has in memory ----------------------------===//
#pragma once

#include <cstdint>

namespace hocket::run {

/// Peak resident bytes of the process so far (VmHWM); 0 when unknown.
uint64_t peakResident();

} // namespace hocket::run
