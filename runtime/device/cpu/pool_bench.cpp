//===- pool_bench.cpp - From which work on does a split pay? ----------------===//
//
// pool_bench [THREADS]: microseconds of a kernel of known length on one thread and split over the pool, with
// the helpers still awake from the call before, and asleep after a pause.  Median of 300 each; the difference
// to a perfect split is what the hand-over costs (kHandOver).
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/pool.h"
#include "runtime/trace/span.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace hocket;
using namespace hocket::device;

namespace {

volatile double sink;

/// Dependent additions: no memory, one rate on every core.
void busy(void **args, int64_t begin, int64_t end) {
  int64_t each = *static_cast<int64_t *>(args[0]);
  double x = 1;
  for (int64_t i = (end - begin) * each; i > 0; --i) {
    x += 1e-9;
    asm volatile("" : "+x"(x));
  }
  sink = x;
}

void pause(int64_t ns) {
  for (int64_t until = trace::now() + ns; trace::now() < until;) {
  }
}

template <class Call>
double median(int64_t pauseNs, Call call) {
  std::vector<double> us;
  for (int i = 0; i < 300; ++i) {
    pause(pauseNs);
    int64_t begin = trace::now();
    call();
    us.push_back(static_cast<double>(trace::now() - begin) * 1e-3);
  }
  std::nth_element(us.begin(), us.begin() + 150, us.end());
  return us[150];
}

} // namespace

int main(int argc, char **argv) {
  uint32_t threads = argc > 1 ? static_cast<uint32_t>(std::atoi(argv[1])) : 2;
  Fault fault;
  cpu::Pool pool(threads, fault);
  std::printf("%u threads\n     alone      awake: split  hand-over     asleep: split  hand-over\n", threads);
  for (int64_t each = 8; each <= 8192; each *= 2) {
    void *args[] = {&each};
    auto alone = [&] { busy(args, 0, 64); };
    auto split = [&] { pool.run(busy, args, 64); };
    double one = median(0, alone), awake = median(0, split), asleep = median(100'000, split);
    std::printf("%8.2f us    %8.2f us   %8.2f us    %8.2f us   %8.2f us\n", one, awake, awake - one / threads,
                asleep, asleep - one / threads);
  }
}
