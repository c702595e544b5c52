//===- container.h - The plan file's prefix and section rules ---------------===//
//
// What reader and writer share, and nothing else.  All integers little-endian.
//
//   0  magic[8]           16  total length        40  required features
//   8  major, minor u16   24  index offset (64)   48  XXH3-128, canonical form
//  12  reserved u32 (0)   32  index length
//
// The checksum covers bytes [0, 48) and [64, total), that is all but itself.
// Behind the prefix: index, instructions, operands, list entries, code, each
// at a multiple of 64 with zero bytes between.  These 64 bytes keep their form
// in every future version, so that any reader can say what it was given.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace hocket::format {

static_assert(std::endian::native == std::endian::little, "records are used as they lie in the file");

inline constexpr std::array<uint8_t, 8> kMagic = {'H', 'O', 'C', 'K', 'E', 'T', 'P', 'L'};
inline constexpr uint64_t kPrefixBytes = 64, kChecksumOffset = 48, kAlignment = 64;
/// Features this build understands; a plan that requires another is refused.
inline constexpr uint64_t kKnownFeatures = 0;
/// Offsets of FlatBuffers are 31 bits.
inline constexpr uint64_t kMaxIndexBytes = (uint64_t(1) << 31) - 2;

struct Prefix {
  std::array<uint8_t, 8> magic = kMagic;
  uint16_t major = 0, minor = 0;
  uint32_t reserved = 0;
  uint64_t totalLength = 0, indexOffset = kPrefixBytes, indexLength = 0;
  uint64_t features = 0;
  std::array<uint8_t, 16> checksum{};
};
static_assert(sizeof(Prefix) == kPrefixBytes);

/// Checksum of a whole file; bytes [48, 64) do not enter.  Needs size >= 64.
std::array<uint8_t, 16> checksumOf(std::span<const uint8_t> file);

/// Writes the right checksum into a file of at least 64 bytes.
void stamp(std::span<uint8_t> file);

constexpr uint64_t alignUp(uint64_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace hocket::format
