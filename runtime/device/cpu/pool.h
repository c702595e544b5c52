//===- pool.h - The threads of one rank that share a kernel's work ----------===//
#pragma once

#include "runtime/device/device.h"
#include "runtime/device/gate.h"

#include <thread>
#include <vector>

namespace hocket::device::cpu {

/// Splits [0, work) in equal contiguous chunks over the caller and `threads - 1`
/// helpers.  The split never changes a result: kernels write disjoint parts per unit
/// of work.
class Pool {
public:
  Pool(uint32_t threads, const Fault &fault);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

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
