#include "runtime/device/cpu/arena.h"

#include "runtime/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>

namespace hocket::device::cpu {

static constexpr uint64_t kHuge = uint64_t(2) << 20;

Arena::Arena(uint64_t bytes) : length(bytes) {
  if (bytes > (uint64_t(1) << 46))
    throw Error(kExitRunTime, "an arena of " + std::to_string(bytes) + " bytes is beyond the address space");
  // Address space only; pages come when touched, so the slack for alignment costs nothing.
  mapped = (bytes + 4095) / 4096 * 4096 + kHuge;
  mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    throw Error(kExitRunTime,
                "cannot map an arena of " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  uint64_t address = reinterpret_cast<uint64_t>(mapping);
  start = reinterpret_cast<std::byte *>((address + kHuge - 1) / kHuge * kHuge);
  madvise(start, bytes, MADV_HUGEPAGE);
}

uint64_t Arena::residentBytes() const {
  constexpr uint64_t kPage = 4096, kBlock = 4096;
  unsigned char map[kBlock];
  uint64_t pages = (length + kPage - 1) / kPage, count = 0;
  for (uint64_t first = 0; first < pages; first += kBlock) {
    uint64_t n = std::min(kBlock, pages - first);
    if (mincore(start + first * kPage, n * kPage, map) != 0)
      return 0;
    count += static_cast<uint64_t>(std::count_if(map, map + n, [](unsigned char c) { return c & 1; }));
  }
  return count * kPage;
}

Arena::~Arena() { munmap(mapping, mapped); }

} // namespace hocket::device::cpu
