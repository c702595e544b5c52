//===- gemm_scratch.h - Scratch that the library may want for a product -----===//
#pragma once

#include "runtime/format/plan.h"
#include <string_view>

namespace hocket::kernels {

/// An upper bound of the scratch that oneDNN's matmul asks for: packed copies of
/// both operands and buffers per thread. The runtime compares it with the
/// library's own demand when it loads a plan (exit 3 if larger).
uint64_t gemmScratchBound(const format::Gemm &gemm, std::string_view isa, uint32_t threads);

} // namespace hocket::kernels
