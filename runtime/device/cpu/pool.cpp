#include "runtime/device/cpu/pool.h"
#include "runtime/device/allocations.h"

#include <chrono>

namespace hocket::device::cpu {

Pool::Pool(uint32_t count, const Fault &f) : fault(f), threads(count < 1 ? 1 : count) {
  for (uint32_t i = 1; i < threads; ++i)
    helpers.emplace_back([this, i] {
      allocations::ourThread = true;
      help(i);
    });
}

Pool::~Pool() {
  stop.store(true, std::memory_order_release);
  start.notify();
  for (std::thread &t : helpers)
    t.join();
}

void Pool::chunk(uint32_t part) noexcept {
  // 128 bits: work * threads may pass 2^63.
  auto at = [&](uint32_t i) { return static_cast<int64_t>(static_cast<__int128>(work) * i / threads); };
  int64_t begin = at(part), end = at(part + 1);
  if (begin < end)
    kernel(args, begin, end);
}

void Pool::run(KernelFunction k, void **a, int64_t w) noexcept {
  if (threads == 1 || w < 2 || busy.exchange(true, std::memory_order_acquire)) {
    k(a, 0, w);
    return;
  }
  kernel = k;
  args = a;
  work = w;
  running.store(threads - 1, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  start.notify();
  chunk(0);
  // Helpers always finish: a kernel ends by itself, so a fault elsewhere must not leave early.
  while (!done.wait([&] { return running.load(std::memory_order_acquire) == 0; }, fault)) {
  }
  busy.store(false, std::memory_order_release);
}

void Pool::help(uint32_t helper) noexcept {
  uint32_t seen = 0;
  for (;;) {
    auto ready = [&] {
      return generation.load(std::memory_order_acquire) != seen || stop.load(std::memory_order_acquire);
    };
    // After a fault waits return at once: rest until the run is taken down.
    while (!start.wait(ready, fault))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (generation.load(std::memory_order_acquire) == seen)
      return;
    ++seen;
    chunk(helper);
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      done.notify();
  }
}

} // namespace hocket::device::cpu
