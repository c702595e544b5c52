//===- gate.h - Sleeping on a condition, and the end of a run ---------------===//
//
// Gate: threads wait for a condition over atomics that others change; a short
// spin, then a futex.  Fault: the first failure of a run, which ends every wait.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace hocket::device {

/// First failure of a run.  Every waiting thread of the run polls it.
class Fault {
public:
  bool raised() const noexcept { return flag.load(std::memory_order_acquire); }
  /// Keeps the first; later ones follow from it.
  void raise(int exitCode, std::string text);
  /// Throws the Error that was raised, if any.
  void check() const;

private:
  std::atomic<bool> flag{false};
  mutable std::mutex mutex;
  int code = 0;
  std::string message;
};

namespace detail {
void futexWait(std::atomic<uint32_t> &word, uint32_t expected, int64_t timeoutNs) noexcept;
void futexWake(std::atomic<uint32_t> &word) noexcept;
inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
/// Spins before sleeping: few, because ranks times streams usually exceed the cores.
int spins() noexcept;
} // namespace detail

/// Waiters: `wait(ready)`.  Others: change the state with release order, then
/// `notify()`.  The pair (sleepers counted, then state read) against (state
/// written, then sleepers read) loses no wake-up: both are read-modify-writes.
class Gate {
public:
  /// True when `ready()`; false when the run failed or `timeoutNs` passed
  /// (negative: none).  `ready` must be safe to call from this thread at any time.
  template <class Ready>
  bool wait(Ready ready, const Fault &fault, int64_t timeoutNs = -1) noexcept {
    for (int i = detail::spins(); i > 0; --i) {
      if (ready())
        return true;
      detail::pause();
    }
    // A sleeper wakes now and then to see a fault raised elsewhere.
    constexpr int64_t kPollNs = 50'000'000;
    int64_t left = timeoutNs;
    for (;;) {
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      uint32_t seen = epoch.load(std::memory_order_seq_cst);
      bool done = ready();
      bool failed = fault.raised();
      if (!done && !failed)
        detail::futexWait(epoch, seen, left >= 0 && left < kPollNs ? left : kPollNs);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
      if (done || ready())
        return true;
      if (failed)
        return false;
      if (timeoutNs >= 0 && (left -= kPollNs) <= 0)
        return false;
    }
  }

  void notify() noexcept {
    if (sleepers.fetch_add(0, std::memory_order_seq_cst) == 0)
      return;
    epoch.fetch_add(1, std::memory_order_seq_cst);
    detail::futexWake(epoch);
  }

private:
  std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};
};

} // namespace hocket::device
