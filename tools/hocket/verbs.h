//===- verbs.h - The verbs that are no compilation --------------------------===//
#pragma once

#include <string>

namespace hocket {

/// Reads and proves a plan; prints the verdict.  Returns the exit code.
int verifyVerb(const std::string &path, bool json);
int versionVerb(bool json);
/// The library of devices and hosts beside the shipped clusters: all of it, or the entry called
/// `name` with its sources.
int devicesVerb(const std::string &name, bool json, const std::string &shippedDir);

} // namespace hocket
