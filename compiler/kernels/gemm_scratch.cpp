#include "compiler/kernels/gemm_scratch.h"

namespace hocket::kernels {

uint64_t gemmScratchBound(const format::Gemm &gemm, std::string_view isa, uint32_t threads) {
  uint64_t operands = (uint64_t(gemm.m) * gemm.k + uint64_t(gemm.k) * gemm.n) * sizeOf(gemm.dtype);
  return operands + uint64_t(threads) * (uint64_t(1) << 20);
}

} // namespace hocket::kernels
