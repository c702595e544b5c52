#include "runtime/trace/trace.h"

#include <nlohmann/json.hpp>

namespace hocket::trace {

std::string jsonString(const std::string &text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

TraceFile::TraceFile(const std::string &path, std::vector<std::string> s)
    : file(path), strings(std::move(s)) {
  file.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
}

void TraceFile::event(const std::string &text) {
  file.write(first ? "\n" : ",\n");
  file.write(text);
  first = false;
}

std::string TraceFile::microseconds(int64_t t) {
  if (origin < 0)
    origin = t;
  int64_t ns = t - origin;
  // Spans of other streams may have begun a little before the first one written.
  std::string sign = ns < 0 ? "-" : "";
  ns = ns < 0 ? -ns : ns;
  std::string fraction = std::to_string(ns % 1000);
  return sign + std::to_string(ns / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

void TraceFile::track(uint32_t rank, uint32_t stream, const std::string &rankName,
                      const std::string &streamName) {
  std::string head = "{\"ph\":\"M\",\"pid\":" + std::to_string(rank);
  if (stream == 0)
    event(head + ",\"name\":\"process_name\",\"args\":{\"name\":" + jsonString(rankName) + "}}");
  event(head + ",\"tid\":" + std::to_string(stream) +
        ",\"name\":\"thread_name\",\"args\":{\"name\":" + jsonString(streamName) + "}}");
}

static const char *category(SpanKind kind) {
  switch (kind) {
  case SpanKind::Launch:
    return "kernel";
  case SpanKind::Gemm:
    return "gemm";
  case SpanKind::Copy:
  case SpanKind::Fill:
    return "memory";
  case SpanKind::Host:
    return "communication";
  default:
    return "span";
  }
}

void TraceFile::add(uint32_t rank, uint32_t stream, std::span<const Span> spans) {
  std::string track = ",\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(stream);
  for (const Span &s : spans) {
    std::string name = s.name < strings.size() && !strings[s.name].empty() ? strings[s.name] : s.what;
    std::string common = track + ",\"cat\":\"" + category(s.kind) + "\",\"name\":" + jsonString(name) +
                         ",\"ts\":" + microseconds(s.begin);
    if (s.kind == SpanKind::Begin)
      event("{\"ph\":\"B\"" + common + "}");
    else if (s.kind == SpanKind::End)
      event("{\"ph\":\"E\"" + common + "}");
    else {
      std::string duration = std::to_string((s.end - s.begin) % 1000);
      event("{\"ph\":\"X\"" + common + ",\"dur\":" + std::to_string((s.end - s.begin) / 1000) + "." +
            std::string(3 - duration.size(), '0') + duration + ",\"args\":{\"op\":" + jsonString(s.what) +
            "}}");
    }
  }
}

void TraceFile::commit() {
  file.write("\n]}\n");
  file.commit();
}

} // namespace hocket::trace
