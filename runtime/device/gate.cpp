#include "runtime/device/gate.h"

#include "runtime/error.h"

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace hocket::device {

void Fault::raise(int exitCode, std::string text) {
  std::lock_guard lock(mutex);
  if (flag.load(std::memory_order_relaxed))
    return;
  code = exitCode;
  message = std::move(text);
  flag.store(true, std::memory_order_release);
}

void Fault::check() const {
  if (!raised())
    return;
  std::lock_guard lock(mutex);
  throw Error(code, message);
}

namespace detail {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void futexWait(std::atomic<uint32_t> &word, uint32_t expected, int64_t timeoutNs) noexcept {
  timespec t{static_cast<time_t>(timeoutNs / 1'000'000'000), static_cast<long>(timeoutNs % 1'000'000'000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAIT_PRIVATE, expected, &t, nullptr, 0);
}

void futexWake(std::atomic<uint32_t> &word) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

int spins() noexcept {
  // About 2 microseconds on a machine with cores to spare, nothing on one core.
  static const int count = std::thread::hardware_concurrency() > 1 ? 64 : 0;
  return count;
}

} // namespace detail
} // namespace hocket::device
