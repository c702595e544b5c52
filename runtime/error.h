//===- error.h - Errors of the runtime and their exit codes -----------------===//
//
// Every failure that the runtime reports is an Error with the exit code of the
// command line conventions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <stdexcept>
#include <string>

namespace hocket {

/// Exit codes of the programs; part of their interface.
enum ExitCode : int {
  kExitOk = 0,
  kExitNo = 1,           ///< the answer is "no": a plan rejected by the verifier
  kExitBadInput = 2,     ///< bad input file or usage
  kExitIncompatible = 3, ///< other CPU, other library, other format version
  kExitRunTime = 4,      ///< run-time or I/O failure
  kExitBug = 70,
  kExitInterrupt = 130,
  kExitTerminate = 143,
};

class Error : public std::runtime_error {
public:
  Error(int code, const std::string &message) : std::runtime_error(message), exitCode(code) {}
  int code() const { return exitCode; }

private:
  int exitCode;
};

} // namespace hocket
