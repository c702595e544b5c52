//===- signals.h - SIGINT and SIGTERM ---------------------------------------===//
#pragma once

namespace hocket::run {

/// First signal: stopRequested() becomes its number.  Second: temporary files
/// are removed and the process ends at once with 130 or 143.
void catchSignals();

/// 0, or the number of the signal that came.
int stopRequested();

} // namespace hocket::run
