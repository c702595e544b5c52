//===- host_tables.h - [device.X], [host.X] and what follows from them ------===//
//
// Shared by the readers of cluster.toml and of the library.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/library.h"
#include "compiler/input/table_reader.h"

namespace hocket {

/// Reads the library when it is first asked for.
class LazyLibrary {
public:
  LazyLibrary(std::string dir, Diagnostics &diags) : dir(std::move(dir)), diags(diags) {}
  /// Null without a folder, or with an error in `diags` when it cannot be read.
  const Library *get();

private:
  std::string dir;
  Diagnostics &diags;
  bool asked = false;
  std::optional<Library> library;
};

/// The keys of [device.X]; `r` is not finished. A CPU of the library has no
/// memory of its own.
void readDeviceTable(TableReader &r, DeviceKind &device, Diagnostics &diags, bool inLibrary);

/// The keys of [host.X] except `device`; `r` is not finished. What is missing is
/// reported by `completeHost`, once the device is known.
void readHostTable(TableReader &r, Loc nameLoc, HostType &host, Diagnostics &diags);

/// Fills the link's rate and a CPU's memory from the device and the host, or
/// reports what is missing. What comes from the library goes into `assumed`.
void completeHost(HostType &host, Diagnostics &diags, std::vector<Assumed> *assumed);

/// Levels inside a host.
void addHostLevels(Pool &pool, std::vector<Assumed> &assumed);

/// The level of `kind` ("nvswitch", "switch", "rail") over `pool`, with latency and rate of its
/// device's links or its NICs; count and name are the caller's.
IslandLevel fabricLevel(const Pool &pool, llvm::StringRef kind, const std::string &name,
                        std::optional<double> latency, std::vector<Assumed> &assumed);

/// Reports "900 GB/s counts both directions" when `value`, written as `text`, is twice what the
/// library says; false then.
bool perDirection(Loc loc, llvm::StringRef text, double value, double libraryRate, llvm::StringRef owner,
                  Diagnostics &diags);

/// "450 GB/s", "2.7 us": for `assumed` and notes.
std::string rateText(double bytesPerSecond);
std::string timeText(double seconds);

/// A cluster of `hosts` hosts of the library that no file describes.
std::optional<Cluster> libraryCluster(const LibraryHost &host, int64_t hosts, Loc nameLoc, Loc hostsLoc,
                                      Diagnostics &diags);

/// Reads 'fabric' into the pools' levels and checks that every host and pool can be reached. Without
/// complete pools it checks each level's keys alone, so that one run shows every error.
void readFabric(Cluster &cluster, const Value *fabric, llvm::ArrayRef<Loc> hostsLocs, int64_t forcedHosts,
                Loc forcedLoc, bool poolsComplete, Diagnostics &diags);

} // namespace hocket
