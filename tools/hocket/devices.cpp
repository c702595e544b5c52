#include "compiler/input/library.h"
#include "compiler/input/table_reader.h"
#include "tools/hocket/verbs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

/// At most one decimal, or three digits below 10; no exponent.
std::string decimal(double d) {
  double scale = d < 10 ? 1000 : 10;
  return numberText(std::round(d * scale) / scale);
}
std::string tera(double rate) { return rate > 0 ? decimal(rate / 1e12) : "-"; }
std::string giga(double rate) { return rate > 0 ? decimal(rate / 1e9) : "-"; }
std::string gib(int64_t bytes) {
  return bytes > 0 ? decimal(std::round(static_cast<double>(bytes) / 1073741824.0 * 10) / 10) : "-";
}
std::string nicText(const HostNic &nic) {
  return nic.count ? std::to_string(nic.count) + " x " + decimal(nic.rate * 8 / 1e9) + " Gbit/s" : "-";
}

using Row = std::vector<std::string>;

void printTable(raw_ostream &os, const std::vector<Row> &rows) {
  std::vector<size_t> width(rows[0].size());
  for (const Row &row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], row[c].size());
  for (const Row &row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      std::string gap(width[c] - row[c].size(), ' ');
      // Names stand left, numbers right.
      bool left = c == 0 || (!isDigit(row[c][0]) && row[c] != "-" && &row != &rows[0]);
      line += (c ? "  " : "") + (left ? row[c] + gap : gap + row[c]);
    }
    os << StringRef(line).rtrim() << "\n";
  }
}

void listDevices(raw_ostream &os, const Library &library) {
  os << "Devices: GiB; memory GB/s; dense peaks in TFLOP/s; links in GB/s per direction\n";
  std::vector<Row> rows = {
      {"device", "memory", "rate", "f64", "f32", "tf32", "16-bit", "fp8", "fp4", "links", "to host"}};
  for (const LibraryDevice &entry : library.devices) {
    const DeviceKind &d = entry.device;
    rows.push_back({d.name, gib(d.memory), giga(d.memoryRate), tera(d.rateF64), tera(d.rateF32),
                    tera(d.rateTf32), tera(d.rateBf16 > 0 ? d.rateBf16 : d.rateF16), tera(d.rateFp8),
                    tera(d.rateFp4), giga(d.linkRate), giga(d.hostRate)});
  }
  printTable(os, rows);
}

void listHosts(raw_ostream &os, const Library &library) {
  os << "\nHosts: --cluster NAME:HOSTS; links and NICs in GB/s per direction and device\n";
  std::vector<Row> rows = {{"host", "devices", "link", "rate", "NICs", "a device", "GiB"}};
  for (const LibraryHost &entry : library.hosts) {
    const HostType &h = entry.host;
    double nics = h.nic.rate * static_cast<double>(h.nic.count) / static_cast<double>(h.devicesPerHost);
    rows.push_back({h.name, std::to_string(h.devicesPerHost) + " x " + h.device.name, h.link.kind,
                    giga(h.link.rate), nicText(h.nic), giga(nics), gib(h.hostMemory)});
  }
  printTable(os, rows);
}

/// One fact with the source that states it.
struct Fact {
  std::string path, value;
};

std::vector<Fact> facts(const DeviceKind &d) {
  std::vector<Fact> out;
  if (!d.gpu)
    out.push_back({"threads", std::to_string(d.threads)});
  if (d.memory)
    out.push_back({"memory", gib(d.memory) + " GiB"});
  for (const RateName &r : rateNames())
    if (d.*r.rate > 0)
      out.push_back({("rate." + r.name).str(), tera(d.*r.rate) + " TFLOP/s"});
  out.push_back({"memory_rate", giga(d.memoryRate) + " GB/s"});
  if (d.units)
    out.push_back({"units", std::to_string(d.units) + " multiprocessors"});
  if (d.linkRate > 0)
    out.push_back(
        {"link.rate", giga(d.linkRate) + " GB/s by " + std::to_string(d.linkCount) + " x " + d.linkKind});
  if (d.hostRate > 0)
    out.push_back({"host_link.rate", giga(d.hostRate) + " GB/s by " + d.hostKind});
  return out;
}

std::vector<Fact> facts(const HostType &h) {
  std::vector<Fact> out = {{"devices", std::to_string(h.devicesPerHost) + " x " + h.device.name}};
  if (h.hostMemory)
    out.push_back({"memory", gib(h.hostMemory) + " GiB"});
  out.push_back({"link.rate", giga(h.link.rate) + " GB/s by " + h.link.kind});
  if (h.link.devicesPerRoot)
    out.push_back({"link.devices_per_root", std::to_string(h.link.devicesPerRoot)});
  if (h.link.latency >= 0)
    out.push_back({"link.latency", decimal(h.link.latency * 1e6) + " us"});
  if (h.nic.count) {
    out.push_back({"nic.rate", nicText(h.nic)});
    if (h.nic.latency >= 0)
      out.push_back({"nic.latency", decimal(h.nic.latency * 1e6) + " us"});
  }
  if (h.islandHosts > 1)
    out.push_back({"island.hosts", std::to_string(h.islandHosts) + " hosts by one NVLink switch"});
  return out;
}

/// "high: NVIDIA H100 datasheet".
std::string sourceText(const LibraryEntry &entry, StringRef path, StringRef device) {
  if (const LibrarySource *s = entry.sourceOf(path))
    return s->confidence + ": " + s->from;
  return "as device " + device.str();
}

void show(raw_ostream &os, StringRef title, const std::string &name, const LibraryEntry &entry,
          const std::vector<Fact> &list, StringRef device) {
  os << title << " " << name << "\n";
  if (!entry.aliases.empty()) {
    os << "also called ";
    ListSeparator comma;
    for (const std::string &a : entry.aliases)
      os << comma << a;
    os << "\n";
  }
  std::vector<Row> rows = {{"fact", "value", "confidence: source"}};
  for (const Fact &f : list)
    rows.push_back({f.path, f.value, sourceText(entry, f.path, device)});
  size_t path = 0, value = 0;
  for (const Row &r : rows) {
    path = std::max(path, r[0].size());
    value = std::max(value, r[1].size());
  }
  for (const Row &r : rows)
    os << left_justify(r[0], unsigned(path)) << "  " << left_justify(r[1], unsigned(value)) << "  " << r[2]
       << "\n";
}

json::Array sourcesJson(const LibraryEntry &entry) {
  json::Array out;
  for (const LibrarySource &s : entry.sources)
    out.push_back(json::Object{{"of", s.of}, {"from", s.from}, {"confidence", s.confidence}});
  return out;
}

json::Value deviceJson(const LibraryDevice &entry) {
  const DeviceKind &d = entry.device;
  json::Object rates;
  for (const RateName &r : rateNames())
    if (d.*r.rate > 0)
      rates[r.name] = d.*r.rate;
  json::Object o{{"name", d.name},
                 {"aliases", json::Array(entry.aliases)},
                 {"kind", d.gpu ? "gpu" : "cpu"},
                 {"flop_per_second", std::move(rates)},
                 {"memory_bytes_per_second", d.memoryRate},
                 {"sources", sourcesJson(entry)}};
  if (d.gpu)
    o["arch"] = d.arch;
  else
    o["isa"] = d.isa, o["threads"] = d.threads;
  if (d.memory)
    o["memory_bytes"] = d.memory;
  if (d.units)
    o["units"] = d.units;
  if (d.linkRate > 0)
    o["link"] = json::Object{{"kind", d.linkKind}, {"count", d.linkCount}, {"bytes_per_second", d.linkRate}};
  if (d.hostRate > 0)
    o["host_link"] = json::Object{{"kind", d.hostKind}, {"bytes_per_second", d.hostRate}};
  return o;
}

json::Value hostJson(const LibraryHost &entry) {
  const HostType &h = entry.host;
  json::Object link{{"kind", h.link.kind}, {"bytes_per_second", h.link.rate}};
  if (h.link.devicesPerRoot)
    link["devices_per_root"] = h.link.devicesPerRoot;
  if (h.link.latency >= 0)
    link["latency_seconds"] = h.link.latency;
  json::Object o{{"name", h.name},
                 {"aliases", json::Array(entry.aliases)},
                 {"device", h.device.name},
                 {"devices", h.devicesPerHost},
                 {"link", std::move(link)},
                 {"fabric", h.fabric},
                 {"sources", sourcesJson(entry)}};
  if (h.hostMemory)
    o["memory_bytes"] = h.hostMemory;
  if (h.nic.count) {
    json::Object nic{{"count", h.nic.count}, {"bytes_per_second", h.nic.rate}};
    if (h.nic.latency >= 0)
      nic["latency_seconds"] = h.nic.latency;
    o["nic"] = std::move(nic);
  }
  if (h.islandHosts > 1)
    o["island"] = json::Object{{"name", h.islandName}, {"hosts", h.islandHosts}};
  return o;
}

} // namespace

int devicesVerb(const std::string &name, bool json, const std::string &shippedDir) {
  Diagnostics diags;
  std::optional<Library> library = readLibrary(libraryBeside(shippedDir), diags);
  if (!library) {
    diags.print(errs(), MessageFormat::Human, useColor(ColorMode::Auto, STDERR_FILENO));
    if (json)
      diags.printErrorDocument(outs(), kExitRuntime);
    return kExitRuntime;
  }
  const LibraryDevice *device = name.empty() ? nullptr : library->device(name);
  const LibraryHost *host = name.empty() ? nullptr : library->host(name);
  std::vector<std::string> clusters = shippedClusters(shippedDir);
  if (!name.empty() && !device && !host && is_contained(clusters, name))
    return usageError("'" + name + "' is a shipped cluster; its devices stand in its file",
                      "hocket plan --cluster " + name, json);
  if (!name.empty() && !device && !host) {
    std::vector<std::string> all = library->deviceNames(), hosts = library->hostNames();
    all.insert(all.end(), hosts.begin(), hosts.end());
    return usageError("there is no device and no host type '" + name + "'" + didYouMeanName(name, all),
                      "hocket devices lists them", json);
  }
  raw_ostream &os = outs();
  if (json) {
    json::Array devices, hosts;
    for (const LibraryDevice &d : library->devices)
      if (name.empty() || &d == device)
        devices.push_back(deviceJson(d));
    for (const LibraryHost &h : library->hosts)
      if (name.empty() || &h == host)
        hosts.push_back(hostJson(h));
    json::Object all{{"format_version", "1.0"}, {"devices", std::move(devices)}, {"hosts", std::move(hosts)}};
    if (name.empty())
      all["clusters"] = json::Array(clusters);
    os << json::Value(std::move(all)) << "\n";
  } else if (name.empty()) {
    listDevices(os, *library);
    listHosts(os, *library);
    os << "\nShipped clusters: " << join(clusters, ", ") << "\n";
  } else {
    if (device)
      show(os, "device", device->device.name, *device, facts(device->device), "");
    if (host)
      show(os, "host", host->host.name, *host, facts(host->host), host->host.device.name);
  }
  return kExitOk;
}

} // namespace hocket
