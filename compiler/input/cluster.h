//===- cluster.h - cluster.toml as plain structs ----------------------------===//
//
// Takes a TOML source (a path, the name of a shipped cluster, or a host type of
// the library with a number of hosts), gives a checked Cluster: pools of equal
// hosts, joined level by level.  Counts, not lists.  Every rate is per
// direction.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/value.h"

#include "llvm/ADT/ArrayRef.h"

namespace hocket {

/// A kind of device.  Rates are dense peaks, 0 where there is no such unit or
/// the file gives none.
struct DeviceKind {
  std::string name;
  Loc loc;
  bool gpu = false;
  std::string arch;      ///< GPU: "sm_90", "gfx942"; may be empty
  std::string isa;       ///< CPU: "x86-64-v3", what the plan is compiled for
  int64_t threads = 1;   ///< CPU: per rank
  int64_t memory = 0;    ///< bytes of one rank's arena
  double rateF32 = 0;    ///< FLOP/s
  double rateF64 = 0;    ///< FLOP/s
  double rateTf32 = 0;   ///< FLOP/s
  double rateF16 = 0;    ///< FLOP/s
  double rateBf16 = 0;   ///< FLOP/s
  double rateFp8 = 0;    ///< FLOP/s
  double rateFp4 = 0;    ///< FLOP/s
  double memoryRate = 0; ///< bytes/s
  int64_t units = 0;     ///< GPU: multiprocessors; 0: not given
  std::string linkKind;  ///< "nvlink4", "xgmi"; empty: devices meet through the host
  double linkRate = 0;   ///< bytes/s, all links of the device together
  int64_t linkCount = 0;
  std::string hostKind; ///< "pcie5"
  double hostRate = 0;  ///< bytes/s to host memory
};

/// The rates of a device by the names that files give them, narrowing.
struct RateName {
  llvm::StringRef name;
  double DeviceKind::*rate;
};
llvm::ArrayRef<RateName> rateNames();

/// One level of joining, from the inside out: level 0 joins the devices of a
/// host (of one PCIe root where roots are told apart), level i joins `count`
/// islands of level i - 1.
struct IslandLevel {
  std::string name;
  Loc loc;
  std::string kind;  ///< "memory", "pcie", "mesh", "nvswitch", "switch", "rail"
  int64_t count = 1; ///< devices (level 0) or islands of the level below; of this pool
  /// bytes/s of one member's link (of one host's from the fabric on), divided
  /// by the oversubscription.
  double rate = 0;
  double latency = 0;          ///< seconds
  double oversubscription = 1; ///< links below over links above
  double deviceRate = 0;       ///< bytes/s of one device's share, not divided by the oversubscription
};

struct HostLink {
  std::string kind; ///< "memory", "pcie", "mesh", "nvswitch"
  Loc loc, rateLoc;
  double rate = 0;            ///< bytes/s of one device
  double latency = -1;        ///< seconds; < 0: not given
  int64_t devicesPerRoot = 0; ///< devices that share a PCIe root's uplink; 0: each has its own
};

struct HostNic {
  Loc loc, rateLoc;
  int64_t count = 0;   ///< 0: none
  double rate = 0;     ///< bytes/s of each
  double latency = -1; ///< seconds; < 0: not given
};

/// A kind of host, from the file or the library.
struct HostType {
  std::string name;
  Loc loc;
  bool fromLibrary = false; ///< the library says it, not the file
  DeviceKind device;
  bool deviceFromLibrary = false;
  int64_t devicesPerHost = 1;
  int64_t hostMemory = 0; ///< bytes; 0: not given
  HostLink link;
  HostNic nic;
  std::string fabric;      ///< what joins several hosts when no file says it: "rail" or "switch"
  std::string islandName;  ///< of the switch that the devices' own links can span hosts with
  int64_t islandHosts = 1; ///< hosts that it can join
};

/// Equal hosts.
struct Pool : HostType {
  std::string label; ///< the pool's own name; the host type's when the file gives none
  int64_t hosts = 1;
  Loc use;              ///< where the file or the command line names the host
  double price = 0;     ///< per device and hour, in `currency`; 0: not given
  std::string currency; ///< "USD"
  std::vector<IslandLevel> levels;

  int64_t ranks() const { return hosts * devicesPerHost; }
};

/// All traffic between two pools through one level shares this rate.
struct PoolCap {
  Loc loc;
  std::string level, a, b; ///< labels
  double rate = 0;         ///< bytes/s, all devices together
};

/// A value that nobody gave.
struct Assumed {
  std::string name, value, source;
};

/// The first pool is the cluster itself, so that code for clusters of one pool,
/// which are all that the compiler executes, reads it directly.
struct Cluster : Pool {
  std::vector<Pool> morePools;
  std::vector<PoolCap> caps;
  std::vector<Assumed> assumed;

  size_t pools() const { return 1 + morePools.size(); }
  const Pool &pool(size_t i) const { return i == 0 ? *this : morePools[i - 1]; }
  Pool &pool(size_t i) { return i == 0 ? *this : morePools[i - 1]; }
  int64_t ranks() const {
    int64_t n = Pool::ranks();
    for (const Pool &p : morePools)
      n += p.ranks();
    return n;
  }
};

/// Most ranks of a cluster or a mesh.
inline constexpr int64_t kMaxRanks = 1 << 20;

/// Reads a source.  `hosts` > 0 replaces the pool's count and, with it, the
/// outermost `joins` (NAME:HOSTS); `hostsLoc` is where the user wrote it.
/// `libraryDir` holds devices.toml and hosts.toml, read only when the file names
/// what it does not define; without one there is no library.
std::optional<Cluster> readCluster(int32_t source, Diagnostics &diags, int64_t hosts = 0, Loc hostsLoc = {},
                                   const std::string &libraryDir = "");

/// `spec` is FILE, NAME[:HOSTS] of a cluster in `shippedDir`, or NAME[:HOSTS] of
/// a host type of the library, which lies beside it in `library`.
std::optional<Cluster> openCluster(const std::string &spec, const std::string &shippedDir,
                                   Diagnostics &diags);

/// Names of the clusters in `shippedDir`, sorted.
std::vector<std::string> shippedClusters(const std::string &shippedDir);

/// What this version can compile a plan for: one pool of CPUs.  Says what
/// it cannot at the place that asks for it (exit code 3).
bool checkExecutable(const Cluster &cluster, Diagnostics &diags);

} // namespace hocket
