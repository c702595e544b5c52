#include "compiler/input/table_reader.h"

#include <charconv>
#include <cmath>

using namespace llvm;

namespace hocket {

std::string alternatives(ArrayRef<StringRef> words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i)
      out += i + 1 == words.size() ? " or " : ", ";
    out += ("'" + words[i] + "'").str();
  }
  return out;
}

std::string numberText(double d) {
  char buffer[64];
  auto r = std::to_chars(buffer, buffer + sizeof buffer, d);
  return std::string(buffer, r.ptr);
}

std::optional<int64_t> asInteger(const Value &v, StringRef name, int64_t min, int64_t max,
                                 Diagnostics &diags) {
  if (v.kind != Value::Kind::Int) {
    diags.error(v.loc, "'" + name + "' must be an integer, not " + kindName(v.kind));
    return std::nullopt;
  }
  if (v.integer < min || v.integer > max) {
    diags.error(v.loc, "'" + name + "' is " + Twine(v.integer) + "; it must be from " + Twine(min) + " to " +
                           Twine(max));
    return std::nullopt;
  }
  return v.integer;
}

std::optional<double> asNumber(const Value &v, StringRef name, double min, double max, Diagnostics &diags) {
  if (!v.isNumber()) {
    diags.error(v.loc, "'" + name + "' must be a number, not " + kindName(v.kind));
    return std::nullopt;
  }
  // Written so that nan fails.
  if (!(v.number >= min && v.number <= max)) {
    diags.error(v.loc,
                "'" + name + "' must be finite and from " + numberText(min) + " to " + numberText(max));
    return std::nullopt;
  }
  return v.number;
}

std::optional<double> asQuantity(const Value &v, StringRef name, Unit unit, Diagnostics &diags) {
  if (v.isNumber()) {
    diags.error(v.loc, "'" + name + "' is a bare number; it needs a unit: write " + example(unit));
    return std::nullopt;
  }
  if (v.kind != Value::Kind::String) {
    diags.error(v.loc, "'" + name + "' must be " + example(unit) + ", not " + kindName(v.kind));
    return std::nullopt;
  }
  std::string why;
  std::optional<double> q = parseQuantity(v.string, unit, why);
  if (!q)
    diags.error(v.loc, "'" + name + "': " + why);
  return q;
}

std::optional<std::string> asWord(const Value &v, StringRef name, ArrayRef<StringRef> words,
                                  Diagnostics &diags) {
  if (v.kind != Value::Kind::String) {
    diags.error(v.loc, "'" + name + "' must be " + alternatives(words) + ", not " + kindName(v.kind));
    return std::nullopt;
  }
  for (StringRef w : words)
    if (w == v.string)
      return v.string;
  diags.error(v.loc, "'" + name + "' is '" + v.string + "'; it must be " + alternatives(words) +
                         didYouMean(v.string, words));
  return std::nullopt;
}

const Value *TableReader::find(StringRef key) {
  known.push_back(key);
  for (const Member &m : table.members)
    if (m.key == key)
      return &m.value;
  return nullptr;
}

const Value *TableReader::need(StringRef key) {
  const Value *v = find(key);
  if (!v)
    missing(key);
  return v;
}

const Value *TableReader::typed(StringRef key, Value::Kind kind) {
  const Value *v = find(key);
  if (!v || v->kind == kind)
    return v;
  diags.error(v->loc, "'" + key + "' must be " + kindName(kind) + ", not " + kindName(v->kind));
  return nullptr;
}

std::optional<int64_t> TableReader::integer(StringRef key, int64_t min, int64_t max) {
  const Value *v = find(key);
  return v ? asInteger(*v, key, min, max, diags) : std::nullopt;
}

std::optional<double> TableReader::number(StringRef key, double min, double max) {
  const Value *v = find(key);
  return v ? asNumber(*v, key, min, max, diags) : std::nullopt;
}

std::optional<double> TableReader::quantity(StringRef key, Unit unit) {
  const Value *v = find(key);
  return v ? asQuantity(*v, key, unit, diags) : std::nullopt;
}

std::optional<std::string> TableReader::string(StringRef key) {
  const Value *v = typed(key, Value::Kind::String);
  return v ? std::optional(v->string) : std::nullopt;
}

std::optional<bool> TableReader::boolean(StringRef key) {
  const Value *v = typed(key, Value::Kind::Bool);
  return v ? std::optional(v->boolean) : std::nullopt;
}

const Value *TableReader::subtable(StringRef key) { return typed(key, Value::Kind::Table); }
const Value *TableReader::array(StringRef key) { return typed(key, Value::Kind::Array); }

std::optional<std::string> TableReader::word(StringRef key, ArrayRef<StringRef> words) {
  const Value *v = find(key);
  return v ? asWord(*v, key, words, diags) : std::nullopt;
}

void TableReader::unsupported(StringRef key, const Twine &why) {
  if (find(key))
    diags.error(keyLoc(key), "'" + key + "' is not executable in this version: " + why);
}

void TableReader::format() {
  const Value *v = find("format");
  if (!v)
    diags.error(Loc{table.loc.file, 1, 1, 1, 1}, "'format = 1' is missing at the top of the file");
  else if (v->kind != Value::Kind::Int || v->integer != 1)
    diags.error(v->loc, "'format' must be 1: this version reads no other");
}

void TableReader::missing(StringRef key) { diags.error(table.loc, "'" + key + "' is missing in " + what); }

void TableReader::finish() {
  for (const Member &m : table.members) {
    StringRef key = m.key;
    if (key.starts_with("x-") || llvm::is_contained(known, key))
      continue;
    diags.error(m.keyLoc, "unknown key '" + key + "' in " + what + didYouMean(key, known));
  }
}

Loc TableReader::keyLoc(StringRef key) const {
  for (const Member &m : table.members)
    if (m.key == key)
      return m.keyLoc;
  return table.loc;
}

} // namespace hocket
