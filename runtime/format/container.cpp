//===- container.cpp - Checksum of a plan file ------------------------------===//

#include "runtime/format/container.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hocket::format {

std::array<uint8_t, 16> checksumOf(std::span<const uint8_t> file) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, file.data(), kChecksumOffset);
  XXH3_128bits_update(&state, file.data() + kPrefixBytes, file.size() - kPrefixBytes);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  std::array<uint8_t, 16> out;
  static_assert(sizeof(canonical) == sizeof(out));
  std::memcpy(out.data(), &canonical, sizeof(out));
  return out;
}

void stamp(std::span<uint8_t> file) {
  std::array<uint8_t, 16> sum = checksumOf(file);
  std::memcpy(file.data() + kChecksumOffset, sum.data(), sum.size());
}

} // namespace hocket::format
