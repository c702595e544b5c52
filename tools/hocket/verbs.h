//===- verbs.h - The verbs that are no compilation --------------------------===//
#pragma once

#include "compiler/input/diagnostics.h"

namespace hocket {

/// Bad usage: "error: WHAT" and "hint: HINT" ("" for none) on standard error; with `json` the
/// document of such errors on standard output too. Returns kExitBadInput.
int usageError(const llvm::Twine &what, const llvm::Twine &hint, bool json);

/// Reads and proves a plan; prints the verdict.  Returns the exit code.
int verifyVerb(const std::string &path, bool json);
int versionVerb(bool json);
/// The library of devices and hosts beside the shipped clusters: all of it, or the entry called
/// `name` with its sources.
int devicesVerb(const std::string &name, bool json, const std::string &shippedDir);

} // namespace hocket
