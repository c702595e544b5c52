// toml++ is included here and nowhere else.
#define TOML_EXCEPTIONS 0
// toml++ 3.3 without exceptions goes on for a few steps behind an error (bad
// UTF-8 in a key, for one) with assumptions that no longer hold; as hints to
// the optimizer they would be undefined behaviour.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT
#undef TOML_ASSUME
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT(...) static_assert(true)
#define TOML_ASSUME(...) static_assert(true)
#define TOML_ASSERT_ASSUME(...) static_assert(true)
#include <toml++/impl/forward_declarations.h>
// Its generated test for white space calls every other code point of some
// ranges (U+FC3F, for one) impossible; here they are simply no white space.
#pragma push_macro("TOML_UNREACHABLE")
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#pragma pop_macro("TOML_UNREACHABLE")
#include <toml++/toml.h>

#include "compiler/input/value.h"

#include "llvm/Support/ConvertUTF.h"

#include <algorithm>
#include <tuple>

using namespace llvm;

namespace hocket {

namespace {

/// Skips a string that starts at `i` (a quote), as TOML lexes it; gives the
/// offset behind it.  An unclosed single-line string ends with its line, where
/// the parser stops too.
size_t skipString(StringRef s, size_t i) {
  char quote = s[i];
  StringRef triple = quote == '"' ? "\"\"\"" : "'''";
  bool multi = s.substr(i).starts_with(triple);
  i += multi ? 3 : 1;
  while (i < s.size()) {
    if (quote == '"' && s[i] == '\\') {
      i += 2;
    } else if (!multi && (s[i] == quote || s[i] == '\n')) {
      return i + 1;
    } else if (multi && s.substr(i).starts_with(triple)) {
      i += 3;
      // Up to two quotes may stand directly before the closing three.
      for (int extra = 0; extra < 2 && i < s.size() && s[i] == quote; ++extra)
        ++i;
      return i;
    } else {
      ++i;
    }
  }
  return s.size();
}

/// Deepest nesting of one header or one key with its value.  A header and a
/// key below it add up, so this is half of kMaxDepth.
constexpr size_t kMaxOneStatement = kMaxDepth / 2;

/// Offset of the first bracket or dot that nests too deep, or npos.  Dotted
/// keys nest as tables do, and toml++ limits only brackets: its destructors
/// would recurse without bound.  Every dot outside strings counts until the
/// next ',' or line end of its bracket level.
size_t findTooDeep(StringRef s) {
  std::vector<size_t> outer; // depth at which each open bracket began
  size_t depth = 0;
  for (size_t i = 0; i < s.size();) {
    char c = s[i];
    if (c == '"' || c == '\'') {
      i = skipString(s, i);
      continue;
    }
    if (c == '#') {
      while (i < s.size() && s[i] != '\n')
        ++i;
      continue;
    }
    if (c == '[' || c == '{') {
      outer.push_back(depth);
      ++depth;
    } else if ((c == ']' || c == '}') && !outer.empty()) {
      depth = outer.back();
      outer.pop_back();
    } else if (c == '.') {
      ++depth;
    } else if (c == ',' || c == '\n') {
      depth = outer.empty() ? 0 : outer.back() + 1;
    }
    if (depth > kMaxOneStatement)
      return i;
    ++i;
  }
  return StringRef::npos;
}

Loc locate(const Diagnostics &diags, int32_t source, const toml::source_region &r) {
  return diags.fromCodePoints(source, r.begin.line, r.begin.column, r.end.line, r.end.column);
}

Value convert(const toml::node &node, int32_t source, const Diagnostics &diags) {
  Value v;
  v.loc = locate(diags, source, node.source());
  switch (node.type()) {
  case toml::node_type::table: {
    v.kind = Value::Kind::Table;
    for (const auto &[key, child] : *node.as_table()) {
      Member m;
      m.key = std::string(key.str());
      m.keyLoc = locate(diags, source, key.source());
      m.value = convert(child, source, diags);
      v.members.push_back(std::move(m));
    }
    // toml++ sorts by key; messages follow the text.
    std::sort(v.members.begin(), v.members.end(), [](const Member &a, const Member &b) {
      return std::tie(a.keyLoc.line, a.keyLoc.column, a.key) <
             std::tie(b.keyLoc.line, b.keyLoc.column, b.key);
    });
    break;
  }
  case toml::node_type::array:
    v.kind = Value::Kind::Array;
    for (const toml::node &child : *node.as_array())
      v.items.push_back(convert(child, source, diags));
    break;
  case toml::node_type::string:
    v.kind = Value::Kind::String;
    v.string = node.as_string()->get();
    break;
  case toml::node_type::integer:
    v.kind = Value::Kind::Int;
    v.integer = node.as_integer()->get();
    v.number = static_cast<double>(v.integer);
    break;
  case toml::node_type::floating_point:
    v.kind = Value::Kind::Float;
    v.number = node.as_floating_point()->get();
    break;
  case toml::node_type::boolean:
    v.kind = Value::Kind::Bool;
    v.boolean = node.as_boolean()->get();
    break;
  default:
    v.kind = Value::Kind::Date;
    break;
  }
  return v;
}

} // namespace

std::optional<Value> parseToml(int32_t source, Diagnostics &diags) {
  StringRef text = diags.text(source);
  const UTF8 *begin = reinterpret_cast<const UTF8 *>(text.begin()), *bad = begin;
  if (!isLegalUTF8String(&bad, reinterpret_cast<const UTF8 *>(text.end()))) {
    size_t offset = static_cast<size_t>(bad - begin);
    diags.error(diags.at(source, offset, offset + 1), "not valid TOML: the text is not UTF-8");
    return std::nullopt;
  }
  if (size_t deep = findTooDeep(text); deep != StringRef::npos) {
    diags.error(diags.at(source, deep, deep + 1),
                "nested too deep: the limit is " + Twine(kMaxOneStatement) + " levels");
    return std::nullopt;
  }
  toml::parse_result result = toml::parse(std::string_view(text.data(), text.size()));
  if (!result) {
    const toml::parse_error &e = result.error();
    diags.error(locate(diags, source, e.source()),
                "not valid TOML: " + Twine(StringRef(e.description().data(), e.description().size())));
    return std::nullopt;
  }
  return convert(result.table(), source, diags);
}

} // namespace hocket
