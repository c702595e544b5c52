//===- random.h - Counter-based random numbers ------------------------------===//
#pragma once

#include <cstdint>

namespace hocket::data {

/// One step of SplitMix64 (Steele, Lea, Flood 2014): the output for state x.
/// splitmix(0) = 0xe220a8397b1dcdaf.
constexpr uint64_t splitmix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A 64-bit number for (seed, step, row), the same on every machine.
constexpr uint64_t counterRandom(uint64_t seed, uint64_t step, uint64_t row) {
  return splitmix(splitmix(splitmix(seed) ^ step) ^ row);
}

} // namespace hocket::data
