#include "compiler/cost/machine_of.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

Cluster open(const std::string &spec) {
  Diagnostics d;
  std::optional<Cluster> c = openCluster(spec, HOCKET_BINARY_DIR "/share/hocket/clusters", d);
  EXPECT_TRUE(c) << d.str();
  return c ? *c : Cluster();
}

double peak(const cost::Machine &m, cost::Precision p) { return m.device.peak[static_cast<size_t>(p)]; }

} // namespace

TEST(MachineOf, RailFabric) {
  cost::Machine m = machineOf(open("dgx-h100-64"));
  EXPECT_EQ(m.device.name, "H100-SXM5-80GB");
  EXPECT_FALSE(m.device.cpu);
  EXPECT_EQ(m.devices, 512);
  EXPECT_EQ(m.devicesPerHost, 8);
  EXPECT_EQ(m.hostMemory, 2e12);
  EXPECT_EQ(m.device.hostRate, 63e9);
  EXPECT_EQ(peak(m, cost::Precision::F16), 989.4e12);
  EXPECT_EQ(peak(m, cost::Precision::Fp8), 1978.9e12);
  EXPECT_EQ(peak(m, cost::Precision::MxFp8), 0);
  EXPECT_EQ(peak(m, cost::Precision::NvFp4), 0);
  ASSERT_EQ(m.levels.size(), 3u);
  EXPECT_EQ(m.levels[0].kind, cost::FabricKind::NvSwitch);
  EXPECT_EQ(m.levels[0].count, 8);
  EXPECT_EQ(m.levels[0].rate, 450e9);
  EXPECT_TRUE(m.levels[0].reduces);
  EXPECT_EQ(m.levels[1].kind, cost::FabricKind::Rail);
  EXPECT_EQ(m.levels[1].count, 32);
  EXPECT_EQ(m.levels[1].rate, 50e9);
  EXPECT_FALSE(m.levels[1].reduces);
  EXPECT_EQ(m.levels[2].kind, cost::FabricKind::Switch);
  EXPECT_EQ(m.levels[2].count, 2);
}

TEST(MachineOf, OneIslandOverHosts) {
  cost::Machine m = machineOf(open("gb200-nvl72"));
  ASSERT_EQ(m.levels.size(), 2u);
  EXPECT_EQ(m.levels[1].kind, cost::FabricKind::NvSwitch);
  EXPECT_EQ(m.levels[1].rate, 900e9);
  EXPECT_EQ(m.levels[1].count, 18);
  EXPECT_EQ(peak(m, cost::Precision::MxFp8), 5e15);
  EXPECT_EQ(peak(m, cost::Precision::NvFp4), 10e15);
}

TEST(MachineOf, EachPoolOfAMixedSite) {
  Cluster c = open("mixed-site");
  cost::Machine a100 = machineOf(c, 0), l4 = machineOf(c, 1);
  EXPECT_EQ(a100.devices, 32);
  EXPECT_FALSE(a100.levels[0].reduces) << "NVLS came with Hopper";
  EXPECT_EQ(l4.devices, 32);
  ASSERT_EQ(l4.levels.size(), 3u);
  EXPECT_EQ(l4.levels[0].kind, cost::FabricKind::Pcie);
  EXPECT_EQ(l4.levels[1].rate, 13e9);
  EXPECT_EQ(l4.levels[2].rate, 12.5e9 / 4);
}

TEST(MachineOf, ALevelOfOneIslandIsNone) {
  EXPECT_EQ(machineOf(open("dgx-h100:1")).levels.size(), 1u);
  cost::Machine single = machineOf(open("single"));
  ASSERT_EQ(single.levels.size(), 1u);
  EXPECT_TRUE(single.device.cpu);
  EXPECT_EQ(peak(single, cost::Precision::F32), 120e9);
}

TEST(MachineOf, OversubscriptionStandsApart) {
  Diagnostics d;
  std::string text =
      "format = 1\npool = [{ host = \"DGX-A100\", hosts = 8 }]\nfabric = [{ name = \"leaf\", joins = 8, "
      "oversubscription = 2.0 }]\n";
  auto c = readCluster(d.addSource("c", text), d, 0, {}, HOCKET_SOURCE_DIR "/library");
  ASSERT_TRUE(c) << d.str();
  cost::Machine m = machineOf(*c);
  EXPECT_EQ(m.levels[1].rate, 25e9);
  EXPECT_EQ(m.levels[1].oversubscription, 2);
  EXPECT_EQ(c->levels[1].rate, 100e9) << "a host's, divided";
}
