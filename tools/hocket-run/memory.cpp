#include "tools/hocket-run/memory.h"

#include <fstream>
#include <string>

namespace hocket::run {

uint64_t peakResident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoull(line.substr(6)) * 1024;
  return 0;
}

} // namespace hocket::run
