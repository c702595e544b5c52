//===- stream.h - A stream: an asynchronous queue with its own thread -------===//
//
// Commands are variable-size records in a ring that only the issue thread
// writes and only the worker reads; others see the worker's command in `doing`.
// Nothing is allocated after construction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/cpu/matmul.h"
#include "runtime/device/cpu/module.h"
#include "runtime/device/cpu/pool.h"
#include "runtime/device/device.h"

#include <memory>
#include <thread>
#include <vector>

namespace hocket::device::cpu {

/// What all streams of a rank share.
struct Shared {
  const format::Plan *plan = nullptr;
  const Module *module = nullptr;
  Fault *fault = nullptr;
  Pool *pool = nullptr;
  uint32_t rank = 0, streams = 1;
  /// issued[e * streams + s]: records of event e on stream s so far (issue thread only);
  /// lastStream[e]: where its last record went; completed: those executed.
  std::vector<uint32_t> issued, lastStream;
  std::unique_ptr<std::atomic<uint32_t>[]> completed;
  Gate events;
  bool delays = false;
  uint64_t delaySeed = 0;
};

class CpuStream final : public Stream {
public:
  CpuStream(Shared &shared, uint32_t index);
  ~CpuStream() override;

  /// Starts the worker; `products[entry]` holds the library products used here.
  void start(std::vector<std::unique_ptr<MatmulLibrary::Product>> products,
             std::shared_ptr<MatmulLibrary> library);
  /// Room for the spans of one order list.
  void trace(size_t spansPerList);
  const std::vector<trace::Span> &spans() const { return recorded; }
  void clearSpans() { recorded.clear(); }

  void launch(uint32_t kernel, std::span<const Argument> args, uint32_t name) override;
  void gemm(uint32_t entry, void *a, void *b, void *c, void *scratch, uint32_t name) override;
  void copy(const void *source, void *destination, uint64_t bytes, uint32_t name) override;
  void fill(void *destination, uint64_t bytes, uint32_t name) override;
  void record(uint32_t event) override;
  void wait(uint32_t event) override;
  void mark(uint32_t name, bool begin) override;
  void host(const HostCall &call, uint32_t name) override;

  bool finish();
  /// Ends the worker after what was issued, or after its current command when the run failed.
  void stop();
  uint64_t progress() const { return executed.load(std::memory_order_relaxed); }
  Waiting waiting() const;

  /// Arguments that one launch may have at most.
  static constexpr size_t kMaxArguments = 1024;

private:
  enum Kind : uint16_t { Skip, Launch, Gemm, Copy, Fill, Record, Wait, MarkBegin, MarkEnd, Host, Stop };
  /// First word of every record; `words` counts all of it.
  struct Head {
    uint16_t kind = 0, words = 0;
    uint32_t name = 0;
  };
  static constexpr uint64_t kCapacity = 1 << 14; ///< words of 8 bytes: 128 KiB
  static constexpr uint64_t kMask = kCapacity - 1;
  /// The longest record: a launch whose arguments are all values.
  static constexpr uint64_t kMaxRecord = 3 + 2 * kMaxArguments;
  static_assert(4 + kMaxPayload / 8 <= kMaxRecord);
  // A record and what is skipped before it fit once half of the ring is free: then the worker wakes
  // reserve().
  static_assert(2 * kMaxRecord <= kCapacity / 2);

  /// Reserves `words` contiguous words (the head included) and returns them; null after a fault.
  uint64_t *reserve(Kind kind, size_t words, uint32_t name);
  void publish(size_t words);
  void work();
  void execute(const uint64_t *record, Head head);
  void delay(uint64_t count);

  Shared &shared;
  uint32_t index;
  std::unique_ptr<uint64_t[]> ring;
  alignas(64) std::atomic<uint64_t> tail{0}; ///< words written, by the issue thread
  alignas(64) std::atomic<uint64_t> head{0}; ///< words consumed, by the worker
  /// Set while reserve() waits for room.  It and `head` are two sides of one decision (reserve writes
  /// wantsRoom, then reads head; the worker writes head, then reads wantsRoom), so all four are sequentially
  /// consistent: one of the two sees the other's write, and no wake-up is lost.
  std::atomic<bool> wantsRoom{false};
  /// The command that the worker is in, as its head word, 0 between commands; and the text of a Host command.
  /// Written in the order kindText, doing, (command), doing = 0, executed, each with release: a reader that
  /// finds the same `executed` before and after has both of one command.
  std::atomic<uint64_t> doing{0}, kindText{0};
  std::atomic<uint64_t> executed{0};
  Gate filled, drained;
  std::vector<std::unique_ptr<MatmulLibrary::Product>> products;
  std::shared_ptr<MatmulLibrary> library;
  bool tracing = false;
  std::vector<trace::Span> recorded;
  std::thread worker;
};

} // namespace hocket::device::cpu
