#include "compiler/input/value.h"

#include <nlohmann/json.hpp>

#include <set>

using namespace llvm;

namespace hocket {

namespace {

/// Builds a Value from SAX events.  nlohmann keeps no positions; as it has
/// checked every token before its event, the place of each token is found by
/// stepping a cursor over the text: white space, ':' and ',' first, then the
/// token.  The parser is iterative, nesting costs no stack.
class Builder {
public:
  using number_integer_t = int64_t;
  using number_unsigned_t = uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  Builder(int32_t source, Diagnostics &diags) : source(source), diags(diags), text(diags.text(source)) {
    if (text.starts_with("\xEF\xBB\xBF"))
      cursor = 3;
  }

  bool null() { return add(Value::Kind::Null, token(4)) != nullptr; }
  bool boolean(bool b) {
    Value *v = add(Value::Kind::Bool, token(b ? 4 : 5));
    v->boolean = b;
    return true;
  }
  bool number_integer(int64_t i) {
    Value *v = add(Value::Kind::Int, numberToken());
    v->integer = i;
    v->number = static_cast<double>(i);
    return true;
  }
  bool number_unsigned(uint64_t u) {
    if (u <= static_cast<uint64_t>(INT64_MAX))
      return number_integer(static_cast<int64_t>(u));
    return number_float(static_cast<double>(u), {});
  }
  bool number_float(double d, const std::string &) {
    add(Value::Kind::Float, numberToken())->number = d;
    return true;
  }
  bool string(std::string &s) {
    add(Value::Kind::String, stringToken())->string = std::move(s);
    return true;
  }
  bool binary(binary_t &) { return false; }
  bool key(std::string &s) {
    pendingKeyLoc = stringToken();
    pendingKey = std::move(s);
    return true;
  }
  bool start_object(std::size_t) { return open(Value::Kind::Table); }
  bool start_array(std::size_t) { return open(Value::Kind::Array); }
  bool end_object() {
    std::set<StringRef> seen;
    for (const Member &m : stack.back()->members)
      if (!seen.insert(m.key).second)
        diags.error(m.keyLoc, "'" + m.key + "' is given twice");
    return close();
  }
  bool end_array() { return close(); }

  bool parse_error(std::size_t position, const std::string &token, const nlohmann::json::exception &e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: <what>"
    StringRef what = e.what();
    what =
        what.contains("column ") ? what.split("column ").second.split(": ").second : what.split("] ").second;
    // `position` bytes were read, the last of them the token's.
    StringRef read = text.take_front(position);
    size_t length = !token.empty() && read.ends_with(token) ? token.size() : std::min<size_t>(position, 1);
    diags.error(diags.at(source, read.size() - length, read.size()), "not valid JSON: " + what);
    return false;
  }

  Value root;

private:
  size_t begin() {
    while (cursor < text.size() && StringRef(" \t\r\n:,").contains(text[cursor]))
      ++cursor;
    return cursor;
  }
  Loc token(size_t length) {
    size_t from = begin();
    cursor += length;
    return diags.at(source, from, cursor);
  }
  Loc numberToken() {
    size_t from = begin();
    while (cursor < text.size() && StringRef("+-.eE0123456789").contains(text[cursor]))
      ++cursor;
    return diags.at(source, from, cursor);
  }
  Loc stringToken() {
    size_t from = begin();
    for (++cursor; cursor < text.size() && text[cursor] != '"'; ++cursor)
      if (text[cursor] == '\\')
        ++cursor;
    ++cursor;
    return diags.at(source, from, cursor);
  }

  Value *add(Value::Kind kind, Loc loc) {
    Value *v = &root;
    if (!stack.empty() && stack.back()->kind == Value::Kind::Table) {
      stack.back()->members.push_back({std::move(pendingKey), pendingKeyLoc, {}});
      v = &stack.back()->members.back().value;
    } else if (!stack.empty()) {
      stack.back()->items.emplace_back();
      v = &stack.back()->items.back();
    }
    v->kind = kind;
    v->loc = loc;
    return v;
  }
  bool open(Value::Kind kind) {
    Loc loc = token(1);
    if (stack.size() >= kMaxDepth) {
      diags.error(loc, "nested too deep: the limit is " + Twine(kMaxDepth) + " levels");
      return false;
    }
    // Pointers stay valid: a container grows only while it is the innermost.
    stack.push_back(add(kind, loc));
    return true;
  }
  bool close() {
    Loc end = token(1);
    stack.back()->loc.endLine = end.endLine;
    stack.back()->loc.endColumn = end.endColumn;
    stack.pop_back();
    return true;
  }

  int32_t source;
  Diagnostics &diags;
  StringRef text;
  size_t cursor = 0;
  std::vector<Value *> stack;
  std::string pendingKey;
  Loc pendingKeyLoc;
};

} // namespace

std::optional<Value> parseJson(int32_t source, Diagnostics &diags) {
  StringRef text = diags.text(source);
  Builder builder(source, diags);
  size_t before = diags.errors();
  bool ok = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!ok || diags.errors() != before)
    return std::nullopt;
  return std::move(builder.root);
}

} // namespace hocket
