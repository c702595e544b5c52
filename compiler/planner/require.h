//===- require.h - What a user demands of a strategy ------------------------===//
//
// One small language, in job.toml (goal.require) and on the command line
// (--require):  NAME OP VALUE  or  NAME in {VALUE, ...}, with OP one of
// = != < <= > >=, NAME a dimension of the space, VALUE a number or one of the
// dimension's names:  "tensor <= 8", "pipeline in {1,2,4}", "recompute = none".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/diagnostics.h"
#include "compiler/planner/dimensions.h"

#include <optional>

namespace hocket::planner {

enum class Comparison : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In };

struct Requirement {
  const Dimension *dimension = nullptr;
  Comparison comparison = Comparison::Equal;
  std::vector<int64_t> values; ///< one, or the set of In
  std::string text;            ///< as written
  Loc loc;

  bool holds(int64_t value) const;
  /// Of a strategy in which its dimension says nothing, always.
  bool holds(const cost::Tactics &tactics) const {
    return !speaks(*dimension, tactics) || holds(dimension->get(tactics));
  }
};

/// Reads `text`, which stands in a source at `loc` (a flag's or a string's
/// inside); errors point at the word that is wrong and say what is legal.
std::optional<Requirement> parseRequirement(llvm::StringRef text, Loc loc, Diagnostics &diags);

/// A smallest-by-inclusion set of requirements that no candidate meets: leaving
/// out any one of it would let a candidate through.  `broken[i]` has bit r set
/// where candidate i breaks requirement r (at most 64 of them).  Empty when some
/// candidate breaks none.
std::vector<size_t> conflict(size_t requirements, llvm::ArrayRef<uint64_t> broken);

} // namespace hocket::planner
