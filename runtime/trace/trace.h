//===- trace.h - Chrome trace of a run --------------------------------------===//
//
// JSON for Perfetto and chrome://tracing: pid = rank, tid = stream, and a process
// of its own, first in the viewer, with a span for each list of the plan that was
// run (a step).  Times in microseconds since the first of these spans began.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/data/file.h"
#include "runtime/trace/span.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hocket::trace {

class TraceFile {
public:
  /// `strings`: Plan::strings.
  TraceFile(const std::string &path, std::vector<std::string> strings);
  /// Names of one track.
  void track(uint32_t rank, uint32_t stream, const std::string &rankName, const std::string &streamName);
  /// Name of the track of lists; `process` is no rank.
  void listTrack(uint32_t process);
  /// A list begins in the file: none of its spans began before it.
  void list(const std::string &name, int64_t begin, int64_t end);
  void add(uint32_t rank, uint32_t stream, std::span<const Span> spans);
  /// What was added stands as a whole trace under the file's name, whatever ends the program later.
  void publish();
  void commit();

private:
  void event(const std::string &text);
  std::string microseconds(int64_t t) const;
  data::OutputFile file;
  const std::vector<std::string> strings;
  bool first = true;
  uint32_t lists = 0; ///< the process of the lists' track
  std::optional<int64_t> origin;
};

/// `text` as a JSON string with its quotes; control characters escaped.
std::string jsonString(const std::string &text);

} // namespace hocket::trace
