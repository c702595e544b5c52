#include "compiler/input/host_tables.h"

#include <cmath>

using namespace llvm;

namespace hocket {

namespace {

constexpr StringRef kIsas[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

constexpr RateName kRates[] = {{"f64", &DeviceKind::rateF64},   {"f32", &DeviceKind::rateF32},
                               {"tf32", &DeviceKind::rateTf32}, {"f16", &DeviceKind::rateF16},
                               {"bf16", &DeviceKind::rateBf16}, {"fp8", &DeviceKind::rateFp8},
                               {"fp4", &DeviceKind::rateFp4}};

/// Seconds of a message over a link that states none. PCIe, NVLink and network: hops of a
/// ring by LL in NCCL's src/graph/tuning.cc; memory: the order of a wake-up between cores.
struct DefaultLatency {
  StringRef kind;
  double seconds;
  StringRef source;
};
constexpr DefaultLatency kLatencies[] = {{"memory", 1e-6, "default of links by memory"},
                                         {"pcie", 1e-6, "default of PCIe: NCCL's hop"},
                                         {"mesh", 0.6e-6, "default of direct links: NCCL's NVLink hop"},
                                         {"nvswitch", 0.6e-6, "default of NVLink: NCCL's hop"},
                                         {"switch", 2.7e-6, "default of networks: NCCL's hop"},
                                         {"rail", 2.7e-6, "default of networks: NCCL's hop"}};

const DefaultLatency &defaultLatency(StringRef kind) {
  for (const DefaultLatency &d : kLatencies)
    if (d.kind == kind)
      return d;
  return kLatencies[0];
}

/// `what` is the subject of the assumption: "latency of the links in DGX-H100".
double latencyOr(double given, StringRef kind, const Twine &what, bool library,
                 std::vector<Assumed> &assumed) {
  if (given >= 0 && !library)
    return given;
  const DefaultLatency &d = defaultLatency(kind);
  double seconds = given >= 0 ? given : d.seconds;
  assumed.push_back({what.str(), timeText(seconds), given >= 0 ? "library" : d.source.str()});
  return seconds;
}

std::string unquoted(StringRef s) { return s.trim("\"'").str(); }

} // namespace

ArrayRef<RateName> rateNames() { return kRates; }

std::string rateText(double bytesPerSecond) { return numberText(bytesPerSecond / 1e9) + " GB/s"; }

std::string timeText(double seconds) {
  // Through integers: 2.7e-6 * 1e6 is not 2.7.
  double ns = std::round(seconds * 1e9);
  return ns < 1000 ? numberText(ns) + " ns" : numberText(ns / 1000) + " us";
}

bool perDirection(Loc loc, StringRef text, double value, double libraryRate, StringRef owner,
                  Diagnostics &diags) {
  double twice = 2 * libraryRate;
  if (libraryRate <= 0 || value < 0.995 * twice || value > 1.005 * twice)
    return true;
  // In the user's own unit.
  StringRef number = text.take_while([](char c) { return StringRef("0123456789.+eE_").contains(c); });
  StringRef unit = text.drop_front(number.size()).trim();
  double half = 0;
  if (number.getAsDouble(half))
    half = 0;
  diags
      .error(loc, text + " counts both directions; write " +
                      (half > 0 ? numberText(half / 2) + " " + unit.str() : rateText(libraryRate)))
      .note("the library gives " + owner + " " + rateText(libraryRate) + " per direction");
  return false;
}

void readDeviceTable(TableReader &r, DeviceKind &d, Diagnostics &diags, bool inLibrary) {
  std::optional<std::string> kind = r.word("kind", {"cpu", "gpu"});
  if (!r.find("kind"))
    r.missing("kind");
  d.gpu = kind && *kind == "gpu";
  if (d.gpu) {
    d.arch = r.string("arch").value_or("");
  } else if (kind) {
    d.isa = r.word("isa", kIsas).value_or("");
    if (!r.find("isa"))
      r.missing("isa");
    d.threads = r.integer("threads", 1, 1024).value_or(1);
  }
  d.memory = static_cast<int64_t>(r.quantity("memory", Unit::Bytes).value_or(0));
  if (!r.find("memory") && (d.gpu || !inLibrary))
    r.missing("memory");
  if (const Value *rate = r.subtable("rate")) {
    TableReader t(*rate, "'rate'", diags);
    bool any = false;
    // In the order of the text, as the messages are.
    for (const Member &m : rate->members)
      for (const RateName &name : kRates)
        if (m.key == name.name)
          d.*name.rate = t.quantity(name.name, Unit::FlopRate).value_or(0);
    for (const RateName &name : kRates)
      any |= t.find(name.name) != nullptr;
    t.finish();
    if (!any)
      diags.error(rate->loc, "'rate' must give at least one type, as in rate = { f32 = \"60 GFLOP/s\" }");
  } else if (!r.find("rate")) {
    r.missing("rate");
  }
  d.memoryRate = r.quantity("memory_rate", Unit::ByteRate).value_or(0);
  if (!r.find("memory_rate"))
    r.missing("memory_rate");
  if (d.gpu)
    d.units = r.integer("units", 1, 1 << 16).value_or(0);
  if (const Value *link = r.subtable("link")) {
    TableReader l(*link, "'link'", diags);
    d.linkKind = l.string("kind").value_or("link");
    d.linkRate = l.quantity("rate", Unit::ByteRate).value_or(0);
    if (!l.find("rate"))
      l.missing("rate");
    d.linkCount = l.integer("count", 1, 1024).value_or(1);
    l.finish();
  }
  if (const Value *link = r.subtable("host_link")) {
    TableReader l(*link, "'host_link'", diags);
    d.hostKind = l.string("kind").value_or("link");
    d.hostRate = l.quantity("rate", Unit::ByteRate).value_or(0);
    if (!l.find("rate"))
      l.missing("rate");
    l.finish();
  }
}

void readHostTable(TableReader &r, Loc nameLoc, HostType &host, Diagnostics &diags) {
  host.devicesPerHost = r.integer("devices", 1, kMaxRanks).value_or(0);
  if (!r.find("devices"))
    r.missing("devices");
  host.hostMemory = static_cast<int64_t>(r.quantity("memory", Unit::Bytes).value_or(0));
  host.link.loc = host.nic.loc = nameLoc;
  if (const Value *v = r.subtable("link")) {
    TableReader l(*v, "'link'", diags);
    host.link.loc = v->loc;
    host.link.kind = l.word("kind", {"memory", "pcie", "mesh", "nvswitch"}).value_or("memory");
    host.link.rate = l.quantity("rate", Unit::ByteRate).value_or(0);
    if (const Value *rate = l.find("rate"))
      host.link.rateLoc = rate->loc;
    else if (host.link.kind == "memory")
      l.missing("rate");
    host.link.latency = l.quantity("latency", Unit::Seconds).value_or(-1);
    host.link.devicesPerRoot = l.integer("devices_per_root", 1, kMaxRanks).value_or(0);
    const Value *root = l.find("devices_per_root");
    if (root && host.link.kind != "pcie")
      diags.error(root->loc, "'devices_per_root' has a meaning only with kind = \"pcie\"");
    else if (host.link.devicesPerRoot && host.devicesPerHost % host.link.devicesPerRoot != 0)
      diags.error(root->loc, "'devices_per_root' is " + Twine(host.link.devicesPerRoot) +
                                 "; it must divide the host's " + Twine(host.devicesPerHost) + " devices");
    l.finish();
  } else if (!r.find("link") && host.devicesPerHost > 1) {
    diags.error(nameLoc, "'link' is missing in [host." + host.name + "]: its " + Twine(host.devicesPerHost) +
                             " devices cannot reach each other");
  }
  if (const Value *v = r.subtable("nic")) {
    TableReader n(*v, "'nic'", diags);
    host.nic.loc = v->loc;
    host.nic.count = n.integer("count", 1, 1024).value_or(1);
    host.nic.rate = n.quantity("rate", Unit::ByteRate).value_or(0);
    if (const Value *rate = n.find("rate"))
      host.nic.rateLoc = rate->loc;
    else
      n.missing("rate");
    host.nic.latency = n.quantity("latency", Unit::Seconds).value_or(-1);
    n.finish();
  }
}

void completeHost(HostType &host, Diagnostics &diags, std::vector<Assumed> *assumed) {
  DeviceKind &d = host.device;
  HostLink &link = host.link;
  auto fromLibrary = [&](const Twine &what, const std::string &value, const Twine &source) {
    if (assumed)
      assumed->push_back({what.str(), value, source.str()});
  };
  bool own = link.kind == "nvswitch" || link.kind == "mesh";
  double known = own ? d.linkRate : link.kind == "pcie" ? d.hostRate : 0;
  if (link.kind.empty()) {
    // A host of one device without a link: nothing crosses it; the rate of its
    // memory stands in so that every level has one.
    link.kind = "memory";
    link.rate = d.memoryRate;
    link.latency = 0;
  } else if (link.rate > 0) {
    if (host.deviceFromLibrary)
      perDirection(link.rateLoc, unquoted(diags.spelling(link.rateLoc)), link.rate, known, d.name, diags);
  } else if (link.kind != "memory" && !link.rateLoc.valid()) {
    if (known > 0) {
      link.rate = known;
      fromLibrary("rate of the links in " + host.name, rateText(known),
                  host.deviceFromLibrary || host.fromLibrary ? "library: " + Twine(d.name)
                                                             : "device " + Twine(d.name));
    } else if (own) {
      diags.error(link.loc, "device '" + d.name + "' has no links of its own to join by '" + link.kind +
                                "'; write kind = \"pcie\", or give 'rate'");
    } else {
      diags.error(link.loc, "the rate of 'link' is unknown: give it 'rate', or the device a 'host_link'");
    }
  }
  if (!d.gpu && d.memory == 0 && host.deviceFromLibrary) {
    if (host.hostMemory == 0) {
      diags.error(host.loc, "'memory' is missing in [host." + host.name + "]: device '" + d.name +
                                "' has none of its own");
    } else {
      d.memory = host.hostMemory / std::max<int64_t>(1, host.devicesPerHost);
      fromLibrary("memory of a rank on " + host.name, std::to_string(d.memory) + " B",
                  "the host's memory over its devices");
    }
  }
}

void addHostLevels(Pool &pool, std::vector<Assumed> &assumed) {
  const HostLink &link = pool.link;
  if (pool.fromLibrary) {
    assumed.push_back({"rate of the links in " + pool.name, rateText(link.rate), "library"});
    if (pool.nic.count)
      assumed.push_back({"rate of the NICs of " + pool.name,
                         std::to_string(pool.nic.count) + " x " + rateText(pool.nic.rate), "library"});
  }
  IslandLevel level;
  level.name = "host";
  level.loc = link.loc;
  level.kind = link.kind;
  level.count = pool.devicesPerHost;
  level.rate = level.deviceRate = link.rate;
  level.latency = pool.devicesPerHost == 1 && link.latency < 0
                      ? 0
                      : latencyOr(link.latency, link.kind, "latency of the links in " + pool.name,
                                  pool.fromLibrary && link.latency >= 0, assumed);
  int64_t perRoot = link.devicesPerRoot;
  if (perRoot > 1 && perRoot < pool.devicesPerHost) {
    // Devices under one root reach each other at the full rate and share its uplink.
    IslandLevel root = level;
    root.name = "root";
    root.count = perRoot;
    pool.levels.push_back(root);
    level.count = pool.devicesPerHost / perRoot;
    level.deviceRate = link.rate / static_cast<double>(perRoot);
  }
  pool.levels.push_back(level);
}

IslandLevel fabricLevel(const Pool &pool, StringRef kind, const std::string &name,
                        std::optional<double> latency, std::vector<Assumed> &assumed) {
  IslandLevel level;
  level.name = name;
  level.kind = kind.str();
  auto devices = static_cast<double>(pool.devicesPerHost);
  bool nvswitch = kind == "nvswitch";
  if (nvswitch) {
    level.deviceRate = pool.device.linkRate;
    level.rate = level.deviceRate * devices;
  } else {
    level.rate = pool.nic.rate * static_cast<double>(pool.nic.count);
    level.deviceRate = level.rate / devices;
  }
  double given = latency.value_or(nvswitch ? pool.link.latency : pool.nic.latency);
  level.latency = latency ? *latency
                          : latencyOr(given, kind, "latency of fabric '" + name + "' for " + pool.label,
                                      pool.fromLibrary && given >= 0, assumed);
  return level;
}

} // namespace hocket
