// GPUs, pools and fabrics of cluster.toml; test/unit/input/cluster_test.cpp has what CPU clusters need.
#include "compiler/input/cluster.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

const std::string kShipped = HOCKET_SOURCE_DIR "/examples/clusters";
const std::string kLibrary = HOCKET_SOURCE_DIR "/library";

Cluster open(const std::string &spec) {
  Diagnostics d;
  // The library lies beside the shipped clusters only once it is installed.
  std::optional<Cluster> c = openCluster(spec, HOCKET_BINARY_DIR "/share/hocket/clusters", d);
  EXPECT_TRUE(c) << d.str();
  return c ? *c : Cluster();
}

std::string errorOf(const std::string &text) {
  Diagnostics d;
  EXPECT_FALSE(readCluster(d.addSource("c.toml", text), d, 0, {}, kLibrary));
  return d.str();
}

void expectError(const std::string &body, const std::string &message) {
  std::string out = errorOf("format = 1\n" + body);
  EXPECT_NE(out.find(message), std::string::npos) << out;
}

bool assumes(const Cluster &c, const std::string &name, const std::string &value, const std::string &source) {
  return llvm::any_of(
      c.assumed, [&](const Assumed &a) { return a.name == name && a.value == value && a.source == source; });
}

const std::string kL4 = "[host.box]\ndevice = \"L4\"\ndevices = 4\nnic = { rate = \"100 Gbit/s\" }\n";

} // namespace

TEST(Pools, RailFabricOfLibraryHosts) {
  Cluster c = open(kShipped + "/dgx-h100-64.toml");
  EXPECT_EQ(c.pools(), 1u);
  EXPECT_EQ(c.ranks(), 512);
  EXPECT_EQ(c.name, "DGX-H100");
  EXPECT_EQ(c.device.name, "H100-SXM5-80GB");
  EXPECT_TRUE(c.device.gpu);
  EXPECT_EQ(c.device.rateBf16, 989.4e12);
  EXPECT_EQ(c.device.rateFp8, 1978.9e12);
  EXPECT_EQ(c.device.memory, 81559LL << 20);
  EXPECT_EQ(c.hostMemory, 2000000000000);
  EXPECT_EQ(c.price, 2.5);
  EXPECT_EQ(c.currency, "USD");
  ASSERT_EQ(c.levels.size(), 3u);
  EXPECT_EQ(c.levels[0].kind, "nvswitch");
  EXPECT_EQ(c.levels[0].count, 8);
  EXPECT_EQ(c.levels[0].deviceRate, 450e9);
  EXPECT_EQ(c.levels[1].kind, "rail");
  EXPECT_EQ(c.levels[1].count, 32);
  EXPECT_EQ(c.levels[1].rate, 400e9);
  EXPECT_EQ(c.levels[1].deviceRate, 50e9);
  EXPECT_EQ(c.levels[2].count, 2);
  EXPECT_EQ(c.levels[2].oversubscription, 1);
  EXPECT_EQ(c.levels[2].latency, 2.7e-6);
  EXPECT_TRUE(assumes(c, "oversubscription of fabric 'unit' for DGX-H100", "1", "not given"));
  EXPECT_FALSE(assumes(c, "oversubscription of fabric 'spine' for DGX-H100", "1", "not given"));
  EXPECT_TRUE(assumes(c, "rate of the links in DGX-H100", "450 GB/s", "library"));
  EXPECT_TRUE(assumes(c, "rate of the NICs of DGX-H100", "8 x 50 GB/s", "library"));
  EXPECT_TRUE(assumes(c, "latency of fabric 'spine' for DGX-H100", "2.7 us", "library"));
}

TEST(Pools, NvLinkIslandOverHosts) {
  Cluster c = open(kShipped + "/gb200-nvl72.toml");
  EXPECT_EQ(c.ranks(), 72);
  ASSERT_EQ(c.levels.size(), 2u);
  EXPECT_EQ(c.levels[0].count, 4);
  EXPECT_EQ(c.levels[1].kind, "nvswitch");
  EXPECT_EQ(c.levels[1].count, 18);
  EXPECT_EQ(c.levels[1].deviceRate, 900e9);
  EXPECT_EQ(c.levels[1].rate, 3600e9);
  EXPECT_EQ(c.levels[1].latency, 0.6e-6);
  EXPECT_TRUE(assumes(c, "rate of fabric 'nvl72' for GB200-tray", "900 GB/s", "device GB200-186GB"));
}

TEST(Pools, MixedSite) {
  Cluster c = open(kShipped + "/mixed-site.toml");
  ASSERT_EQ(c.pools(), 2u);
  EXPECT_EQ(c.ranks(), 64);
  const Pool &a100 = c.pool(0), &l4 = c.pool(1);
  EXPECT_EQ(a100.label, "a100");
  EXPECT_EQ(a100.name, "HGX-A100-80");
  EXPECT_EQ(a100.ranks(), 32);
  ASSERT_EQ(a100.levels.size(), 2u);
  EXPECT_EQ(a100.levels[1].count, 4);
  EXPECT_EQ(a100.levels[1].deviceRate, 25e9);
  EXPECT_EQ(l4.label, "l4");
  EXPECT_EQ(l4.device.memory, 23034LL << 20);
  EXPECT_EQ(l4.hostMemory, 384LL << 30);
  ASSERT_EQ(l4.levels.size(), 3u);
  // Two roots of two devices: within a root the full rate, between them half.
  EXPECT_EQ(l4.levels[0].name, "root");
  EXPECT_EQ(l4.levels[0].count, 2);
  EXPECT_EQ(l4.levels[0].deviceRate, 26e9);
  EXPECT_EQ(l4.levels[1].name, "host");
  EXPECT_EQ(l4.levels[1].count, 2);
  EXPECT_EQ(l4.levels[1].rate, 26e9);
  EXPECT_EQ(l4.levels[1].deviceRate, 13e9);
  EXPECT_EQ(l4.levels[2].count, 8);
  EXPECT_EQ(l4.levels[2].deviceRate, 12.5e9 / 4);
  EXPECT_EQ(l4.levels[2].latency, 10e-6);
  ASSERT_EQ(c.caps.size(), 1u);
  EXPECT_EQ(c.caps[0].rate, 50e9);
  EXPECT_EQ(c.caps[0].level, "site");
  EXPECT_EQ(c.caps[0].a, "a100");
  EXPECT_EQ(c.caps[0].b, "l4");
}

TEST(Pools, LaptopIsAsBefore) {
  Cluster c = open(kShipped + "/laptop.toml");
  EXPECT_EQ(c.ranks(), 4);
  EXPECT_FALSE(c.device.gpu);
  EXPECT_EQ(c.device.isa, "x86-64-v3");
  EXPECT_EQ(c.device.threads, 1);
  EXPECT_EQ(c.device.memory, 3LL << 30);
  EXPECT_EQ(c.device.rateF32, 60e9);
  EXPECT_EQ(c.device.rateF64, 30e9);
  EXPECT_EQ(c.device.memoryRate, 10e9);
  ASSERT_EQ(c.levels.size(), 1u);
  EXPECT_EQ(c.levels[0].rate, 10e9);
  EXPECT_EQ(c.levels[0].latency, 1e-6);
  EXPECT_TRUE(c.assumed.empty());
  Diagnostics d;
  EXPECT_TRUE(checkExecutable(c, d));
}

TEST(Pools, NameOfALibraryHostNeedsNoFile) {
  Cluster c = open("dgx-h100:8");
  EXPECT_EQ(c.ranks(), 64);
  ASSERT_EQ(c.levels.size(), 2u);
  EXPECT_EQ(c.levels[1].kind, "rail");
  EXPECT_EQ(c.levels[1].count, 8);
  EXPECT_TRUE(assumes(c, "oversubscription of fabric 'fabric' for DGX-H100", "1", "not given"));
  EXPECT_EQ(open("DGX-H100").levels.size(), 1u);
  // Two racks of one NVLink switch each.
  Cluster racks = open("gb200-tray:36");
  ASSERT_EQ(racks.levels.size(), 3u);
  EXPECT_EQ(racks.levels[1].count, 18);
  EXPECT_EQ(racks.levels[2].count, 2);
  EXPECT_EQ(racks.levels[2].deviceRate, 50e9);
  EXPECT_EQ(open("gb200-tray:2").levels.size(), 2u);
  Diagnostics d;
  EXPECT_FALSE(openCluster("gb200-tray:19", HOCKET_BINARY_DIR "/share/hocket/clusters", d));
  EXPECT_NE(d.str().find("--cluster:1:12: error: 19 hosts of GB200-tray do not fill islands of 18"),
            std::string::npos)
      << d.str();
  Diagnostics many;
  EXPECT_FALSE(openCluster("dgx-h100:1048576", HOCKET_BINARY_DIR "/share/hocket/clusters", many));
  EXPECT_NE(many.str().find("8,388,608 ranks; at most 1,048,576 are possible"), std::string::npos);
  // A file of that name goes first: this one has no fabric to stretch.
  EXPECT_EQ(open("laptop").name, "laptop");
}

TEST(Pools, ACpuOfTheLibraryIsExecutable) {
  Cluster c = open("epyc-9654-host:2");
  EXPECT_EQ(c.device.threads, 96);
  EXPECT_EQ(c.device.memory, 384LL << 30);
  EXPECT_TRUE(assumes(c, "latency of the links in EPYC-9654-host", "1 us", "library"));
  Diagnostics d;
  EXPECT_TRUE(checkExecutable(c, d));
}

TEST(Pools, WhatCannotBeCompiledIsRefusedWhereItIsAskedFor) {
  Diagnostics d;
  auto gpu = readCluster(d.addSource("c.toml", "format = 1\npool = [{ host = \"dgx-h100\", hosts = 1 }]\n"),
                         d, 0, {}, kLibrary);
  ASSERT_TRUE(gpu) << d.str();
  EXPECT_FALSE(checkExecutable(*gpu, d));
  EXPECT_EQ(d.exitCode(), kExitIncompatible);
  EXPECT_NE(d.str().find("c.toml:2:18: error: host 'DGX-H100' has GPUs"), std::string::npos);
  Diagnostics mixed;
  std::string text = "format = 1\npool = [{ name = \"a\", host = \"epyc-9654-host\", hosts = 1 }, { name = "
                     "\"b\", host = \"epyc-9654-host\", hosts = 1 }]\n"
                     "fabric = [{ name = \"f\", joins = { a = 1, b = 1 } }]\n";
  auto two = readCluster(mixed.addSource("c.toml", text), mixed, 0, {}, kLibrary);
  ASSERT_TRUE(two) << mixed.str();
  EXPECT_FALSE(checkExecutable(*two, mixed));
  EXPECT_NE(mixed.str().find("clusters of several pools"), std::string::npos);
}

TEST(Pools, ARateOfBothDirections) {
  const std::string pool = "pool = [{ host = \"x\", hosts = 1 }]\n";
  expectError(
      pool +
          "[host.x]\ndevice = \"H100\"\ndevices = 8\nlink = { kind = \"nvswitch\", rate = \"900 GB/s\" }\n",
      "c.toml:6:36: error: 900 GB/s counts both directions; write 450 GB/s");
  expectError(pool + "[host.x]\ndevice = \"H100\"\ndevices = 8\nlink = { kind = \"nvswitch\", rate = \"7200 "
                     "Gbit/s\" }\n",
              "7200 Gbit/s counts both directions; write 3600 Gbit/s");
  expectError(pool +
                  "[host.x]\ndevice = \"L4\"\ndevices = 4\nlink = { kind = \"pcie\", rate = \"63 GB/s\" }\n",
              "63 GB/s counts both directions; write 31.5 GB/s");
  expectError("pool = [{ host = \"GB200-tray\", hosts = 18 }]\nfabric = [{ name = \"n\", joins = 18, kind = "
              "\"nvswitch\", rate = \"1.8 TB/s\" }]\n",
              "1.8 TB/s counts both directions; write 0.9 TB/s");
  expectError(
      "pool = [{ host = \"dgx-h100\", hosts = 1 }]\n[host.dgx-h100]\ndevice = \"H100\"\ndevices = 8\nlink = "
      "{ kind = \"nvswitch\" }\nnic = { count = 8, rate = \"800 Gbit/s\" }\n",
      "800 Gbit/s counts both directions; write 400 Gbit/s");
  expectError(pool +
                  "[host.x]\ndevice = \"H100\"\ndevices = 8\nlink = { kind = \"nvswitch\" }\n[device.H100]\n"
                  "kind = \"gpu\"\nmemory = \"80 GiB\"\nrate = { bf16 = \"989 TFLOP/s\" }\nmemory_rate = "
                  "\"3350 GB/s\"\nlink = { rate = \"900 GB/s\" }\n",
              "900 GB/s counts both directions; write 450 GB/s");
}

TEST(Pools, Names) {
  expectError("pool = [{ host = \"DGX-H10\", hosts = 1 }]\n", "did you mean 'DGX-H100'?");
  expectError("pool = [{ host = \"box\", hosts = 1 }]\n[host.box]\ndevice = \"L5\"\ndevices = 1\n",
              "did you mean 'L4'?");
  expectError("pool = [{ host = \"L4-host\", hosts = 1 }, { host = \"l4-host\", hosts = 1 }]\n",
              "two pools are called 'L4-host': give each a 'name'");
}

TEST(Pools, CountsOfSeveralPools) {
  const std::string pools =
      "pool = [{ name = \"a\", host = \"DGX-H100\", hosts = 4 }, { name = \"b\", host = "
      "\"L4-host\", hosts = 8 }]\n";
  expectError(pools + "fabric = [{ name = \"f\", joins = { a = 4, b = 7 } }]\n",
              "the fabric joins 7 of 8 hosts of pool 'b': hosts 7 to 7 cannot be reached");
  expectError(pools + "fabric = [{ name = \"f\", joins = { a = 4, c = 8 } }]\n", "there is no pool 'c'");
  expectError(pools + "fabric = [{ name = \"f\", joins = { a = 4 } }, { name = \"g\", joins = { b = 8 } }]\n",
              "no level joins pool 'b' with pool 'a': no device of one can reach the other");
  expectError(pools +
                  "fabric = [{ name = \"f\", joins = { a = 2, b = 4 } }, { name = \"g\", joins = { a = 2, "
                  "b = 1 } }]\n",
              "lie in the same islands already: join as many of each");
  expectError(
      pools + "fabric = [{ name = \"f\", joins = { a = 4, b = 8 }, cap = { between = [\"a\", \"a\"], rate "
              "= \"1 GB/s\" } }]\n",
      "two different pools");
  expectError(pools +
                  "fabric = [{ name = \"f\", joins = { a = 4, b = 8 }, cap = { between = [\"a\"], rate = \"1 "
                  "GB/s\" } }]\n",
              "'between' must name two pools");
  expectError(pools +
                  "fabric = [{ name = \"f\", joins = { b = 8 }, cap = { between = [\"a\", \"b\"], rate = \"1 "
                  "GB/s\" } }]\n",
              "fabric 'f' does not join pool 'a'");
  Diagnostics d;
  auto c = readCluster(d.addSource("c", "format = 1\n" + pools +
                                            "fabric = [{ name = \"f\", joins = { a = 2, b = 4 } }, { name = "
                                            "\"g\", joins = 2 }]\n"),
                       d, 0, {}, kLibrary);
  ASSERT_TRUE(c) << d.str();
  EXPECT_EQ(c->pool(1).levels.back().count, 2);
  Diagnostics forced;
  EXPECT_FALSE(readCluster(forced.addSource("c", "format = 1\n" + pools), forced, 4, {}, kLibrary));
  EXPECT_NE(forced.str().find("no single number of hosts"), std::string::npos);
}

TEST(Pools, FabricKinds) {
  expectError("pool = [{ host = \"GB200-tray\", hosts = 36 }]\nfabric = [{ name = \"n\", joins = 36, kind = "
              "\"nvswitch\" }]\n",
              "one NVLink switch joins at most 18 hosts of GB200-tray; this joins 36");
  expectError("pool = [{ host = \"DGX-H100\", hosts = 2 }]\nfabric = [{ name = \"n\", joins = 2, kind = "
              "\"nvswitch\" }]\n",
              "the NVLink switch of DGX-H100 does not leave the host");
  expectError("pool = [{ host = \"L4-host\", hosts = 2 }]\nfabric = [{ name = \"n\", joins = 2, kind = "
              "\"nvswitch\" }]\n",
              "device 'L4' of L4-host has none");
  expectError(
      "pool = [{ host = \"GB200-tray\", hosts = 4 }]\nfabric = [{ name = \"r\", joins = 2, kind = \"rail\" "
      "}, { name = \"n\", joins = 2, kind = \"nvswitch\" }]\n",
      "kind \"nvswitch\" comes before \"rail\"");
  std::string three = kL4;
  three.replace(three.find("rate ="), 6, "count = 3, rate =");
  expectError(
      "pool = [{ host = \"box\", hosts = 2 }]\nfabric = [{ name = \"r\", joins = 2, kind = \"rail\" }]\n" +
          three + "link = { kind = \"pcie\" }\n",
      "box has 4 devices and 3 NICs");
  expectError("pool = [{ host = \"box\", hosts = 1 }]\n" + kL4 + "link = { kind = \"nvswitch\" }\n",
              "device 'L4' has no links of its own to join by 'nvswitch'");
  expectError("pool = [{ host = \"box\", hosts = 1 }]\n" + kL4 +
                  "link = { kind = \"pcie\", devices_per_root = 3 }\n",
              "'devices_per_root' is 3; it must divide the host's 4 devices");
  expectError("pool = [{ host = \"box\", hosts = 1 }]\n" + kL4 +
                  "link = { kind = \"mesh\", rate = \"1 GB/s\", devices_per_root = 2 }\n",
              "only with kind = \"pcie\"");
}

TEST(Pools, Prices) {
  auto price = [](const std::string &text) {
    return "pool = [{ host = \"DGX-H100\", hosts = 1, price = " + text + " }]\n";
  };
  for (const char *bad : {"2.5", "\"2.50\"", "\"2.50 USD\"", "\"2.50 usd/device/h\"", "\"-1 USD/device/h\"",
                          "\"nan USD/device/h\"", "\"1e300 USD/device/h\"", "\"2.50 USD/rack/h\""})
    expectError(price(bad), "'price' must be as in");
  expectError(price("\"0 USD/device/h\""), "'price' must be above 0 and at most 1000000");
  expectError(
      "pool = [{ name = \"a\", host = \"DGX-H100\", hosts = 1, price = \"1 USD/device/h\" }, { name = "
      "\"b\", host = \"L4-host\", hosts = 1, price = \"1 EUR/device/h\" }]\n",
      "prices in EUR and USD cannot be added");
  Diagnostics d;
  auto c = readCluster(d.addSource("c", "format = 1\n" + price("\"20 USD/host/h\"")), d, 0, {}, kLibrary);
  ASSERT_TRUE(c) << d.str();
  EXPECT_EQ(c->price, 2.5);
}
