#include "compiler/planner/require.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

namespace hocket::planner {

bool Requirement::holds(int64_t value) const {
  switch (comparison) {
  case Comparison::Equal:
    return value == values[0];
  case Comparison::NotEqual:
    return value != values[0];
  case Comparison::Less:
    return value < values[0];
  case Comparison::LessEqual:
    return value <= values[0];
  case Comparison::Greater:
    return value > values[0];
  case Comparison::GreaterEqual:
    return value >= values[0];
  case Comparison::In:
    return std::find(values.begin(), values.end(), value) != values.end();
  }
  return false;
}

namespace {

struct Parser {
  StringRef text;
  Loc loc;
  Diagnostics &diags;
  size_t at = 0;

  void skip() {
    while (at < text.size() && isSpace(text[at]))
      ++at;
  }
  /// The part [from, to) of the text; a text that spans lines is marked whole.
  Loc part(size_t from, size_t to) const {
    if (!loc.valid() || loc.line != loc.endLine || loc.endColumn - loc.column != text.size())
      return loc;
    Loc l = loc;
    l.column = loc.column + uint32_t(from);
    l.endColumn = loc.column + uint32_t(std::max(to, from + 1));
    return l;
  }
  std::nullopt_t fail(size_t from, size_t to, const Twine &message) {
    diags.error(part(from, to), message);
    return std::nullopt;
  }
  /// Letters, digits, '_' and '-', with where they begin.
  StringRef word(size_t &from) {
    skip();
    from = at;
    while (at < text.size() && (isAlnum(text[at]) || text[at] == '_' || text[at] == '-'))
      ++at;
    return text.slice(from, at);
  }
  bool take(StringRef what) {
    skip();
    if (!text.substr(at).starts_with(what))
      return false;
    at += what.size();
    return true;
  }

  std::optional<int64_t> value(const Dimension &d) {
    size_t from;
    StringRef w = word(from);
    std::string name(d.name);
    if (d.isNumber()) {
      int64_t number;
      if (w.empty() || w.getAsInteger(10, number) || number < 0)
        return fail(from, at,
                    "'" + name + "' is a number; '" + (w.empty() ? text.substr(from) : w) + "' is not");
      return number;
    }
    SmallVector<StringRef> names;
    for (const NamedValue &v : d.values)
      names.push_back(StringRef(v.name.data(), v.name.size()));
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == w)
        return int64_t(i);
    return fail(from, at,
                "'" + name + "' has no value '" + (w.empty() ? text.substr(from) : w) +
                    "'; legal: " + join(names, ", ") + didYouMean(w, names));
  }

  std::optional<Requirement> run() {
    size_t from;
    StringRef w = word(from);
    Requirement r;
    r.loc = loc;
    r.text = text.trim().str();
    r.dimension = dimension(std::string_view(w.data(), w.size()));
    if (!r.dimension) {
      SmallVector<StringRef> names;
      for (const Dimension &d : dimensions())
        names.push_back(StringRef(d.name.data(), d.name.size()));
      if (w.empty())
        return fail(from, from + 1, "a requirement begins with a name: \"tensor <= 8\"");
      return fail(from, at,
                  "no dimension is called '" + w + "'; there are " + join(names, ", ") +
                      didYouMean(w, names));
    }
    skip();
    size_t op = at;
    if (take("in")) {
      r.comparison = Comparison::In;
      if (!take("{"))
        return fail(op, at, "'in' is followed by a set: {1, 2, 4}");
      do {
        std::optional<int64_t> v = value(*r.dimension);
        if (!v)
          return std::nullopt;
        r.values.push_back(*v);
      } while (take(","));
      if (!take("}"))
        return fail(at, at + 1, "a set ends with '}'");
    } else {
      static constexpr std::pair<StringRef, Comparison> kOps[] = {
          {"!=", Comparison::NotEqual}, {"<=", Comparison::LessEqual}, {">=", Comparison::GreaterEqual},
          {"=", Comparison::Equal},     {"<", Comparison::Less},       {">", Comparison::Greater}};
      bool found = false;
      for (auto [spelling, comparison] : kOps)
        if (!found && take(spelling))
          r.comparison = comparison, found = true;
      if (!found)
        return fail(op, op + 1, "after '" + w + "' comes one of = != < <= > >= in");
      if (!r.dimension->isNumber() && r.comparison != Comparison::Equal &&
          r.comparison != Comparison::NotEqual)
        return fail(op, at, "'" + w + "' has names for values: only =, != and in compare them");
      std::optional<int64_t> v = value(*r.dimension);
      if (!v)
        return std::nullopt;
      r.values.push_back(*v);
    }
    skip();
    if (at != text.size())
      return fail(at, text.size(), "a requirement ends here; one string each");
    return r;
  }
};

} // namespace

std::optional<Requirement> parseRequirement(StringRef text, Loc loc, Diagnostics &diags) {
  return Parser{text, loc, diags}.run();
}

std::vector<size_t> conflict(size_t requirements, ArrayRef<uint64_t> broken) {
  uint64_t kept = requirements >= 64 ? ~uint64_t(0) : (uint64_t(1) << requirements) - 1;
  auto unmet = [&](uint64_t set) { return all_of(broken, [&](uint64_t b) { return (b & set) != 0; }); };
  if (!unmet(kept))
    return {};
  for (size_t r = requirements; r-- > 0;)
    if (uint64_t without = kept & ~(uint64_t(1) << r); unmet(without))
      kept = without;
  std::vector<size_t> set;
  for (size_t r = 0; r < requirements; ++r)
    if (kept >> r & 1)
      set.push_back(r);
  return set;
}

} // namespace hocket::planner
