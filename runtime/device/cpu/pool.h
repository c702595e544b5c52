//===- pool.h - The threads of one rank that share a kernel's work ----------===//
#pragma once

#include "runtime/device/device.h"
#include "runtime/device/gate.h"

#include <thread>
#include <vector>

namespace hocket::device::cpu {

/// Seconds from a call of Pool::run to its return beyond an equal share of the kernel, when helpers sleep, as
/// they do between most kernels.  Measured by pool_bench on a virtual machine with 2 cores of an AMD EPYC of
/// family 26: 26 to 28e-6 at every length of kernel, and 0.2e-6 when the helpers were still awake.
inline constexpr double kHandOver = 27e-6;

/// FLOPs plus bytes (format::Kernel's flops and memoryBytes) that one core gets through in a second.  With
/// equal weights and this rate the sum gives the seconds of 32 generated kernels in kernels_bench on the same
/// machine within 0.29 to 1.65 times, median 1.06; gather and scatter_add, which declare the FLOPs of a
/// product that they do not make, are left out.
inline constexpr double kCoreRate = 100e9;

/// Whether splitting a kernel saves more than handing it over costs.  On that machine a step of gpt2-tiny on
/// one sequence takes 7.7 ms by this rule, 10.4 ms when all kernels above a microsecond are split; on 16
/// sequences 47 and 48 ms.
inline bool worthSplitting(double flopsAndBytes, uint32_t threads) {
  return flopsAndBytes / kCoreRate * (1 - 1.0 / threads) > kHandOver;
}

/// Splits [0, work) in equal contiguous chunks over the caller and `threads - 1`
/// helpers.  The split never changes a result: kernels write disjoint parts per unit
/// of work.
class Pool {
public:
  Pool(uint32_t threads, const Fault &fault);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  uint32_t size() const { return threads; }
  /// Runs the kernel and returns when all of it is done.  A second caller at
  /// the same time (another stream) runs its kernel alone.
  void run(KernelFunction kernel, void **args, int64_t work) noexcept;

private:
  void help(uint32_t helper) noexcept;
  void chunk(uint32_t part) noexcept;

  const Fault &fault;
  uint32_t threads;
  std::atomic<bool> busy{false}, stop{false};
  std::atomic<uint32_t> generation{0}, running{0};
  KernelFunction kernel = nullptr;
  void **args = nullptr;
  int64_t work = 0;
  Gate start, done;
  std::vector<std::thread> helpers;
};

} // namespace hocket::device::cpu
