#include "tools/hocket-run/step_trace.h"

#include <fmt/format.h>

namespace hocket::run {

StepTrace::StepTrace(const Options &o, const format::Plan &plan) : options(o), file(o.trace, plan.strings) {}

void StepTrace::stepDone(const exec::Session &session, uint64_t step) {
  if (step < options.traceFirst || step > options.traceLast)
    return;
  session.writeTrace(file);
  file.publish();
  first = first ? first : step;
  last = step;
}

void StepTrace::failed(const exec::Session &session) {
  if (!session.failed())
    return;
  session.writeTrace(file);
  file.publish();
  withFailure = true;
}

std::string StepTrace::finish() {
  if (!first && !withFailure)
    return fmt::format("no trace: the run ended before step {}", options.traceFirst);
  file.commit();
  std::string held;
  if (first)
    held = fmt::format("{} of {}",
                       first == last ? fmt::format("step {}", first)
                                     : fmt::format("steps {} to {}", first, last),
                       options.steps);
  if (withFailure)
    held += first ? ", and what failed" : "what failed";
  return fmt::format("{} has {}{}", options.trace, held,
                     options.traceDefault ? "; --trace-steps A..B traces others" : "");
}

} // namespace hocket::run
