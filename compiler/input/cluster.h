//===- cluster.h - cluster.toml as plain structs ----------------------------===//
//
// Takes a TOML source (a path, or the name of a shipped cluster with an
// optional number of hosts), gives a checked Cluster: one pool of equal hosts
// with CPU devices, joined level by level.  Counts, not lists.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/value.h"

namespace hocket {

/// A kind of device.  Rates are peaks, 0 where the file gives none.
struct DeviceKind {
  std::string name;
  Loc loc;
  std::string isa;       ///< "x86-64-v3": the CPU that the plan is compiled for
  int64_t threads = 1;   ///< per rank
  int64_t memory = 0;    ///< bytes of one rank's arena
  double rateF32 = 0;    ///< FLOP/s
  double rateF64 = 0;    ///< FLOP/s
  double memoryRate = 0; ///< bytes/s
};

/// One level of joining, from the inside out: level 0 joins the devices of a
/// host, level i joins `count` islands of level i - 1.
struct IslandLevel {
  std::string name;
  Loc loc;
  std::string kind;   ///< "memory", "pcie", "switch", "rail"
  int64_t count = 1;  ///< devices (level 0) or islands of the level below
  double rate = 0;    ///< bytes/s per direction, of one member's link
  double latency = 0; ///< seconds
};

struct Cluster {
  std::string name; ///< the host type's name
  Loc loc;
  DeviceKind device;
  int64_t hosts = 1, devicesPerHost = 1;
  int64_t hostMemory = 0; ///< bytes; 0: not given
  std::vector<IslandLevel> levels;

  int64_t ranks() const { return hosts * devicesPerHost; }
};

/// Most ranks of a cluster or a mesh.
inline constexpr int64_t kMaxRanks = 1 << 20;

/// Reads a source.  `hosts` > 0 replaces the pool's count and, with it, the
/// outermost `joins` (NAME:HOSTS); `hostsLoc` is where the user wrote it.
std::optional<Cluster> readCluster(int32_t source, Diagnostics &diags, int64_t hosts = 0, Loc hostsLoc = {});

/// `spec` is FILE, or NAME[:HOSTS] of a cluster in `shippedDir`.
std::optional<Cluster> openCluster(const std::string &spec, const std::string &shippedDir,
                                   Diagnostics &diags);

} // namespace hocket
