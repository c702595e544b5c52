//===- dimensions.h - Every choice of a strategy, and what executes it ------===//
//
// The one table of the search space's dimensions: their names as users write
// them in strategies and requirements, their values, and whether this
// compiler executes each today.  What is priced and not executed is named to
// the user, never silently left out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/tactics.h"

#include <span>
#include <string>
#include <string_view>

namespace hocket::planner {

/// A value of a dimension that has names; its number is its place in the list.
struct NamedValue {
  std::string_view name;
  bool executable;
};

/// How far down the search tree a dimension is decided.
enum class Decided : uint8_t {
  Mesh,  ///< with the sizes of the axes
  First, ///< with the schedule and how axes are used
  All,   ///< with the state and what is computed again
};

struct Dimension {
  std::string_view name; ///< "tensor", as in strategy.toml
  std::string_view what; ///< one line for people
  /// Empty: a number, of which those up to `executableMost` are executed.
  std::span<const NamedValue> values;
  int64_t executableMost = 0;
  Decided decided = Decided::All;
  int64_t (*get)(const cost::Tactics &) = nullptr;

  bool isNumber() const { return values.empty(); }
  bool executes(int64_t value) const {
    return isNumber() ? value <= executableMost : values[size_t(value)].executable;
  }
  /// "8", "full".
  std::string text(int64_t value) const {
    return isNumber() ? std::to_string(value) : std::string(values[size_t(value)].name);
  }
};

/// In the order in which a strategy is written.
std::span<const Dimension> dimensions();
/// Whether a dimension says anything in a strategy: how sequences' parts meet, only where there are parts.
bool speaks(const Dimension &dimension, const cost::Tactics &tactics);
/// Null if there is none of this name.
const Dimension *dimension(std::string_view name);

/// What of a strategy this compiler does not execute: "context = 2, recompute = full"; "" if all.
std::string notExecuted(const cost::Tactics &tactics);
/// Whether what is decided by then is executed.
bool executes(const cost::Tactics &tactics, Decided decided);

} // namespace hocket::planner
