//===- device.h - A CPU rank as a device ------------------------------------===//
#pragma once

#include "runtime/device/cpu/arena.h"
#include "runtime/device/cpu/stream.h"

namespace hocket::device::cpu {

class CpuDevice final : public Device {
public:
  /// Creates the arena, streams and prepared products of `rank`, a member of
  /// class `program`.  `library` may be null when the plan has no library products.
  CpuDevice(const format::Plan &plan, const format::ClassProgram &program, uint32_t rank,
            const Module &module, std::shared_ptr<MatmulLibrary> library, Fault &fault,
            const Options &options);
  ~CpuDevice() override;

  std::byte *arena() override { return memory.data(); }
  void read(uint64_t offset, std::span<std::byte> to) const override;
  void write(uint64_t offset, std::span<const std::byte> from) override;
  uint64_t residentBytes() const override { return memory.residentBytes(); }
  Stream &stream(uint32_t index) override { return *streams[index]; }
  bool finish() override;
  uint64_t progress() const override;
  Waiting waiting(uint32_t stream) const override { return streams[stream]->waiting(); }
  void stop() override;
  const std::vector<trace::Span> &spans(uint32_t stream) const override { return streams[stream]->spans(); }
  void clearSpans() override;

private:
  Arena memory;
  Pool pool;
  Shared shared;
  std::vector<std::unique_ptr<CpuStream>> streams;
};

} // namespace hocket::device::cpu
