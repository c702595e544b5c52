#include "compiler/input/host_tables.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace llvm;

namespace hocket {

std::vector<std::string> shippedClusters(const std::string &shippedDir) {
  std::vector<std::string> shipped;
  std::error_code ec;
  for (sys::fs::directory_iterator it(shippedDir, ec), end; !ec && it != end; it.increment(ec))
    if (sys::path::extension(it->path()) == ".toml")
      shipped.push_back(sys::path::stem(it->path()).str());
  std::sort(shipped.begin(), shipped.end());
  return shipped;
}

std::optional<Cluster> openCluster(const std::string &spec, const std::string &shippedDir,
                                   Diagnostics &diags) {
  StringRef text = spec;
  if (text == "-" || text.contains('/') || text.ends_with(".toml") || sys::fs::is_regular_file(text)) {
    std::optional<int32_t> source = loadText(spec, diags);
    return source ? readCluster(*source, diags, 0, {}, libraryBeside(shippedDir)) : std::nullopt;
  }

  int32_t flag = diags.addSource("--cluster", spec);
  auto [name, count] = text.split(':');
  Loc nameLoc = diags.at(flag, 0, name.size());
  int64_t hosts = 0;
  Loc hostsLoc = diags.at(flag, name.size() + 1, text.size());
  if (text.contains(':') && (count.getAsInteger(10, hosts) || hosts < 1 || hosts > kMaxRanks)) {
    diags.error(hostsLoc, "the number of hosts must be from 1 to " + Twine(kMaxRanks));
    return std::nullopt;
  }
  bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  SmallString<256> path(shippedDir);
  sys::path::append(path, name + ".toml");
  if (plain && sys::fs::is_regular_file(path)) {
    std::optional<int32_t> source = loadText(path.str().str(), diags);
    return source ? readCluster(*source, diags, hosts, hostsLoc, libraryBeside(shippedDir)) : std::nullopt;
  }
  std::optional<Library> library = readLibrary(libraryBeside(shippedDir), diags);
  if (!library)
    return std::nullopt;
  if (const LibraryHost *host = library->host(name))
    return libraryCluster(*host, hosts ? hosts : 1, nameLoc, hosts ? hostsLoc : nameLoc, diags);

  std::vector<std::string> shipped = shippedClusters(shippedDir);
  std::string list = join(shipped, ", ");
  std::vector<std::string> all = library->hostNames();
  all.insert(all.begin(), shipped.begin(), shipped.end());
  diags
      .error(nameLoc, "there is no file, no shipped cluster and no host type '" + name + "'" +
                          didYouMeanName(name, all))
      .note(list.empty() ? Twine("give the path of a cluster.toml") : Twine("shipped clusters: " + list))
      .note("host types: hocket devices");
  return std::nullopt;
}

std::optional<Cluster> libraryCluster(const LibraryHost &host, int64_t hosts, Loc nameLoc, Loc hostsLoc,
                                      Diagnostics &diags) {
  Cluster c;
  static_cast<HostType &>(c) = host.host;
  c.loc = c.use = c.device.loc = nameLoc;
  c.label = c.name;
  c.hosts = hosts;
  if (c.ranks() > kMaxRanks) {
    diags.error(hostsLoc, Twine(hosts) + " hosts x " + Twine(c.devicesPerHost) +
                              " devices = " + withCommas(static_cast<uint64_t>(c.ranks())) +
                              " ranks; at most " + withCommas(kMaxRanks) + " are possible");
    return std::nullopt;
  }
  addHostLevels(c, c.assumed);
  int64_t left = hosts;
  if (c.islandHosts > 1 && hosts > 1) {
    int64_t inside = std::min(hosts, c.islandHosts);
    if (hosts % inside != 0) {
      diags.error(hostsLoc, Twine(hosts) + " hosts of " + c.name + " do not fill islands of " +
                                Twine(inside) + ": write a multiple, or describe the cluster in a file");
      return std::nullopt;
    }
    IslandLevel level = fabricLevel(c, "nvswitch", c.islandName, std::nullopt, c.assumed);
    level.loc = nameLoc;
    level.count = inside;
    c.assumed.push_back({"rate of fabric '" + level.name + "' for " + c.label, rateText(level.deviceRate),
                         "device " + c.device.name});
    c.levels.push_back(std::move(level));
    left /= inside;
  }
  if (left > 1) {
    if (c.nic.count == 0) {
      diags.error(hostsLoc, "the library gives " + c.name + " no NIC: several cannot be joined");
      return std::nullopt;
    }
    IslandLevel level = fabricLevel(c, c.fabric, "fabric", std::nullopt, c.assumed);
    level.loc = nameLoc;
    level.count = left;
    c.assumed.push_back({"kind of fabric 'fabric'", c.fabric, "library: " + c.name});
    c.assumed.push_back({"oversubscription of fabric 'fabric' for " + c.label, "1", "not given"});
    c.levels.push_back(std::move(level));
  }
  return c;
}

} // namespace hocket
