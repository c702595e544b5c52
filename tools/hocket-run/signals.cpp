#include "tools/hocket-run/signals.h"

#include "runtime/data/file.h"

#include <atomic>
#include <csignal>
#include <string_view>
#include <unistd.h>

namespace hocket::run {

static std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

static void handle(int signal) {
  // write is safe in a handler; whether anyone reads it does not matter.
  auto say = [](std::string_view text) { [[maybe_unused]] ssize_t n = write(2, text.data(), text.size()); };
  int before = 0;
  if (received.compare_exchange_strong(before, signal)) {
    say("\nhocket-run: stopping after this step; a second signal stops at once, without saving\n");
    return;
  }
  say("hocket-run: stopped at once; nothing was saved\n");
  data::removeTemporaries();
  _exit(128 + signal);
}

void catchSignals() {
  struct sigaction action = {};
  action.sa_handler = handle;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  // A closed pipe or a full file size limit is a failed write, not a death.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
}

int stopRequested() { return received.load(std::memory_order_relaxed); }

} // namespace hocket::run
