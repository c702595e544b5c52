//===- communicator.h - Collectives and transfers between ranks -------------===//
//
// What the executor needs of a communication library.  Calls come from the
// rank's issue thread and enqueue on a stream.
//
// Buffers are in place.  With n members, member i in rank order:
//   AllReduce      every member ends with the reduction of all buffers
//   AllGather      the buffer is n equal slots; slot i of member i goes to all
//   ReduceScatter  the buffer is n equal slots; slot i of member i becomes the sum of all slots i
// `bytes` is the size of the whole buffer in each case.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/device.h"
#include "runtime/format/plan.h"

#include <memory>
#include <span>
#include <string>

namespace hocket::comm {

/// One send or receive to or from the rank at `delta` along the communicator's axis.
struct Transfer {
  bool send = false;
  uint32_t communicator = 0;
  int32_t delta = 0;
  void *buffer = nullptr;
  uint64_t bytes = 0;
  uint32_t name = 0;
};

/// Transfers in one group at most.
inline constexpr size_t kMaxGroup = 256;

class Communicator {
public:
  virtual ~Communicator() = default;
  virtual void collective(device::Stream &stream, uint32_t communicator, format::CollectiveKind kind,
                          format::DType dtype, void *buffer, uint64_t bytes, uint32_t name) = 0;
  /// All start together; returns on the stream when all are complete.
  virtual void exchange(device::Stream &stream, std::span<const Transfer> transfers) = 0;
  /// For which ranks this rank's open operations wait: "ranks 1, 3"; empty when none.
  virtual std::string waitsFor() const = 0;
};

/// The communicators of this process for one plan.  Outlives them.
class World {
public:
  virtual ~World() = default;
  virtual std::unique_ptr<Communicator> join(uint32_t rank) = 0;
};

/// Among the devices of device::openBackend.  Keeps references to plan and fault.
/// Throws Error: 1 when an instruction's peer does not exist, 3 for groups that are too large.
std::unique_ptr<World> openWorld(const format::Plan &plan, device::Fault &fault);

} // namespace hocket::comm
