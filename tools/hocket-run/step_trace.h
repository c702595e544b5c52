//===- step_trace.h - The steps of a run that are traced --------------------===//
#pragma once

#include "runtime/exec/session.h"
#include "tools/hocket-run/options.h"

namespace hocket::run {

/// --trace: the chosen steps, and the list that failed.  The file is whole after every step, so that nothing
/// is lost by how the run ends.
class StepTrace {
public:
  /// Opens the file; throws Error(4).
  StepTrace(const Options &options, const format::Plan &plan);
  void begin(const exec::Session &session) { session.nameTracks(file); }
  void stepDone(const exec::Session &session, uint64_t step);
  /// Adds the session's last list when that failed.
  void failed(const exec::Session &session);
  /// Ends the file; says what it holds.
  std::string finish();

private:
  const Options &options;
  trace::TraceFile file;
  uint64_t first = 0, last = 0; ///< steps recorded; 0: none
  bool withFailure = false;
};

} // namespace hocket::run
