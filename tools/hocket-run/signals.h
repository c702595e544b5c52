//===- signals.h - SIGINT, SIGTERM and SIGHUP ---------------------------------------===//
#pragma once

namespace hocket::run {

/// First signal: stopRequested() becomes its number.  Second: temporary files
/// are removed and the process ends at once with 130, 143 or 129.
void catchSignals();

/// 0, or the number of the signal that came.
int stopRequested();

} // namespace hocket::run
