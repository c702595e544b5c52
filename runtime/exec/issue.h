//===- issue.h - Walks a rank's order list and issues it on a device --------===//
#pragma once

#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "runtime/device/gate.h"

namespace hocket::exec {

/// One rank's view of the plan while it issues.  Allocates nothing.
class Issuer {
public:
  /// `scalars[i]`: the bits of step scalar i, constant while a list runs;
  /// `metrics[i]`: where the bits of metric i go, null when this rank does not report it.
  Issuer(const format::Plan &plan, uint32_t rank, device::Device &device, comm::Communicator &communicator,
         device::Fault &fault, const uint64_t *scalars, uint64_t *const *metrics);

  void run(const std::vector<format::ListEntry> &list);

private:
  /// Where an address or an affine value is taken.
  struct At {
    const format::ListEntry *entry = nullptr;
    int64_t layer = 0;
  };
  void range(uint32_t first, uint32_t count, At at);
  void instruction(const format::Instr &instr, At at);
  void group(uint32_t first, uint32_t count, At at);
  std::byte *address(const format::Operand &operand, At at) const;
  device::Argument argument(const format::Operand &operand, At at) const;
  comm::Transfer transfer(const format::Instr &instr, At at) const;
  uint32_t event(const format::Instr &instr, At at) const;

  const format::Plan &plan;
  const format::ClassProgram &program;
  uint32_t rank;
  device::Device &device;
  comm::Communicator &communicator;
  device::Fault &fault;
  const uint64_t *scalars;
  uint64_t *const *metrics;
  std::vector<int64_t> affineBase; ///< coordinates and constant of each affine
  std::vector<uint8_t> recorded;   ///< per event: has a record been issued, or is it a declared first use
  std::vector<device::Argument> arguments;
};

} // namespace hocket::exec
