//===- output_file.h - Outputs appear whole or not at all -------------------===//
#pragma once

#include "compiler/input/diagnostics.h"

namespace hocket {

/// Writes `bytes` to a temporary name beside `path`, syncs and renames it.
/// "-" is standard output; a path that exists and is no regular file
/// (/dev/stdout, a pipe) is written directly.  Failures are kExitRuntime
/// errors and leave nothing behind; so do signals.
bool writeOutput(const std::string &path, llvm::StringRef bytes, Diagnostics &diags);

struct Output {
  std::string path;
  llvm::StringRef bytes;
};

/// Several files that belong together: all are written beside their names
/// before the first is renamed, so that a full disk leaves none of them.
bool writeOutputs(llvm::ArrayRef<Output> outputs, Diagnostics &diags);

/// Writes a gcc -M rule: "target: file file".  An unchanged file is not touched.
bool writeDepfile(const std::string &path, llvm::StringRef target, llvm::ArrayRef<std::string> files,
                  Diagnostics &diags);

} // namespace hocket
