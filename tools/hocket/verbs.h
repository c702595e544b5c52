//===- verbs.h - The verbs that are no compilation --------------------------===//
#pragma once

#include <string>

namespace hocket {

/// Reads and proves a plan; prints the verdict.  Returns the exit code.
int verifyVerb(const std::string &path, bool json);
int versionVerb(bool json);

} // namespace hocket
