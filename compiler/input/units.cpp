#include "compiler/input/units.h"

#include "compiler/input/diagnostics.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <charconv>
#include <cmath>

using namespace llvm;

namespace hocket {

namespace {

/// value = number * factor / divisor; of the two one is 1 or both are exact, so
/// that "10 us" is the double nearest to 1e-5.
struct Suffix {
  StringRef name;
  double factor;
  double divisor = 1;
};

constexpr Suffix kBytes[] = {{"B", 1},
                             {"kB", 1e3},
                             {"MB", 1e6},
                             {"GB", 1e9},
                             {"TB", 1e12},
                             {"KiB", 1024.0},
                             {"MiB", 1024.0 * 1024},
                             {"GiB", 1024.0 * 1024 * 1024},
                             {"TiB", 1024.0 * 1024 * 1024 * 1024}};
constexpr Suffix kByteRates[] = {{"kB/s", 1e3},           {"MB/s", 1e6},
                                 {"GB/s", 1e9},           {"TB/s", 1e12},
                                 {"KiB/s", 1024.0},       {"MiB/s", 1024.0 * 1024},
                                 {"GiB/s", 1073741824.0}, {"TiB/s", 1099511627776.0},
                                 {"kbit/s", 1e3, 8},      {"Mbit/s", 1e6, 8},
                                 {"Gbit/s", 1e9, 8},      {"Tbit/s", 1e12, 8}};
constexpr Suffix kFlopRates[] = {
    {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18}};
constexpr Suffix kSeconds[] = {{"ns", 1, 1e9}, {"us", 1, 1e6}, {"µs", 1, 1e6}, {"ms", 1, 1e3}, {"s", 1}};
constexpr Suffix kFractions[] = {{"%", 1, 100}};

struct Policy {
  ArrayRef<Suffix> suffixes;
  StringRef example;
  double max;
  StringRef maxText;
  bool zero;
};

Policy policy(Unit unit) {
  switch (unit) {
  case Unit::Bytes:
    return {kBytes, "a size, as in \"16 GiB\"", 1125899906842624.0, "1024 TiB", false};
  case Unit::ByteRate:
    return {kByteRates, "a rate, as in \"10 GB/s\" or \"100 Gbit/s\"", 1e15, "1000 TB/s", false};
  case Unit::FlopRate:
    return {kFlopRates, "a compute rate, as in \"60 GFLOP/s\"", 1e21, "1000 EFLOP/s", false};
  case Unit::Seconds:
    return {kSeconds, "a time, as in \"10 us\"", 1000, "1000 s", true};
  case Unit::Fraction:
    return {kFractions, "a percentage, as in \"6 %\"", 1, "100 %", true};
  }
  return {};
}

} // namespace

StringRef example(Unit unit) { return policy(unit).example; }

std::optional<double> parseQuantity(StringRef text, Unit unit, std::string &why) {
  Policy p = policy(unit);
  StringRef t = text.trim();
  t.consume_front("+");
  double number = 0;
  auto [end, error] = std::from_chars(t.begin(), t.end(), number);
  if (end == t.begin()) {
    why = ("expected " + p.example).str();
    return std::nullopt;
  }
  StringRef suffix = t.substr(static_cast<size_t>(end - t.begin())).trim();
  if (error == std::errc::result_out_of_range || !std::isfinite(number)) {
    why = ("must be finite: expected " + p.example).str();
    return std::nullopt;
  }
  if (suffix.empty()) {
    why = ("the unit is missing: expected " + p.example).str();
    return std::nullopt;
  }
  const Suffix *found = nullptr;
  SmallVector<StringRef> names;
  for (const Suffix &s : p.suffixes) {
    names.push_back(s.name);
    if (s.name == suffix)
      found = &s;
  }
  if (!found) {
    why = ("'" + suffix + "' is not a unit here: expected " + p.example).str();
    if (unit == Unit::ByteRate && suffix.size() == 4 && suffix.ends_with("b/s"))
      why += (" (write '" + suffix.take_front(1) + "bit/s' for bits, '" + suffix.take_front(1) +
              "B/s' for bytes)")
                 .str();
    else
      why += didYouMean(suffix, names);
    return std::nullopt;
  }
  double value = number * found->factor / found->divisor;
  if (value < 0 || (value == 0 && !p.zero)) {
    why = p.zero ? "must not be negative" : "must be above zero";
    return std::nullopt;
  }
  if (value > p.max) {
    why = ("must be at most " + p.maxText).str();
    return std::nullopt;
  }
  return value;
}

std::string withCommas(uint64_t n) {
  std::string s = std::to_string(n);
  for (int i = static_cast<int>(s.size()) - 3; i > 0; i -= 3)
    s.insert(static_cast<size_t>(i), ",");
  return s;
}

} // namespace hocket
