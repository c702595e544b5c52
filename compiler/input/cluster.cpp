#include "compiler/input/cluster.h"

#include "compiler/input/table_reader.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace hocket {

namespace {

constexpr StringRef kIsas[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

/// Host and device names of the accelerator library that the file format
/// knows: named so that the message says "GPU" and not "unknown".
constexpr StringRef kGpuHosts[] = {"DGX-H100", "DGX-A100",   "HGX-A100-80",
                                   "HGX-H100", "GB200-tray", "DGX-B200"};
constexpr StringRef kGpuDevices[] = {"H100-SXM5-80GB", "A100-80GB", "L4", "L40S", "B200", "GB200", "H200"};
constexpr StringRef kOnlyCpu = "only devices with kind = \"cpu\" are executable in this version";

class ClusterReader {
public:
  ClusterReader(const Value &root, Diagnostics &diags, int64_t hosts, Loc hostsLoc)
      : root(root), diags(diags), forcedHosts(hosts), forcedLoc(hostsLoc) {}

  std::optional<Cluster> read() {
    size_t before = diags.errors();
    TableReader top(root, "the cluster file", diags);
    top.format();
    const Value *pools = top.need("pool");
    const Value *fabric = top.array("fabric");
    hosts = top.subtable("host");
    devices = top.subtable("device");
    top.finish();
    if (pools)
      readPools(*pools);
    if (diags.errors() == before)
      readFabric(fabric);
    if (diags.errors() == before)
      checkTotals();
    if (diags.errors() != before)
      return std::nullopt;
    return cluster;
  }

private:
  void readPools(const Value &pools) {
    if (pools.kind != Value::Kind::Array || pools.items.empty()) {
      diags.error(pools.loc,
                  "'pool' must be a list with one table, as in pool = [{ host = \"laptop\", hosts = 1 }]");
      return;
    }
    if (pools.items.size() > 1) {
      diags.error(pools.items[1].loc, "clusters of several pools are not executable in this version");
      return;
    }
    const Value &pool = pools.items[0];
    if (pool.kind != Value::Kind::Table) {
      diags.error(pool.loc, "a pool must be a table, not " + kindName(pool.kind));
      return;
    }
    TableReader r(pool, "the pool", diags);
    std::optional<std::string> host = r.string("host");
    if (!host && !r.find("host"))
      r.missing("host");
    (void)r.string("name");
    std::optional<int64_t> count = r.integer("hosts", 1, kMaxRanks);
    if (!count && !r.find("hosts"))
      r.missing("hosts");
    r.unsupported("price", "there is no cost objective yet");
    r.finish();
    cluster.hosts = forcedHosts ? forcedHosts : count.value_or(1);
    hostsLoc = forcedHosts ? forcedLoc : pool.loc;
    if (const Value *v = r.find("hosts"); v && !forcedHosts)
      hostsLoc = v->loc;
    if (host)
      readHost(*host, r.find("host")->loc);
  }

  const Member *lookUp(const Value *table, StringRef name) {
    if (table)
      for (const Member &m : table->members)
        if (m.key == name)
          return &m;
    return nullptr;
  }

  static SmallVector<StringRef> names(const Value *table) {
    SmallVector<StringRef> out;
    if (table)
      for (const Member &m : table->members)
        out.push_back(m.key);
    return out;
  }

  void readHost(const std::string &name, Loc use) {
    const Member *m = lookUp(hosts, name);
    if (!m) {
      if (is_contained(kGpuHosts, name))
        diags.error(use, "host '" + name + "' has GPUs; " + kOnlyCpu);
      else
        diags.error(use, "host '" + name + "' is not defined: [host." + name + "] is missing" +
                             didYouMean(name, names(hosts)));
      return;
    }
    cluster.name = name;
    cluster.loc = m->keyLoc;
    if (m->value.kind != Value::Kind::Table) {
      diags.error(m->value.loc, "[host." + name + "] must be a table, not " + kindName(m->value.kind));
      return;
    }
    TableReader r(m->value, "[host." + name + "]", diags);
    std::optional<std::string> device = r.string("device");
    if (!device && !r.find("device"))
      r.missing("device");
    cluster.devicesPerHost = r.integer("devices", 1, kMaxRanks).value_or(0);
    if (!r.find("devices"))
      r.missing("devices");
    if (std::optional<double> memory = r.quantity("memory", Unit::Bytes))
      cluster.hostMemory = static_cast<int64_t>(*memory);
    if (const Value *v = r.find("memory"))
      hostMemoryLoc = v->loc;

    IslandLevel link;
    link.name = "host";
    link.loc = m->keyLoc;
    link.count = cluster.devicesPerHost;
    if (const Value *v = r.subtable("link")) {
      TableReader l(*v, "'link'", diags);
      link.loc = v->loc;
      link.kind = l.word("kind", {"memory", "pcie"}).value_or("memory");
      link.rate = l.quantity("rate", Unit::ByteRate).value_or(0);
      if (!l.find("rate"))
        l.missing("rate");
      link.latency = l.quantity("latency", Unit::Seconds).value_or(0);
      l.unsupported("devices_per_root", "links inside a host are uniform");
      l.finish();
    } else if (!r.find("link") && cluster.devicesPerHost > 1) {
      diags.error(m->keyLoc, "'link' is missing in [host." + name + "]: its " +
                                 Twine(cluster.devicesPerHost) + " devices cannot reach each other");
    }
    if (const Value *v = r.subtable("nic")) {
      TableReader n(*v, "'nic'", diags);
      int64_t count = n.integer("count", 1, 1024).value_or(1);
      nicRate = n.quantity("rate", Unit::ByteRate).value_or(0) * static_cast<double>(count);
      if (!n.find("rate"))
        n.missing("rate");
      nicLatency = n.quantity("latency", Unit::Seconds).value_or(0);
      n.finish();
    }
    r.finish();
    // A host of one device without a link: nothing crosses it; the rate of its
    // memory stands in so that every level has one.
    if (device)
      readDevice(*device, r.find("device")->loc);
    if (link.rate == 0) {
      link.kind = "memory";
      link.rate = cluster.device.memoryRate;
    }
    cluster.levels.push_back(std::move(link));
  }

  void readDevice(const std::string &name, Loc use) {
    const Member *m = lookUp(devices, name);
    if (!m) {
      if (is_contained(kGpuDevices, name))
        diags.error(use, "device '" + name + "' is a GPU; " + kOnlyCpu);
      else
        diags.error(use, "device '" + name + "' is not defined: [device." + name + "] is missing" +
                             didYouMean(name, names(devices)));
      return;
    }
    DeviceKind &d = cluster.device;
    d.name = name;
    d.loc = m->keyLoc;
    if (m->value.kind != Value::Kind::Table) {
      diags.error(m->value.loc, "[device." + name + "] must be a table, not " + kindName(m->value.kind));
      return;
    }
    TableReader r(m->value, "[device." + name + "]", diags);
    std::optional<std::string> kind = r.string("kind");
    if (const Value *v = r.find("kind")) {
      if (kind && *kind != "cpu") {
        diags.error(v->loc, "device kind '" + *kind + "': " + kOnlyCpu);
        return;
      }
    } else {
      r.missing("kind");
    }
    d.isa = r.word("isa", kIsas).value_or("");
    if (!r.find("isa"))
      r.missing("isa");
    d.threads = r.integer("threads", 1, 1024).value_or(1);
    d.memory = static_cast<int64_t>(r.quantity("memory", Unit::Bytes).value_or(0));
    if (!r.find("memory"))
      r.missing("memory");
    if (const Value *rate = r.subtable("rate")) {
      TableReader t(*rate, "'rate'", diags);
      d.rateF32 = t.quantity("f32", Unit::FlopRate).value_or(0);
      d.rateF64 = t.quantity("f64", Unit::FlopRate).value_or(0);
      if (!t.find("f32") && !t.find("f64"))
        diags.error(rate->loc, "'rate' must give f32, f64 or both, as in rate = { f32 = \"60 GFLOP/s\" }");
      for (StringRef other : {"bf16", "fp8", "f16", "tf32"})
        t.unsupported(other, "element types are f32 and f64");
      t.finish();
    } else if (!r.find("rate")) {
      r.missing("rate");
    }
    d.memoryRate = r.quantity("memory_rate", Unit::ByteRate).value_or(0);
    if (!r.find("memory_rate"))
      r.missing("memory_rate");
    r.finish();
  }

  void readFabric(const Value *fabric) {
    if (fabric && fabric->items.size() > 16) {
      diags.error(fabric->loc, "a fabric has at most 16 levels");
      return;
    }
    int64_t joined = 1;
    std::vector<Loc> joinLocs;
    if (fabric)
      for (const Value &v : fabric->items) {
        if (v.kind != Value::Kind::Table) {
          diags.error(v.loc, "a fabric level must be a table, not " + kindName(v.kind));
          return;
        }
        TableReader r(v, "the fabric level", diags);
        IslandLevel level;
        level.loc = v.loc;
        level.name = r.string("name").value_or("");
        if (!r.find("name"))
          r.missing("name");
        for (const IslandLevel &other : cluster.levels)
          if (other.name == level.name)
            diags.error(r.find("name")->loc, "the name '" + level.name + "' is taken by another level");
        level.kind = r.word("kind", {"switch", "rail"}).value_or("switch");
        const Value *joins = r.need("joins");
        if (joins && joins->kind == Value::Kind::Table)
          diags.error(
              joins->loc,
              "'joins' of several pools is not executable in this version: write the number of islands");
        else
          level.count = r.integer("joins", 1, kMaxRanks).value_or(1);
        joinLocs.push_back(joins ? joins->loc : v.loc);
        double over = r.number("oversubscription", 1, 1000).value_or(1);
        level.rate = r.quantity("rate", Unit::ByteRate).value_or(nicRate / over);
        level.latency = r.quantity("latency", Unit::Seconds).value_or(nicLatency);
        if (level.rate == 0 && !r.find("rate"))
          diags.error(v.loc, "the rate of fabric '" + level.name +
                                 "' is unknown: give it 'rate', or the host a 'nic'");
        if (r.find("rate") && r.find("oversubscription"))
          diags.error(r.keyLoc("oversubscription"),
                      "'oversubscription' divides the host's NIC rate; it has no meaning beside 'rate'");
        r.unsupported("cap", "shared uplinks are not modelled");
        r.finish();
        cluster.levels.push_back(level);
        joined *= level.count;
        if (joined > kMaxRanks) {
          diags.error(joinLocs.back(), "the fabric joins more than " + withCommas(kMaxRanks) + " hosts");
          return;
        }
      }
    if (forcedHosts && joined != forcedHosts && !joinLocs.empty()) {
      int64_t inner = joined / cluster.levels.back().count;
      if (forcedHosts % inner != 0) {
        diags.error(forcedLoc,
                    Twine(forcedHosts) + " hosts do not fill the inner fabric, which joins " + Twine(inner));
        return;
      }
      cluster.levels.back().count = forcedHosts / inner;
      joined = forcedHosts;
    }
    if (joined == cluster.hosts)
      return;
    if (joinLocs.empty()) {
      diags
          .error(hostsLoc, Twine(cluster.hosts) + " hosts and no 'fabric': hosts 1 to " +
                               Twine(cluster.hosts - 1) + " cannot be reached from host 0")
          .note("add fabric = [{ name = \"switch\", joins = " + Twine(cluster.hosts) +
                ", kind = \"switch\", rate = \"100 Gbit/s\" }]");
    } else if (joined < cluster.hosts) {
      diags
          .error(joinLocs.back(), "the fabric joins " + Twine(joined) + " of " + Twine(cluster.hosts) +
                                      " hosts: hosts " + Twine(joined) + " to " + Twine(cluster.hosts - 1) +
                                      " cannot be reached")
          .note(hostsLoc, "the pool says how many hosts there are");
    } else {
      diags
          .error(joinLocs.back(),
                 "the fabric joins " + Twine(joined) + " hosts, but the pool has " + Twine(cluster.hosts))
          .note(hostsLoc, "the pool says how many hosts there are");
    }
  }

  void checkTotals() {
    // Both factors are at most 2^20: no overflow.
    if (cluster.ranks() > kMaxRanks)
      diags.error(hostsLoc, Twine(cluster.hosts) + " hosts x " + Twine(cluster.devicesPerHost) +
                                " devices = " + withCommas(static_cast<uint64_t>(cluster.ranks())) +
                                " ranks; at most " + withCommas(kMaxRanks) + " are possible");
    // 2^20 devices of at most 2^50 bytes do not fit in 64 bits: divide.
    if (cluster.hostMemory && cluster.device.memory > cluster.hostMemory / cluster.devicesPerHost)
      diags.error(hostMemoryLoc, "the host's memory is smaller than its " + Twine(cluster.devicesPerHost) +
                                     " devices' arenas of " +
                                     withCommas(static_cast<uint64_t>(cluster.device.memory)) +
                                     " bytes each");
  }

  const Value &root;
  Diagnostics &diags;
  int64_t forcedHosts;
  Loc forcedLoc, hostsLoc, hostMemoryLoc;
  const Value *hosts = nullptr, *devices = nullptr;
  double nicRate = 0, nicLatency = 0;
  Cluster cluster;
};

} // namespace

std::optional<Cluster> readCluster(int32_t source, Diagnostics &diags, int64_t hosts, Loc hostsLoc) {
  std::optional<Value> root = parseToml(source, diags);
  if (!root)
    return std::nullopt;
  return ClusterReader(*root, diags, hosts, hostsLoc).read();
}

} // namespace hocket
