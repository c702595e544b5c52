//===- units.h - Sizes, rates and times as users write them -----------------===//
//
// One numeric policy for every quantity: finite, above zero (times and
// percentages may be zero), below a sane maximum, with its unit.  Bits and
// bytes are spelled apart.  Inside the code: bytes, bytes/s, FLOP/s, seconds,
// fractions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace hocket {

enum class Unit {
  Bytes,    ///< B, kB, MB, GB, TB, KiB, MiB, GiB, TiB; at most 2^50
  ByteRate, ///< bytes or bits per second; at most 1e15 bytes/s
  FlopRate, ///< FLOP/s up to EFLOP/s; at most 1e21
  Seconds,  ///< ns, us, ms, s; 0 to 1000 s
  Fraction, ///< "6 %": 0 to 100 %
};

/// "a size, as in \"16 GiB\"": for messages.
llvm::StringRef example(Unit unit);

/// The value in base units, or nothing and why not in `why`.
std::optional<double> parseQuantity(llvm::StringRef text, Unit unit, std::string &why);

/// 12345 -> "12,345".
std::string withCommas(uint64_t n);

} // namespace hocket
