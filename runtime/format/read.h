//===- read.h - Bytes to plan -----------------------------------------------===//
//
// Trusts nothing: magic, versions, features, length, checksum, FlatBuffers
// verifier, bounds of every section, every enum.  What the numbers *mean* is
// proved afterwards by runtime/verify; an index is only known to be a number
// here.  No allocation is larger than the file allows.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <optional>
#include <span>

namespace hocket::format {

struct ReadError {
  enum Kind {
    Bad,          ///< not a plan, or damaged: exit 2
    Incompatible, ///< a plan for another version or with unknown features: exit 3
  };
  Kind kind = Bad;
  std::string message;
  int exitCode() const { return kind == Incompatible ? 3 : 2; }
};

struct ReadResult {
  std::optional<Plan> plan;
  ReadError error; ///< meaningful when there is no plan
  explicit operator bool() const { return plan.has_value(); }
};

ReadResult read(std::span<const uint8_t> file);

/// Reads a regular file of at most 4 GiB; messages begin with the path.
ReadResult readFile(const std::string &path);

} // namespace hocket::format
