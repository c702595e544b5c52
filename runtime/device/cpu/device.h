//===- device.h - A CPU rank as a device ------------------------------------===//
#pragma once

#include "runtime/device/cpu/arena.h"
#include "runtime/device/cpu/stream.h"

namespace hocket::device::cpu {

struct DeviceOptions {
  bool delays = false; ///< seeded random delays before every command (tests)
  uint64_t delaySeed = 0;
  size_t spansPerList = 0; ///< > 0: record spans, with room for as many per stream
};

class CpuDevice final : public Device {
public:
  /// Creates the arena, streams and prepared products of `rank`, a member of
  /// class `program`.  `library` may be null when the plan has no library products.
  CpuDevice(const format::Plan &plan, const format::ClassProgram &program, uint32_t rank,
            const Module &module, std::shared_ptr<MatmulLibrary> library, Fault &fault,
            const DeviceOptions &options);
  ~CpuDevice() override;

  std::byte *arena() override { return memory.data(); }
  Stream &stream(uint32_t index) override { return *streams[index]; }
  bool finish() override;
  /// Ends all streams.  Peers read each other's arenas: stop all ranks before one is destroyed.
  void stop();
  uint64_t progress() const override;
  Waiting waiting(uint32_t stream) const override { return streams[stream]->waiting(); }
  /// Spans of a stream since the last clear; read and cleared between lists only.
  std::vector<trace::Span> &spans(uint32_t stream) { return streams[stream]->spans(); }

private:
  Arena memory;
  Pool pool;
  Shared shared;
  std::vector<std::unique_ptr<CpuStream>> streams;
};

} // namespace hocket::device::cpu
