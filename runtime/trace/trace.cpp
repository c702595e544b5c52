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

/// Nanoseconds in the microseconds of the format.
static std::string decimal(int64_t ns) {
  std::string fraction = std::to_string(ns % 1000);
  return std::to_string(ns / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

std::string TraceFile::microseconds(int64_t t) const { return decimal(t - *origin); }

void TraceFile::track(uint32_t rank, uint32_t stream, const std::string &rankName,
                      const std::string &streamName) {
  std::string head = "{\"ph\":\"M\",\"pid\":" + std::to_string(rank);
  if (stream == 0)
    event(head + ",\"name\":\"process_name\",\"args\":{\"name\":" + jsonString(rankName) + "}}");
  event(head + ",\"tid\":" + std::to_string(stream) +
        ",\"name\":\"thread_name\",\"args\":{\"name\":" + jsonString(streamName) + "}}");
}

void TraceFile::listTrack(uint32_t process) {
  lists = process;
  std::string head = "{\"ph\":\"M\",\"pid\":" + std::to_string(process);
  event(head + ",\"name\":\"process_name\",\"args\":{\"name\":\"steps\"}}");
  event(head + ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":-1}}");
  event(head + ",\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}}");
}

void TraceFile::list(const std::string &name, int64_t begin, int64_t end) {
  if (!origin)
    origin = begin;
  event("{\"ph\":\"X\",\"pid\":" + std::to_string(lists) + ",\"tid\":0,\"cat\":\"step\",\"name\":" +
        jsonString(name) + ",\"ts\":" + microseconds(begin) + ",\"dur\":" + decimal(end - begin) + "}");
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
      event("{\"ph\":\"X\"" + common + ",\"dur\":" + decimal(s.end - s.begin) +
            ",\"args\":{\"op\":" + jsonString(s.what) + "}}");
    }
  }
}

static constexpr std::string_view kEnd = "\n]}\n";

void TraceFile::publish() { file.publish(kEnd); }

void TraceFile::commit() {
  file.write(kEnd);
  file.commit();
}

} // namespace hocket::trace
