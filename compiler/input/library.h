//===- library.h - Devices and hosts that files may name --------------------===//
//
// Takes the folder with devices.toml and hosts.toml, gives checked entries in
// the order of the files.  Every number of an entry has a source; an entry
// without one does not load.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/cluster.h"

namespace hocket {

struct LibrarySource {
  std::string of; ///< keys, with blanks between: "rate memory_rate link.rate"
  std::string from;
  std::string confidence; ///< "high", "medium", "low"
};

struct LibraryEntry {
  std::vector<std::string> aliases;
  std::vector<LibrarySource> sources;

  /// The source of a number: the one that names `path` itself, else the one that
  /// names what it stands in ("rate" for "rate.fp4"); null when none does.
  const LibrarySource *sourceOf(llvm::StringRef path) const;
};

struct LibraryDevice : LibraryEntry {
  DeviceKind device;
};

struct LibraryHost : LibraryEntry {
  HostType host;
};

struct Library {
  std::vector<LibraryDevice> devices;
  std::vector<LibraryHost> hosts;

  /// By name or alias, upper and lower case alike; null when there is none.
  const LibraryDevice *device(llvm::StringRef name) const;
  const LibraryHost *host(llvm::StringRef name) const;
  /// Names and aliases, for "did you mean".
  std::vector<std::string> deviceNames() const;
  std::vector<std::string> hostNames() const;
};

std::optional<Library> readLibrary(const std::string &dir, Diagnostics &diags);

/// As didYouMean, where upper and lower case are alike.
std::string didYouMeanName(llvm::StringRef word, llvm::ArrayRef<std::string> names);

/// devices.toml and hosts.toml of the shipped library, which lies beside the shipped clusters.
std::string libraryBeside(const std::string &shippedDir);

} // namespace hocket
