//===- machine.h - Devices and the fabric between them, as numbers ----------===//
//
// Nominal facts only, from the cluster file and the library of devices and
// hosts.  What was measured on them stands in records of constants.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/tactics.h"

#include <string>

namespace hocket::cost {

struct DeviceFacts {
  std::string name;                       ///< "H100-SXM5-80GB"
  double memory = 0;                      ///< bytes that a program sees
  std::array<double, kPrecisions> peak{}; ///< dense FLOP/s; 0: the device has no such unit
  double memoryRate = 0;                  ///< bytes/s
  double hostRate = 0;                    ///< bytes/s to host memory, per direction
  int64_t units = 0;                      ///< multiprocessors; 0: not known
  bool cpu = false;
};

enum class FabricKind : uint8_t {
  Memory,   ///< ranks that share a host's memory
  Pcie,     ///< through the host's root complexes
  Mesh,     ///< direct links between pairs
  NvSwitch, ///< every device at full rate to every other
  Rail,     ///< NIC r of every host meets at switch r
  Switch,   ///< all NICs of a host meet at one switch
};

/// One level of joining from the inside out: level 0 joins `count` devices,
/// level i joins `count` islands of level i - 1.
struct FabricLevel {
  std::string name;
  FabricKind kind = FabricKind::Switch;
  int64_t count = 1;
  double rate = 0;             ///< bytes/s per direction of one *device's* share of its island's links
  double latency = 0;          ///< seconds a message
  double oversubscription = 1; ///< links below over links above
  bool reduces = false;        ///< the switch can sum (NVLS, SHARP)
};

struct Machine {
  DeviceFacts device;
  std::vector<FabricLevel> levels;
  int64_t devices = 1;
  int64_t devicesPerHost = 1;
  double hostMemory = 0; ///< bytes of one host; 0: not known
};

} // namespace hocket::cost
