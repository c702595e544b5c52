//===- module.h - The generated kernels of a plan, loaded -------------------===//
#pragma once

#include "runtime/device/device.h"

#include <vector>

namespace hocket::device::cpu {

/// Throws Error(3), naming both, when this CPU lacks `isa` ("x86-64-v3").
void checkIsa(const std::string &isa);

/// The highest level of x86-64 that this CPU has.
std::string hostIsa();

/// The code section of a plan, loaded from memory; shared by all ranks.
class Module {
public:
  /// `resolve`, when given, replaces the code section (tests).
  Module(const format::Plan &plan, const KernelResolver &resolve);
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  KernelFunction kernel(uint32_t entry) const { return kernels[entry]; }
  /// Null for a library product.
  KernelFunction gemm(uint32_t entry) const { return gemms[entry]; }

private:
  /// A loaded object.  Its descriptor stays open as long as it is loaded: dlopen knows objects by their
  /// path, /proc/self/fd/N, and would give this one again for another plan's code under the same number.
  struct Code {
    void *handle = nullptr;
    int fd = -1;
    ~Code();
  } code;
  std::vector<KernelFunction> kernels, gemms;
};

} // namespace hocket::device::cpu
