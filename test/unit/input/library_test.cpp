// The shipped library: every number has a source, and numbers agree with each other.
#include "compiler/input/library.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

#include <set>

using namespace hocket;

namespace {

const Library &shipped() {
  static const Library library = [] {
    Diagnostics d;
    std::optional<Library> read = readLibrary(HOCKET_SOURCE_DIR "/library", d);
    EXPECT_TRUE(read) << d.str();
    return read ? *read : Library();
  }();
  return library;
}

/// Within 3 %: sheets round.
void expectRatio(double a, double b, double ratio, const std::string &name) {
  if (a > 0 && b > 0)
    EXPECT_NEAR(a / b / ratio, 1, 0.03) << name;
}

} // namespace

TEST(Library, EveryKindIsThere) {
  for (const char *name : {"V100", "T4", "A100", "A100-40GB", "H100", "H800", "H20", "H200", "B200", "B300",
                           "GB200", "GB300", "L4", "L40S", "rtx-4090", "mi300x", "EPYC-9654"})
    EXPECT_TRUE(shipped().device(name)) << name;
  for (const char *name :
       {"DGX-A100", "dgx-h100", "HGX-H200", "GB200-tray", "AWS-p4d", "p5.48xlarge", "AWS-p5en", "GCP-a3-high",
        "GCP-a3-mega", "Azure-ND-A100-v4", "Azure-ND-H100-v5", "4090-box", "L4-host", "EPYC-9654-host"})
    EXPECT_TRUE(shipped().host(name)) << name;
  EXPECT_FALSE(shipped().device("H1000"));
  EXPECT_FALSE(shipped().device(""));
}

TEST(Library, NamesAreUnique) {
  std::set<std::string> devices, hosts;
  for (const std::string &n : shipped().deviceNames())
    EXPECT_TRUE(devices.insert(llvm::StringRef(n).lower()).second) << n;
  for (const std::string &n : shipped().hostNames())
    EXPECT_TRUE(hosts.insert(llvm::StringRef(n).lower()).second) << n;
}

TEST(Library, PeaksAgree) {
  for (const LibraryDevice &entry : shipped().devices) {
    const DeviceKind &d = entry.device;
    expectRatio(d.rateFp8, d.rateBf16, 2, d.name + " fp8 / bf16");
    if (d.gpu && d.rateBf16 > 0)
      expectRatio(d.rateBf16, d.rateTf32, 2, d.name + " bf16 / tf32");
    expectRatio(d.rateBf16, d.rateF16, 1, d.name + " bf16 / f16");
    // Narrower types are never slower; fp4 is at least twice fp8.
    EXPECT_LE(d.rateF64, d.rateF32) << d.name;
    if (d.rateTf32 > 0)
      EXPECT_LE(d.rateF32, d.rateTf32) << d.name;
    if (d.rateFp4 > 0)
      EXPECT_GE(d.rateFp4, 2 * d.rateFp8) << d.name;
    EXPECT_GT(d.rateF32, 0) << d.name;
    EXPECT_GT(d.memoryRate, d.hostRate) << d.name;
    if (d.gpu)
      EXPECT_GE(d.memory, 14LL << 30) << d.name;
  }
}

TEST(Library, RatesArePerDirection) {
  // A link's rate by the generation of its lines, per direction.
  const std::pair<const char *, double> lines[] = {
      {"nvlink2", 25e9}, {"nvlink4", 25e9}, {"nvlink5", 50e9}, {"xgmi", 64e9}};
  const std::pair<const char *, double> hostLinks[] = {
      {"pcie3", 15.75e9}, {"pcie4", 31.5e9}, {"pcie5", 63e9}, {"pcie6", 126e9}, {"nvlink-c2c", 450e9}};
  for (const LibraryDevice &entry : shipped().devices) {
    const DeviceKind &d = entry.device;
    for (auto [kind, rate] : lines)
      if (d.linkKind == kind)
        EXPECT_EQ(d.linkRate, rate * double(d.linkCount)) << d.name;
    if (d.linkKind == "nvlink3") // 25 GB/s on A100, 14.0625 on the GA102 boards
      EXPECT_TRUE(d.linkRate == 25e9 * double(d.linkCount) || d.linkRate == 14.0625e9 * double(d.linkCount))
          << d.name;
    bool known = !d.gpu;
    for (auto [kind, rate] : hostLinks)
      if (d.hostKind == kind) {
        EXPECT_EQ(d.hostRate, rate) << d.name;
        known = true;
      }
    EXPECT_TRUE(known) << d.name << " " << d.hostKind;
  }
}

TEST(Library, HostsAreComplete) {
  for (const LibraryHost &entry : shipped().hosts) {
    const HostType &h = entry.host;
    EXPECT_GT(h.link.rate, 0) << h.name;
    EXPECT_GT(h.nic.count, 0) << h.name;
    EXPECT_GT(h.nic.latency, 0) << h.name;
    EXPECT_GT(h.hostMemory, 0) << h.name;
    if (h.link.kind == "nvswitch" || h.link.kind == "mesh")
      EXPECT_EQ(h.link.rate, h.device.linkRate) << h.name;
    if (h.fabric == "rail")
      EXPECT_TRUE(h.devicesPerHost % h.nic.count == 0 || h.nic.count % h.devicesPerHost == 0) << h.name;
    // A network is slower than the links inside.
    EXPECT_LT(h.nic.rate * double(h.nic.count) / double(h.devicesPerHost), h.link.rate) << h.name;
  }
}

TEST(Library, KnownNumbers) {
  const DeviceKind &h800 = shipped().device("H800")->device, &b300 = shipped().device("b300")->device;
  EXPECT_EQ(h800.linkRate, 200e9);
  EXPECT_EQ(h800.rateBf16, 989.4e12);
  EXPECT_EQ(b300.rateFp4, 13.5e15);
  EXPECT_EQ(shipped().device("GB300")->device.rateFp4, 15e15);
  EXPECT_EQ(shipped().device("A100")->device.rateBf16, 312e12);
  EXPECT_EQ(shipped().device("A100")->device.linkRate, 300e9);
  EXPECT_EQ(shipped().device("V100")->device.rateBf16, 0);
  EXPECT_EQ(shipped().device("V100")->device.rateF16, 125e12);
  EXPECT_EQ(shipped().host("gb200-tray")->host.islandHosts, 18);
}

TEST(Library, SourcesOfNumbers) {
  const LibraryDevice &b300 = *shipped().device("B300");
  // The most exact name goes first.
  EXPECT_NE(b300.sourceOf("rate.fp4")->from, b300.sourceOf("rate.fp8")->from);
  EXPECT_EQ(b300.sourceOf("rate.fp4")->confidence, "medium");
  EXPECT_EQ(b300.sourceOf("rate.fp8"), b300.sourceOf("rate.bf16"));
  EXPECT_EQ(b300.sourceOf("nothing.here"), nullptr);
}
