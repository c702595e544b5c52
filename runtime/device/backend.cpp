#include "runtime/device/cpu/backend.h"

namespace hocket::device {

std::unique_ptr<Backend> openBackend(const format::Plan &plan, Fault &fault, const Options &options) {
  // Plan::isa names what the code is for; the CPU's module refuses all that is no level of x86-64.
  return std::make_unique<cpu::CpuBackend>(plan, fault, options);
}

} // namespace hocket::device
