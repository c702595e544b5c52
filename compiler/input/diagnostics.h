//===- diagnostics.h - Located messages about user files --------------------===//
//
// One engine for TOML, JSON, command-line strings and MLIR: takes texts and
// messages with byte ranges into them, gives clang-style output with carets,
// one-line output, or one JSON object a line.  No exceptions, no I/O except
// into the stream given to `print`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace hocket {

// What the process answers; every verb uses these and no others.
constexpr int kExitOk = 0;
constexpr int kExitNo = 1; ///< the answer is "no": infeasible, differs, rejected by the semantic verifier
constexpr int kExitBadInput = 2;     ///< bad input file or usage
constexpr int kExitIncompatible = 3; ///< plan, version or hardware
constexpr int kExitRuntime = 4;      ///< run-time failure or I/O
constexpr int kExitInternal = 70;    ///< our bug

/// A range in a source.  Lines and columns count from 1, columns in bytes;
/// the end is exclusive.  file < 0: no location.
struct Loc {
  int32_t file = -1;
  uint32_t line = 0, column = 0, endLine = 0, endColumn = 0;
  bool valid() const { return file >= 0; }
};

enum class MessageFormat { Human, Short, Json };
enum class ColorMode { Auto, Always, Never };

/// Colour for one stream: off unless it is a terminal; NO_COLOR (non-empty) and
/// TERM=dumb turn it off; an explicit mode wins.
bool useColor(ColorMode mode, int fileDescriptor);

class Diagnostics {
public:
  enum class Severity { Error, Warning, Note };
  struct Message {
    Severity severity = Severity::Error;
    std::string text;
    Loc loc;
  };
  struct Diagnostic {
    Message main;
    std::vector<Message> notes;
    std::string help; ///< what to do about it; printed as "hint: ", "" where there is nothing to say
  };

  /// Attaches notes and help to the diagnostic just made; does nothing past the limit.
  class Builder {
  public:
    Builder(Diagnostics &diags, bool live) : diags(diags), live(live) {}
    Builder &note(Loc loc, const llvm::Twine &text);
    Builder &note(const llvm::Twine &text) { return note(Loc{}, text); }
    Builder &help(const llvm::Twine &text);

  private:
    Diagnostics &diags;
    bool live;
  };

  /// A text that messages can point into; `name` is what the user typed.
  /// `isFile` texts are listed in depfiles.
  int32_t addSource(std::string name, std::string text, bool isFile = false);
  llvm::StringRef text(int32_t file) const { return sources[file].text; }
  llvm::StringRef name(int32_t file) const { return sources[file].name; }
  /// Names of all files read so far, in order of reading, each once.
  std::vector<std::string> filesRead() const;
  /// The source called `name`, or -1.
  int32_t find(llvm::StringRef name) const;

  /// Location of the byte range [begin, end) of a source.
  Loc at(int32_t file, size_t begin, size_t end) const;
  /// Location from lines and columns counted in code points, as toml++ counts.
  Loc fromCodePoints(int32_t file, uint32_t line, uint32_t column, uint32_t endLine,
                     uint32_t endColumn) const;
  /// The text under a location, first line only.
  llvm::StringRef spelling(Loc loc) const;
  /// "file:line:column", for use inside other text.
  std::string describe(Loc loc) const;

  Builder error(Loc loc, const llvm::Twine &text, int exitCode = kExitBadInput);
  Builder error(const llvm::Twine &text, int exitCode = kExitBadInput) {
    return error(Loc{}, text, exitCode);
  }
  Builder warning(Loc loc, const llvm::Twine &text);

  bool failed() const { return errorCount > 0; }
  size_t errors() const { return errorCount; }
  /// Exit code of the first error, kExitOk if there was none.
  int exitCode() const { return firstExitCode; }
  const std::vector<Diagnostic> &diagnostics() const { return list; }

  /// Prints what was not printed yet.
  void print(llvm::raw_ostream &os, MessageFormat format, bool color);
  /// What `--json` prints instead of an answer: one JSON document with `code`, the exit code, and
  /// every message, printed before or not.
  void printErrorDocument(llvm::raw_ostream &os, int code) const;
  /// The same as print into a string, without colour (tests).
  std::string str(MessageFormat format = MessageFormat::Human);

  /// Errors kept and printed; the rest is counted.
  static constexpr size_t kErrorLimit = 20;

private:
  struct Source {
    std::string name, text;
    bool isFile = false;
    std::vector<uint32_t> lineStarts;
  };
  /// A location of another engine's sources counts as none.
  bool known(Loc loc) const { return loc.valid() && static_cast<size_t>(loc.file) < sources.size(); }
  llvm::StringRef line(Loc loc) const;
  llvm::json::Object toJson(const Message &message) const;
  llvm::json::Object toJson(const Diagnostic &diagnostic) const;
  std::string droppedText() const;
  void printMessage(llvm::raw_ostream &os, const Message &message, MessageFormat format, bool color) const;

  std::vector<Source> sources;
  std::vector<Diagnostic> list;
  size_t printed = 0, errorCount = 0, dropped = 0, droppedPrinted = 0;
  int firstExitCode = kExitOk;
};

/// The candidate nearest to `word` by edit distance, or empty when none is
/// within a third of its length (at least 1).
llvm::StringRef nearest(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);
/// "; did you mean 'x'?" or "".
std::string didYouMean(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace hocket
