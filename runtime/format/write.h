//===- write.h - Plan to bytes ----------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::format {

/// The plan as a file's bytes; equal plans give equal bytes on any machine.
/// Throws std::length_error when the index would pass 2 GiB.
std::vector<uint8_t> write(const Plan &plan);

} // namespace hocket::format
