#include "tools/hocket-run/memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/mman.h>

namespace hocket::run {

uint64_t peakResident() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoull(line.substr(6)) * 1024;
  return 0;
}

uint64_t resident(const std::byte *begin, uint64_t bytes) {
  constexpr uint64_t kPage = 4096, kBlock = 4096;
  unsigned char map[kBlock];
  uint64_t pages = (bytes + kPage - 1) / kPage, count = 0;
  for (uint64_t first = 0; first < pages; first += kBlock) {
    uint64_t n = std::min(kBlock, pages - first);
    // Arenas begin on a page.
    if (mincore(const_cast<std::byte *>(begin) + first * kPage, n * kPage, map) != 0)
      return 0;
    count += static_cast<uint64_t>(std::count_if(map, map + n, [](unsigned char c) { return c & 1; }));
  }
  return count * kPage;
}

} // namespace hocket::run
