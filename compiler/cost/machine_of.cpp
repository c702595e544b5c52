#include "compiler/cost/machine_of.h"

#include "compiler/input/legal.h"

using namespace llvm;

namespace hocket {

namespace {

cost::FabricKind kindOf(StringRef kind) {
  if (kind == "memory")
    return cost::FabricKind::Memory;
  if (kind == "pcie")
    return cost::FabricKind::Pcie;
  if (kind == "mesh")
    return cost::FabricKind::Mesh;
  if (kind == "nvswitch")
    return cost::FabricKind::NvSwitch;
  return kind == "rail" ? cost::FabricKind::Rail : cost::FabricKind::Switch;
}

/// NVLS came with Hopper's switches.
bool switchSums(const IslandLevel &level, const DeviceKind &device) {
  StringRef arch = device.arch;
  unsigned sm = 0;
  return level.kind == "nvswitch" && arch.consume_front("sm_") && !arch.getAsInteger(10, sm) && sm >= 90;
}

} // namespace

cost::Machine machineOf(const Cluster &cluster, size_t index) {
  const Pool &pool = cluster.pool(index);
  const DeviceKind &d = pool.device;
  cost::Machine m;
  m.device.name = d.name;
  m.device.memory = static_cast<double>(d.memory);
  for (size_t i = 0; i < cost::kPrecisions; ++i)
    m.device.peak[i] = rateOf(d, ComputeType(i));
  m.device.memoryRate = d.memoryRate;
  m.device.units = d.units;
  m.device.hostRate = d.gpu ? d.hostRate : d.memoryRate;
  m.device.cpu = !d.gpu;
  for (const IslandLevel &level : pool.levels) {
    if (level.count == 1 && !m.levels.empty())
      continue;
    cost::FabricLevel out;
    out.name = level.name;
    out.kind = kindOf(level.kind);
    out.count = level.count;
    out.rate = level.deviceRate;
    out.latency = level.latency;
    out.oversubscription = level.oversubscription;
    out.reduces = switchSums(level, d);
    m.levels.push_back(std::move(out));
  }
  m.devices = pool.ranks();
  m.devicesPerHost = pool.devicesPerHost;
  m.hostMemory = static_cast<double>(pool.hostMemory);
  return m;
}

} // namespace hocket
