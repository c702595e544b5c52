//===- trace.h - Chrome trace of a run --------------------------------------===//
//
// JSON for Perfetto and chrome://tracing: pid = rank, tid = stream, times in
// microseconds since the first event of the run.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/data/file.h"
#include "runtime/trace/span.h"

#include <memory>
#include <span>

namespace hocket::trace {

class TraceFile {
public:
  /// `strings`: Plan::strings.
  TraceFile(const std::string &path, std::vector<std::string> strings);
  /// Names of one track.
  void track(uint32_t rank, uint32_t stream, const std::string &rankName, const std::string &streamName);
  void add(uint32_t rank, uint32_t stream, std::span<const Span> spans);
  void commit();

private:
  void event(const std::string &text);
  std::string microseconds(int64_t t);
  data::OutputFile file;
  const std::vector<std::string> strings;
  bool first = true;
  int64_t origin = -1;
};

/// `text` as a JSON string with its quotes; control characters escaped.
std::string jsonString(const std::string &text);

} // namespace hocket::trace
