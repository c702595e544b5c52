// Prints linker options that give the tiny plan's kernels the symbols that the plan declares.
#include "test/unit/runtime/tiny_run.h"

#include <cstdio>

int main() {
  hocket::test::Plan plan = hocket::test::tinyRunPlan();
  auto print = [](const std::string &symbol) {
    std::printf("-Wl,--defsym=%s=%s\n", symbol.c_str(), symbol.substr(0, symbol.rfind('_')).c_str());
  };
  for (const auto &kernel : plan.kernels)
    print(kernel.symbol);
  for (const auto &gemm : plan.gemms)
    print(gemm.symbol);
}
