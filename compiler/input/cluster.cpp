#include "compiler/input/host_tables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace llvm;

namespace hocket {

namespace {

constexpr size_t kMaxPools = 16;

class ClusterReader {
public:
  ClusterReader(const Value &root, Diagnostics &diags, int64_t hosts, Loc hostsLoc, std::string libraryDir)
      : root(root), diags(diags), forcedHosts(hosts), forcedLoc(hostsLoc),
        library(std::move(libraryDir), diags) {}

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
    readFabric(cluster, fabric, hostsLocs, forcedHosts, forcedLoc, diags.errors() == before, diags);
    if (diags.errors() == before)
      checkTotals();
    if (diags.errors() != before)
      return std::nullopt;
    return std::move(cluster);
  }

private:
  void readPools(const Value &pools) {
    if (pools.kind != Value::Kind::Array || pools.items.empty()) {
      diags.error(pools.loc,
                  "'pool' must be a list of tables, as in pool = [{ host = \"laptop\", hosts = 1 }]");
      return;
    }
    if (pools.items.size() > kMaxPools) {
      diags.error(pools.items[kMaxPools].loc, "a cluster has at most " + Twine(kMaxPools) + " pools");
      return;
    }
    if (forcedHosts && pools.items.size() > 1) {
      diags.error(forcedLoc, "a cluster of several pools has no single number of hosts: change its file");
      return;
    }
    for (size_t i = 0; i < pools.items.size(); ++i) {
      if (pools.items[i].kind != Value::Kind::Table) {
        diags.error(pools.items[i].loc, "a pool must be a table, not " + kindName(pools.items[i].kind));
        return;
      }
      if (i > 0)
        cluster.morePools.emplace_back();
      readPool(pools.items[i], cluster.pool(i));
      for (size_t j = 0; j < i; ++j)
        if (cluster.pool(j).label == cluster.pool(i).label)
          diags.error(pools.items[i].loc,
                      "two pools are called '" + cluster.pool(i).label + "': give each a 'name'");
    }
  }

  void readPool(const Value &table, Pool &pool) {
    TableReader r(table, "the pool", diags);
    std::optional<std::string> host = r.string("host");
    if (!host && !r.find("host"))
      r.missing("host");
    std::optional<std::string> label = r.string("name");
    std::optional<int64_t> count = r.integer("hosts", 1, kMaxRanks);
    if (!count && !r.find("hosts"))
      r.missing("hosts");
    if (const Value *price = r.find("price"))
      readPrice(*price, pool);
    r.finish();
    pool.hosts = forcedHosts ? forcedHosts : count.value_or(1);
    const Value *hostsValue = r.find("hosts");
    hostsLocs.push_back(forcedHosts ? forcedLoc : hostsValue ? hostsValue->loc : table.loc);
    if (!host)
      return;
    pool.use = r.find("host")->loc;
    readHost(*host, pool);
    pool.label = label ? *label : pool.name;
    if (pool.price > 0 && perHost)
      pool.price /= static_cast<double>(std::max<int64_t>(1, pool.devicesPerHost));
    perHost = false;
  }

  /// "2.50 USD/device/h" or "20 USD/host/h".
  void readPrice(const Value &v, Pool &pool) {
    StringRef text = v.string;
    auto fail = [&] {
      diags.error(v.loc, "'price' must be as in \"2.50 USD/device/h\" or \"20 USD/host/h\"");
    };
    if (v.kind != Value::Kind::String)
      return fail();
    auto [number, unit] = text.trim().split(' ');
    StringRef currency = unit.trim().take_front(3), per = unit.trim().drop_front(currency.size());
    bool decimal = !number.empty() && all_of(number, [](char c) { return isDigit(c) || c == '.'; });
    double price = 0;
    if (!decimal || number.getAsDouble(price) ||
        !all_of(currency, [](char c) { return c >= 'A' && c <= 'Z'; }) || currency.size() != 3 ||
        (per != "/device/h" && per != "/host/h"))
      return fail();
    if (!(price > 0 && price <= 1e6)) {
      diags.error(v.loc, "'price' must be above 0 and at most 1000000");
      return;
    }
    pool.price = price;
    pool.currency = currency.str();
    perHost = per == "/host/h";
    if (currencyLoc.valid() && pool.currency != currency1)
      diags.error(v.loc, "prices in " + pool.currency + " and " + currency1 + " cannot be added")
          .note(currencyLoc, "the other currency");
    currency1 = pool.currency;
    currencyLoc = v.loc;
  }

  static const Member *lookUp(const Value *table, StringRef name) {
    if (table)
      for (const Member &m : table->members)
        if (m.key == name)
          return &m;
    return nullptr;
  }

  static std::vector<std::string> names(const Value *table) {
    std::vector<std::string> out;
    if (table)
      for (const Member &m : table->members)
        out.push_back(m.key);
    return out;
  }

  /// `word` is "host" or "device"; names of the file go before those of the library.
  void unknown(Loc use, StringRef word, const std::string &name, const Value *table,
               std::vector<std::string> libraryNames) {
    std::vector<std::string> all = names(table);
    all.insert(all.end(), libraryNames.begin(), libraryNames.end());
    diags.error(use, word + " '" + name + "' is not defined: [" + word + "." + name +
                         "] is missing, and the library has no such " + word + didYouMeanName(name, all));
  }

  void readHost(const std::string &name, Pool &pool) {
    const Member *m = lookUp(hosts, name);
    if (!m) {
      size_t before = diags.errors();
      const Library *known = library.get();
      if (const LibraryHost *h = known ? known->host(name) : nullptr) {
        static_cast<HostType &>(pool) = h->host;
        pool.loc = pool.device.loc = pool.use;
        addHostLevels(pool, cluster.assumed);
      } else if (diags.errors() == before) {
        unknown(pool.use, "host", name, hosts, known ? known->hostNames() : std::vector<std::string>());
      }
      return;
    }
    pool.name = name;
    pool.loc = m->keyLoc;
    if (m->value.kind != Value::Kind::Table) {
      diags.error(m->value.loc, "[host." + name + "] must be a table, not " + kindName(m->value.kind));
      return;
    }
    size_t before = diags.errors();
    TableReader r(m->value, "[host." + name + "]", diags);
    std::optional<std::string> device = r.string("device");
    if (!device && !r.find("device"))
      r.missing("device");
    readHostTable(r, m->keyLoc, pool, diags);
    if (const Value *v = r.find("memory"))
      memoryLocs[pool.name] = v->loc;
    r.finish();
    if (device)
      readDevice(*device, r.find("device")->loc, pool);
    if (diags.errors() != before)
      return;
    completeHost(pool, diags, &cluster.assumed);
    questionNic(pool);
    if (diags.errors() == before)
      addHostLevels(pool, cluster.assumed);
  }

  void readDevice(const std::string &name, Loc use, Pool &pool) {
    const Member *m = lookUp(devices, name);
    if (!m) {
      size_t before = diags.errors();
      const Library *known = library.get();
      if (const LibraryDevice *d = known ? known->device(name) : nullptr) {
        pool.device = d->device;
        pool.device.loc = use;
        pool.deviceFromLibrary = true;
      } else if (diags.errors() == before) {
        unknown(use, "device", name, devices, known ? known->deviceNames() : std::vector<std::string>());
      }
      return;
    }
    DeviceKind &d = pool.device;
    d.name = name;
    d.loc = m->keyLoc;
    if (m->value.kind != Value::Kind::Table) {
      diags.error(m->value.loc, "[device." + name + "] must be a table, not " + kindName(m->value.kind));
      return;
    }
    TableReader r(m->value, "[device." + name + "]", diags);
    readDeviceTable(r, d, diags, /*inLibrary=*/false);
    r.finish();
    if (d.gpu)
      questionDevice(d, m->value);
  }

  /// A GPU spelled out under a name that the library knows too.
  void questionDevice(const DeviceKind &d, const Value &table) {
    const Library *known = library.get();
    const LibraryDevice *other = known ? known->device(d.name) : nullptr;
    for (auto [key, rate, libraryRate] :
         {std::tuple("link", d.linkRate, other ? other->device.linkRate : 0),
          std::tuple("host_link", d.hostRate, other ? other->device.hostRate : 0)})
      if (const Member *link = lookUp(&table, key))
        if (const Member *v = lookUp(&link->value, "rate"))
          perDirection(v->value.loc, v->value.string, rate, libraryRate, other ? other->device.name : d.name,
                       diags);
  }

  void questionNic(const Pool &pool) {
    if (pool.nic.count == 0 || !pool.device.gpu)
      return;
    const Library *known = library.get();
    const LibraryHost *other = known ? known->host(pool.name) : nullptr;
    // Networks of twice the rate exist; only a host of the library's own name is held to it.
    if (other && StringRef(pool.name).equals_insensitive(other->host.name) &&
        other->host.nic.count == pool.nic.count)
      perDirection(pool.nic.rateLoc, diags.spelling(pool.nic.rateLoc).trim("\"'"), pool.nic.rate,
                   other->host.nic.rate, "the NICs of " + other->host.name, diags);
  }

  void checkTotals() {
    // Every factor is at most 2^20, and so are the pools' sums one by one: no overflow.
    int64_t ranks = 0;
    for (size_t i = 0; i < cluster.pools(); ++i) {
      const Pool &pool = cluster.pool(i);
      ranks += pool.ranks();
      if (ranks > kMaxRanks) {
        std::string product = (Twine(pool.hosts) + " hosts x " + Twine(pool.devicesPerHost) +
                               " devices = " + withCommas(static_cast<uint64_t>(pool.ranks())))
                                  .str();
        if (i > 0)
          product += "; with the pools before " + withCommas(static_cast<uint64_t>(ranks));
        diags.error(hostsLocs[i], product + " ranks; at most " + withCommas(kMaxRanks) + " are possible");
        return;
      }
      // 2^20 devices of at most 2^50 bytes do not fit in 64 bits: divide.
      if (!pool.device.gpu && pool.hostMemory && pool.device.memory > pool.hostMemory / pool.devicesPerHost)
        diags.error(memoryLocs[pool.name], "the host's memory is smaller than its " +
                                               Twine(pool.devicesPerHost) + " devices' arenas of " +
                                               withCommas(static_cast<uint64_t>(pool.device.memory)) +
                                               " bytes each");
    }
  }

  const Value &root;
  Diagnostics &diags;
  int64_t forcedHosts;
  Loc forcedLoc, currencyLoc;
  std::vector<Loc> hostsLocs; ///< of each pool's count
  std::map<std::string, Loc> memoryLocs;
  std::string currency1;
  bool perHost = false;
  LazyLibrary library;
  const Value *hosts = nullptr, *devices = nullptr;
  Cluster cluster;
};

} // namespace

std::optional<Cluster> readCluster(int32_t source, Diagnostics &diags, int64_t hosts, Loc hostsLoc,
                                   const std::string &libraryDir) {
  std::optional<Value> root = parseToml(source, diags);
  if (!root)
    return std::nullopt;
  return ClusterReader(*root, diags, hosts, hostsLoc, libraryDir).read();
}

} // namespace hocket
