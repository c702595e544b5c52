#include "compiler/input/diagnostics.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

/// Longest message and longest piece of a source line that is printed, in
/// bytes: a 64 MB line must not become 64 MB of output.
constexpr size_t kMessageLimit = 2000, kLineWindow = 160;

bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Text safe for a terminal: control characters become '?', tabs one space,
/// ill-formed UTF-8 the replacement character.
std::string printable(StringRef text) {
  std::string fixed = json::isUTF8(text) ? text.str() : json::fixUTF8(text);
  for (char &c : fixed) {
    unsigned char u = static_cast<unsigned char>(c);
    if (c == '\t')
      c = ' ';
    else if ((u < 0x20 && c != '\n') || u == 0x7F)
      c = '?';
  }
  return fixed;
}

size_t width(StringRef text) {
  int columns = sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : static_cast<size_t>(columns);
}

StringRef label(Diagnostics::Severity severity) {
  switch (severity) {
  case Diagnostics::Severity::Error:
    return "error";
  case Diagnostics::Severity::Warning:
    return "warning";
  case Diagnostics::Severity::Note:
    return "note";
  }
  return "";
}

std::string clip(const Twine &text) {
  std::string s = text.str();
  if (s.size() > kMessageLimit) {
    size_t cut = kMessageLimit;
    while (cut > 0 && isContinuation(s[cut]))
      --cut;
    s.resize(cut);
    s += "…";
  }
  return s;
}

} // namespace

bool useColor(ColorMode mode, int fileDescriptor) {
  if (mode != ColorMode::Auto)
    return mode == ColorMode::Always;
  const char *noColor = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  if ((noColor && *noColor) || !term || StringRef(term) == "dumb")
    return false;
  return ::isatty(fileDescriptor) == 1;
}

int32_t Diagnostics::addSource(std::string name, std::string text, bool isFile) {
  Source source;
  source.name = std::move(name);
  source.text = std::move(text);
  source.isFile = isFile;
  source.lineStarts.push_back(0);
  for (size_t i = 0; i < source.text.size(); ++i)
    if (source.text[i] == '\n')
      source.lineStarts.push_back(static_cast<uint32_t>(i + 1));
  sources.push_back(std::move(source));
  return static_cast<int32_t>(sources.size() - 1);
}

std::vector<std::string> Diagnostics::filesRead() const {
  std::vector<std::string> files;
  for (const Source &s : sources)
    if (s.isFile && std::find(files.begin(), files.end(), s.name) == files.end())
      files.push_back(s.name);
  return files;
}

int32_t Diagnostics::find(StringRef name) const {
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].name == name)
      return static_cast<int32_t>(i);
  return -1;
}

Loc Diagnostics::at(int32_t file, size_t begin, size_t end) const {
  const Source &s = sources[file];
  auto place = [&](size_t offset, uint32_t &line, uint32_t &column) {
    offset = std::min(offset, s.text.size());
    auto it = std::upper_bound(s.lineStarts.begin(), s.lineStarts.end(), static_cast<uint32_t>(offset)) - 1;
    line = static_cast<uint32_t>(it - s.lineStarts.begin()) + 1;
    column = static_cast<uint32_t>(offset - *it) + 1;
  };
  Loc loc;
  loc.file = file;
  place(begin, loc.line, loc.column);
  place(std::max(begin, end), loc.endLine, loc.endColumn);
  return loc;
}

Loc Diagnostics::fromCodePoints(int32_t file, uint32_t line, uint32_t column, uint32_t endLine,
                                uint32_t endColumn) const {
  const Source &s = sources[file];
  auto offset = [&](uint32_t line, uint32_t column) -> size_t {
    if (line == 0 || line > s.lineStarts.size())
      return s.text.size();
    size_t i = s.lineStarts[line - 1];
    if (line == 1 && StringRef(s.text).starts_with("\xEF\xBB\xBF"))
      i = 3; // toml++ drops the byte order mark before it counts
    for (uint32_t c = 1; c < column && i < s.text.size() && s.text[i] != '\n'; ++c) {
      ++i;
      while (i < s.text.size() && isContinuation(s.text[i]))
        ++i;
    }
    return i;
  };
  size_t begin = offset(line, column);
  return at(file, begin, endLine ? offset(endLine, endColumn) : begin);
}

StringRef Diagnostics::line(Loc loc) const {
  const Source &s = sources[loc.file];
  if (loc.line == 0 || loc.line > s.lineStarts.size())
    return "";
  StringRef rest = StringRef(s.text).substr(s.lineStarts[loc.line - 1]);
  return rest.take_until([](char c) { return c == '\n' || c == '\r'; });
}

StringRef Diagnostics::spelling(Loc loc) const {
  if (!known(loc))
    return "";
  StringRef l = line(loc);
  size_t end = loc.endLine == loc.line ? loc.endColumn - 1 : l.size();
  return l.slice(loc.column - 1, std::max<size_t>(end, loc.column - 1));
}

std::string Diagnostics::describe(Loc loc) const {
  if (!known(loc))
    return "";
  return sources[loc.file].name + ":" + std::to_string(loc.line) + ":" + std::to_string(loc.column);
}

Diagnostics::Builder Diagnostics::error(Loc loc, const Twine &text, int exitCode) {
  if (errorCount++ == 0)
    firstExitCode = exitCode;
  if (errorCount > kErrorLimit) {
    ++dropped;
    return Builder(*this, false);
  }
  list.push_back({{Severity::Error, clip(text), loc}, {}, ""});
  return Builder(*this, true);
}

Diagnostics::Builder Diagnostics::warning(Loc loc, const Twine &text) {
  if (list.size() > 5 * kErrorLimit)
    return Builder(*this, false);
  list.push_back({{Severity::Warning, clip(text), loc}, {}, ""});
  return Builder(*this, true);
}

Diagnostics::Builder &Diagnostics::Builder::note(Loc loc, const Twine &text) {
  if (live)
    diags.list.back().notes.push_back({Severity::Note, clip(text), loc});
  return *this;
}

Diagnostics::Builder &Diagnostics::Builder::help(const Twine &text) {
  if (live)
    diags.list.back().help = clip(text);
  return *this;
}

void Diagnostics::printMessage(raw_ostream &os, const Message &m, MessageFormat format, bool color) const {
  auto paint = [&](raw_ostream::Colors c, bool bold) {
    if (color)
      os.changeColor(c, bold);
  };
  auto plain = [&] {
    if (color)
      os.resetColor();
  };
  if (known(m.loc)) {
    paint(raw_ostream::SAVEDCOLOR, true);
    os << printable(describe(m.loc)) << ": ";
    plain();
  }
  paint(m.severity == Severity::Error     ? raw_ostream::RED
        : m.severity == Severity::Warning ? raw_ostream::MAGENTA
                                          : raw_ostream::CYAN,
        true);
  os << label(m.severity) << ": ";
  plain();
  os << printable(m.text) << '\n';
  if (format != MessageFormat::Human || !known(m.loc))
    return;

  StringRef l = line(m.loc);
  size_t begin = std::min<size_t>(m.loc.column - 1, l.size());
  size_t end = m.loc.endLine == m.loc.line ? m.loc.endColumn - 1 : l.size();
  end = std::clamp<size_t>(end, begin, l.size());
  size_t from = begin > kLineWindow / 2 ? begin - kLineWindow / 2 : 0;
  if (l.size() <= kLineWindow)
    from = 0;
  while (from > 0 && isContinuation(l[from]))
    --from;
  size_t to = std::min(l.size(), from + kLineWindow);
  while (to < l.size() && to > from && isContinuation(l[to]))
    --to;
  end = std::min(end, to);
  std::string before = printable(l.slice(from, begin)), under = printable(l.slice(begin, end));
  os << before << under << printable(l.slice(end, to)) << '\n';
  os.indent(width(before));
  paint(raw_ostream::GREEN, true);
  os << '^' << std::string(std::max<size_t>(width(under), 1) - 1, '~');
  plain();
  os << '\n';
}

json::Object Diagnostics::toJson(const Message &m) const {
  json::Object o{{"severity", label(m.severity)}, {"message", json::fixUTF8(m.text)}};
  if (known(m.loc)) {
    o["file"] = json::fixUTF8(sources[m.loc.file].name);
    o["line"] = m.loc.line;
    o["column"] = m.loc.column;
    o["end_line"] = m.loc.endLine;
    o["end_column"] = m.loc.endColumn;
  }
  return o;
}

json::Object Diagnostics::toJson(const Diagnostic &d) const {
  json::Object o = toJson(d.main);
  json::Array notes;
  for (const Message &n : d.notes)
    notes.push_back(toJson(n));
  o["notes"] = std::move(notes);
  if (!d.help.empty())
    o["help"] = json::fixUTF8(d.help);
  return o;
}

std::string Diagnostics::droppedText() const {
  return std::to_string(dropped) + " more errors not shown (limit " + std::to_string(kErrorLimit) + ")";
}

void Diagnostics::print(raw_ostream &os, MessageFormat format, bool color) {
  for (; printed < list.size(); ++printed) {
    const Diagnostic &d = list[printed];
    if (format == MessageFormat::Json) {
      json::Object o = toJson(d);
      o["format_version"] = "1.0";
      os << json::Value(std::move(o)) << '\n';
      continue;
    }
    printMessage(os, d.main, format, color);
    for (const Message &n : d.notes)
      printMessage(os, n, format, color);
    if (!d.help.empty())
      os << "hint: " << printable(d.help) << '\n';
  }
  if (dropped > droppedPrinted) {
    if (format == MessageFormat::Json)
      os << json::Value(json::Object{{"severity", "note"},
                                     {"message", droppedText()},
                                     {"notes", json::Array()},
                                     {"format_version", "1.0"}})
         << '\n';
    else
      os << "note: " << droppedText() << '\n';
    droppedPrinted = dropped;
  }
}

void Diagnostics::printErrorDocument(raw_ostream &os, int code) const {
  json::Array messages;
  for (const Diagnostic &d : list)
    messages.push_back(toJson(d));
  if (dropped)
    messages.push_back(
        json::Object{{"severity", "note"}, {"message", droppedText()}, {"notes", json::Array()}});
  json::Object error{{"code", code}, {"messages", std::move(messages)}};
  os << json::Value(json::Object{{"format_version", "1.0"}, {"error", std::move(error)}}) << '\n';
}

std::string Diagnostics::str(MessageFormat format) {
  std::string out;
  raw_string_ostream os(out);
  print(os, format, false);
  return out;
}

StringRef nearest(StringRef word, ArrayRef<StringRef> candidates) {
  if (word.size() > 100)
    return "";
  unsigned limit = std::max<unsigned>(1, static_cast<unsigned>(word.size()) / 3), best = limit + 1;
  StringRef found;
  for (StringRef c : candidates) {
    unsigned d = word.edit_distance(c, /*AllowReplacements=*/true, limit);
    if (d < best) {
      best = d;
      found = c;
    }
  }
  return found;
}

std::string didYouMean(StringRef word, ArrayRef<StringRef> candidates) {
  StringRef found = nearest(word, candidates);
  return found.empty() ? std::string() : ("; did you mean '" + found + "'?").str();
}

} // namespace hocket
