//===- device.h - One device: memory, streams, events, kernels --------------===//
//
// What the executor needs of a device, and no more.  Calls of streams come from
// the rank's one issue thread, in issue order; they enqueue and return (or block
// while a queue is full).  Work on a stream runs in order; streams run beside
// each other and are ordered by events alone.  Addresses are the device's: the
// host reads and writes an arena through Device alone.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gate.h"
#include "runtime/format/plan.h"
#include "runtime/trace/span.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace hocket::device {

/// A generated kernel, see format::Kernel.
using KernelFunction = void (*)(void **args, int64_t begin, int64_t end);

/// Finds a kernel by its symbol; null when there is none.
using KernelResolver = std::function<KernelFunction(const std::string &)>;

/// One argument of a launch: an address, or a value that the stream copies and
/// passes by address.
struct Argument {
  void *address = nullptr;
  int64_t value = 0;
  bool byValue = false;
};

/// Bytes of a host call's payload at most.
inline constexpr uint32_t kMaxPayload = 12 << 10;

/// What runs on a stream for the host: `run(context, payload)`, where payload is
/// the stream's copy of the bytes given.
struct HostCall {
  void (*run)(void *context, void *payload) = nullptr;
  void *context = nullptr;
  const void *payload = nullptr;
  uint32_t bytes = 0;
  const char *kind = ""; ///< static text for reports and traces: "all_reduce"
};

class Stream {
public:
  virtual ~Stream() = default;
  /// `name` in all calls: index into Plan::strings, for reports and traces.
  virtual void launch(uint32_t kernel, std::span<const Argument> args, uint32_t name) = 0;
  virtual void gemm(uint32_t entry, void *a, void *b, void *c, void *scratch, uint32_t name) = 0;
  /// Within the arena, or from it to the host's memory.
  virtual void copy(const void *source, void *destination, uint64_t bytes, uint32_t name) = 0;
  virtual void fill(void *destination, uint64_t bytes, uint32_t name) = 0;
  virtual void record(uint32_t event) = 0;
  /// Waits for the last earlier record of `event` in issue order; no earlier
  /// record counts as done (the caller checks Plan's firstUse).
  virtual void wait(uint32_t event) = 0;
  virtual void mark(uint32_t name, bool begin) = 0;
  virtual void host(const HostCall &call, uint32_t name) = 0;
};

/// One operation that a stream is in or stands before, for reports.
struct Waiting {
  uint32_t stream = 0;
  std::string what; ///< "wait event 3", "all_reduce"
  uint32_t name = 0;
  bool idle = true;
};

class Device {
public:
  virtual ~Device() = default;
  /// Where the arena begins, for addresses in commands.
  virtual std::byte *arena() = 0;
  /// The arena's bytes from `offset` on.  Only while all streams are empty.
  virtual void read(uint64_t offset, std::span<std::byte> to) const = 0;
  virtual void write(uint64_t offset, std::span<const std::byte> from) = 0;
  /// Bytes of the arena that are in the host's memory now; 0 when it lies elsewhere.
  virtual uint64_t residentBytes() const = 0;
  virtual Stream &stream(uint32_t index) = 0;
  /// Returns when all streams are empty; false when the run failed.
  virtual bool finish() = 0;
  /// Commands executed so far on all streams; grows while there is progress.
  virtual uint64_t progress() const = 0;
  /// From any thread, at any time.
  virtual Waiting waiting(uint32_t stream) const = 0;
  /// Ends all streams.  Peers read each other's arenas: stop all ranks before one is destroyed.
  virtual void stop() = 0;
  /// Spans of a stream since they were cleared (Options::trace).  Only while all streams are empty.
  virtual const std::vector<trace::Span> &spans(uint32_t stream) const = 0;
  virtual void clearSpans() = 0;
};

struct Options {
  bool delays = false; ///< seeded random delays before every command (tests)
  uint64_t delaySeed = 0;
  bool trace = false; ///< record spans
  /// Replaces the plan's code section (tests).
  KernelResolver resolve;
};

/// The devices of this process for one plan: what they share is loaded once.  Outlives them.
class Backend {
public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Device> make(uint32_t rank) = 0;
};

/// The backend that the plan is compiled for.  Keeps references to plan and fault.
/// Throws Error: 3 for another CPU, library or number of threads, 1 for memory that this machine has not or a
/// symbol that the code lacks, 2 for code that is none.
std::unique_ptr<Backend> openBackend(const format::Plan &plan, Fault &fault, const Options &options);

} // namespace hocket::device
