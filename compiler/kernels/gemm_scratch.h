//===- gemm_scratch.h - Scratch that the library may want for a product -----===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::kernels {

/// An upper bound, in bytes, of the scratch that oneDNN 2.6 asks for to make
/// this f32 product with `threads` threads. It holds on every x86-64: the
/// library's own choice for AVX-512 is the only one that wants scratch. The
/// runtime compares it with the library's demand when it loads a plan (exit 3
/// if larger).
uint64_t gemmScratchBound(const format::Gemm &gemm, uint32_t threads);

} // namespace hocket::kernels
