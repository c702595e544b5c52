#include "runtime/device/cpu/stream.h"

#include "runtime/data/random.h"
#include "runtime/device/allocations.h"
#include "runtime/error.h"

#include <bit>
#include <cstring>

namespace hocket::device::cpu {

// Layouts after the head word:
//   Launch  kernel, count, then count words each of: address | value flagged in a bit map
//   Gemm    entry, a, b, c, scratch
//   Copy    source, destination, bytes;  Fill  destination, bytes
//   Record  counter index, value;  Wait  counter index, value
//   Host    run, context, kind text, then the payload

static uint64_t word(const void *p) { return reinterpret_cast<uint64_t>(p); }
template <class T>
static T *pointer(uint64_t w) {
  return reinterpret_cast<T *>(w);
}

CpuStream::CpuStream(Shared &s, uint32_t i) : shared(s), index(i), ring(new uint64_t[kCapacity]()) {}

CpuStream::~CpuStream() { stop(); }

void CpuStream::stop() {
  if (!worker.joinable())
    return;
  if (reserve(Stop, 1, 0))
    publish(1);
  filled.notify();
  worker.join();
}

void CpuStream::start(std::vector<std::unique_ptr<MatmulLibrary::Product>> p,
                      std::shared_ptr<MatmulLibrary> l) {
  products = std::move(p);
  library = std::move(l);
  worker = std::thread([this] {
    allocations::ourThread = true;
    work();
  });
}

void CpuStream::trace(size_t spansPerList) {
  tracing = true;
  recorded.reserve(spansPerList);
}

//===----------------------------------------------------------------------===//
// Issue thread
//===----------------------------------------------------------------------===//

uint64_t *CpuStream::reserve(Kind kind, size_t words, uint32_t name) {
  uint64_t at = tail.load(std::memory_order_relaxed);
  uint64_t untilEnd = kCapacity - (at & kMask);
  uint64_t skipped = untilEnd < words ? untilEnd : 0;
  uint64_t needed = words + skipped;
  if (at + needed - head.load(std::memory_order_acquire) > kCapacity) {
    wantsRoom.store(true, std::memory_order_seq_cst);
    bool room = drained.wait([&] { return at + needed - head.load(std::memory_order_seq_cst) <= kCapacity; },
                             *shared.fault);
    wantsRoom.store(false, std::memory_order_relaxed);
    if (!room)
      return nullptr;
  }
  if (skipped) {
    Head skip{Skip, static_cast<uint16_t>(skipped), 0};
    std::memcpy(&ring[at & kMask], &skip, sizeof skip);
    at += skipped;
    tail.store(at, std::memory_order_release);
  }
  Head record{kind, static_cast<uint16_t>(words), name};
  std::memcpy(&ring[at & kMask], &record, sizeof record);
  return &ring[at & kMask];
}

void CpuStream::publish(size_t words) {
  tail.store(tail.load(std::memory_order_relaxed) + words, std::memory_order_release);
  filled.notify();
}

void CpuStream::launch(uint32_t kernel, std::span<const Argument> args, uint32_t name) {
  // One address word per argument; a value stands in a word after them.  The
  // addresses of values point into the ring, where the record stays until it ran.
  size_t values = 0;
  for (const Argument &a : args)
    values += a.byValue;
  size_t words = 3 + args.size() + values;
  uint64_t *r = reserve(Launch, words, name);
  if (!r)
    return;
  r[1] = kernel;
  r[2] = args.size();
  uint64_t *address = r + 3, *value = r + 3 + args.size();
  for (const Argument &a : args) {
    if (a.byValue) {
      *value = static_cast<uint64_t>(a.value);
      *address++ = word(value++);
    } else {
      *address++ = word(a.address);
    }
  }
  publish(words);
}

void CpuStream::gemm(uint32_t entry, void *a, void *b, void *c, void *scratch, uint32_t name) {
  if (uint64_t *r = reserve(Gemm, 6, name)) {
    r[1] = entry;
    r[2] = word(a);
    r[3] = word(b);
    r[4] = word(c);
    r[5] = word(scratch);
    publish(6);
  }
}

void CpuStream::copy(const void *source, void *destination, uint64_t bytes, uint32_t name) {
  if (uint64_t *r = reserve(Copy, 4, name)) {
    r[1] = word(source);
    r[2] = word(destination);
    r[3] = bytes;
    publish(4);
  }
}

void CpuStream::fill(void *destination, uint64_t bytes, uint32_t name) {
  if (uint64_t *r = reserve(Fill, 3, name)) {
    r[1] = word(destination);
    r[2] = bytes;
    publish(3);
  }
}

void CpuStream::record(uint32_t event) {
  uint64_t counter = uint64_t(event) * shared.streams + index;
  if (uint64_t *r = reserve(Record, 3, event)) {
    r[1] = counter;
    r[2] = ++shared.issued[counter];
    shared.lastStream[event] = index;
    publish(3);
  }
}

void CpuStream::wait(uint32_t event) {
  uint64_t counter = uint64_t(event) * shared.streams + shared.lastStream[event];
  uint32_t value = shared.issued[counter];
  // Done already, or own stream: nothing to wait for.
  if (shared.lastStream[event] == index ||
      static_cast<int32_t>(shared.completed[counter].load(std::memory_order_acquire) - value) >= 0)
    return;
  if (uint64_t *r = reserve(Wait, 3, event)) {
    r[1] = counter;
    r[2] = value;
    publish(3);
  }
}

void CpuStream::mark(uint32_t name, bool begin) {
  if (!tracing)
    return;
  if (reserve(begin ? MarkBegin : MarkEnd, 1, name))
    publish(1);
}

void CpuStream::host(const HostCall &call, uint32_t name) {
  size_t words = 4 + (call.bytes + 7) / 8;
  if (uint64_t *r = reserve(Host, words, name)) {
    r[1] = reinterpret_cast<uint64_t>(call.run);
    r[2] = word(call.context);
    r[3] = word(call.kind);
    std::memcpy(r + 4, call.payload, call.bytes);
    publish(words);
  }
}

bool CpuStream::finish() {
  uint64_t target = tail.load(std::memory_order_relaxed);
  return drained.wait([&] { return head.load(std::memory_order_acquire) >= target; }, *shared.fault);
}

//===----------------------------------------------------------------------===//
// Worker
//===----------------------------------------------------------------------===//

void CpuStream::delay(uint64_t count) {
  uint64_t r = data::splitmix(data::splitmix(data::splitmix(shared.delaySeed ^ shared.rank) ^ index) ^ count);
  if (r % 4)
    return;
  timespec t{0, static_cast<long>(r / 4 % 400'000)};
  nanosleep(&t, nullptr);
}

void CpuStream::work() {
  if (library)
    library->useThreads(shared.plan->threadsPerRank);
  uint64_t at = 0;
  for (uint64_t count = 0;; ++count) {
    if (!filled.wait([&] { return tail.load(std::memory_order_acquire) != at; }, *shared.fault))
      return;
    const uint64_t *record = &ring[at & kMask];
    Head h = std::bit_cast<Head>(*record);
    if (h.kind == Stop)
      return;
    if (h.kind != Skip) {
      if (h.kind == Host)
        kindText.store(record[3], std::memory_order_release);
      doing.store(*record, std::memory_order_release);
      if (shared.delays)
        delay(count);
      execute(record, h);
      doing.store(0, std::memory_order_release);
    }
    if (shared.fault->raised())
      return;
    at += h.words;
    head.store(at, std::memory_order_seq_cst);
    executed.store(count + 1, std::memory_order_release);
    // The issue thread waits for the end, or for room: wake it once half of the ring is free.
    uint64_t pending = tail.load(std::memory_order_relaxed) - at;
    if (pending == 0 || (pending < kCapacity / 2 && wantsRoom.load(std::memory_order_seq_cst)))
      drained.notify();
  }
}

void CpuStream::execute(const uint64_t *r, Head h) {
  using trace::SpanKind;
  int64_t begin = tracing ? trace::now() : 0;
  SpanKind kind = SpanKind::Launch;
  const char *what = "";
  auto run = [&](KernelFunction f, void **args, int64_t work, double flopsAndBytes) {
    if (worthSplitting(flopsAndBytes, shared.pool->size()))
      shared.pool->run(f, args, work);
    else
      f(args, 0, work);
  };
  switch (h.kind) {
  case Launch: {
    const format::Kernel &k = shared.plan->kernels[r[1]];
    void **args = pointer<void *>(word(r + 3));
    run(shared.module->kernel(static_cast<uint32_t>(r[1])), args, k.work, k.flops + k.memoryBytes);
    what = "kernel";
    break;
  }
  case Gemm: {
    void *args[] = {pointer<void>(r[2]), pointer<void>(r[3]), pointer<void>(r[4])};
    auto entry = static_cast<uint32_t>(r[1]);
    const format::Gemm &g = shared.plan->gemms[entry];
    if (KernelFunction f = shared.module->gemm(entry))
      run(f, args, g.work, 2.0 * double(g.m) * double(g.n) * double(g.k));
    else if (!products[entry]->run(args[0], args[1], args[2], pointer<void>(r[5])))
      shared.fault->raise(kExitRunTime, "rank " + std::to_string(shared.rank) +
                                            ": oneDNN failed in product '" + shared.plan->strings[h.name] +
                                            "'");
    kind = SpanKind::Gemm;
    what = "gemm";
    break;
  }
  case Copy:
    std::memmove(pointer<void>(r[2]), pointer<void>(r[1]), r[3]);
    kind = SpanKind::Copy;
    what = "copy";
    break;
  case Fill:
    std::memset(pointer<void>(r[1]), 0, r[2]);
    kind = SpanKind::Fill;
    what = "fill";
    break;
  case Record:
    shared.completed[r[1]].store(static_cast<uint32_t>(r[2]), std::memory_order_release);
    shared.events.notify();
    return;
  case Wait:
    shared.events.wait(
        [&] {
          auto done = shared.completed[r[1]].load(std::memory_order_acquire);
          return static_cast<int32_t>(done - static_cast<uint32_t>(r[2])) >= 0;
        },
        *shared.fault);
    return;
  case MarkBegin:
  case MarkEnd:
    recorded.push_back({h.kind == MarkBegin ? SpanKind::Begin : SpanKind::End, "", h.name, begin, begin});
    return;
  case Host:
    reinterpret_cast<void (*)(void *, void *)>(r[1])(pointer<void>(r[2]), const_cast<uint64_t *>(r + 4));
    kind = SpanKind::Host;
    what = pointer<const char>(r[3]);
    break;
  default:
    return;
  }
  if (tracing)
    recorded.push_back({kind, what, h.name, begin, trace::now()});
}

Waiting CpuStream::waiting() const {
  uint64_t count, word, text;
  do {
    count = executed.load(std::memory_order_acquire);
    word = doing.load(std::memory_order_acquire);
    text = kindText.load(std::memory_order_acquire);
  } while (executed.load(std::memory_order_acquire) != count);
  Waiting result;
  result.stream = index;
  result.idle = word == 0;
  if (result.idle)
    return result;
  Head h = std::bit_cast<Head>(word);
  result.name = h.name;
  switch (h.kind) {
  case Launch:
    result.what = "kernel";
    break;
  case Gemm:
    result.what = "gemm";
    break;
  case Copy:
    result.what = "copy";
    break;
  case Fill:
    result.what = "fill";
    break;
  case Wait:
  case Record:
    result.what = (h.kind == Wait ? "wait for event " : "record of event ") + std::to_string(h.name);
    result.name = UINT32_MAX;
    break;
  case Host:
    result.what = pointer<const char>(text);
    break;
  default:
    result.what = "mark";
    break;
  }
  return result;
}

} // namespace hocket::device::cpu
