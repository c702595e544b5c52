//===- value.h - A parsed TOML or JSON document with locations --------------===//
//
// `parseToml` and `parseJson` take a source and give one tree of values, each
// with its place in the text, so that the readers above need to know neither
// library.  Nesting is at most kMaxDepth: every recursion over a Value is safe.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/diagnostics.h"

#include <optional>

namespace hocket {

struct Member;

struct Value {
  enum class Kind { Null, Bool, Int, Float, String, Array, Table, Date };
  Kind kind = Kind::Null;
  Loc loc;
  bool boolean = false;
  int64_t integer = 0;
  double number = 0; ///< also set for Int
  std::string string;
  std::vector<Value> items;
  std::vector<Member> members; ///< in the order of the text

  bool isNumber() const { return kind == Kind::Int || kind == Kind::Float; }
};

struct Member {
  std::string key;
  Loc keyLoc;
  Value value;
};

/// "a string", "an integer", …
llvm::StringRef kindName(Value::Kind kind);

inline constexpr unsigned kMaxDepth = 256;
inline constexpr size_t kMaxTextBytes = 64u << 20;

/// Reads a text file (or "-", standard input): regular files only, at most
/// kMaxTextBytes, no NUL bytes.  Gives its source number, or nothing and an error.
std::optional<int32_t> loadText(const std::string &path, Diagnostics &diags, Loc askedBy = {});

/// A whole document, which is a Table; nothing and located errors otherwise.
std::optional<Value> parseToml(int32_t source, Diagnostics &diags);
std::optional<Value> parseJson(int32_t source, Diagnostics &diags);

} // namespace hocket
