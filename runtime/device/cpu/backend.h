//===- backend.h - The CPU ranks of this process ----------------------------===//
#pragma once

#include "runtime/device/cpu/device.h"

namespace hocket::device::cpu {

/// All ranks in one process: a thread for each stream and for each further thread of a rank.
class CpuBackend final : public Backend {
public:
  CpuBackend(const format::Plan &plan, Fault &fault, const Options &options);
  std::unique_ptr<Device> make(uint32_t rank) override;

private:
  const format::Plan &plan;
  Fault &fault;
  Options options;
  Module module;
  std::shared_ptr<MatmulLibrary> library; ///< null when the plan has no library products
};

} // namespace hocket::device::cpu
