#include "compiler/input/host_tables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace hocket {

namespace {

class FabricReader {
public:
  FabricReader(Cluster &cluster, ArrayRef<Loc> hostsLocs, int64_t forcedHosts, Loc forcedLoc,
               bool poolsComplete, Diagnostics &diags)
      : cluster(cluster), hostsLocs(hostsLocs), forcedHosts(forcedHosts), forcedLoc(forcedLoc),
        poolsComplete(poolsComplete), diags(diags), pools(cluster.pools()), joined(pools, 1), island(pools),
        last(pools), lastJoin(pools) {
    for (size_t p = 0; p < pools; ++p)
      island[p] = p;
  }

  void read(const Value *fabric) {
    if (fabric && fabric->items.size() > 16) {
      diags.error(fabric->loc, "a fabric has at most 16 levels");
      return;
    }
    if (fabric)
      for (const Value &v : fabric->items) {
        if (v.kind != Value::Kind::Table) {
          diags.error(v.loc, "a fabric level must be a table, not " + kindName(v.kind));
          return;
        }
        if (!readLevel(v))
          return;
      }
    if (!poolsComplete || (forcedHosts && !stretch()))
      return;
    for (size_t p = 0; p < pools; ++p)
      checkHosts(p);
    checkPools(fabric);
  }

private:
  /// What one level says, before it becomes a level of each pool.
  struct Level {
    Loc loc, overLoc, rateLoc;
    std::string name, kind;
    double over = 1;
    std::optional<double> rate, latency;
    std::string rateAsWritten;
    SmallVector<int64_t> joins; ///< of each pool; 0: takes no part
    Loc joinsLoc;
    bool table = false; ///< 'joins' tells pools apart
  };

  bool readLevel(const Value &v) {
    size_t before = diags.errors();
    TableReader r(v, "the fabric level", diags);
    Level level;
    level.loc = v.loc;
    level.name = r.string("name").value_or("");
    const Value *name = r.find("name");
    if (!name)
      r.missing("name");
    else if (is_contained(names, level.name) || level.name == "host" || level.name == "root")
      diags.error(name->loc, "the name '" + level.name + "' is taken by another level");
    names.push_back(level.name);
    level.kind = r.word("kind", {"switch", "rail", "nvswitch"}).value_or("switch");
    const Value *joins = r.need("joins");
    level.joins.assign(pools, 0);
    level.joinsLoc = joins ? joins->loc : v.loc;
    if (joins)
      readJoins(*joins, level);
    if (std::optional<double> over = r.number("oversubscription", 1, 1000))
      level.over = *over;
    const Value *over = r.find("oversubscription");
    level.rate = r.quantity("rate", Unit::ByteRate);
    if (const Value *rate = r.find("rate")) {
      level.rateLoc = rate->loc;
      level.rateAsWritten = rate->string;
      if (over)
        diags.error(r.keyLoc("oversubscription"),
                    "'oversubscription' divides the host's NIC rate; it has no meaning beside 'rate'");
    }
    level.latency = r.quantity("latency", Unit::Seconds);
    const Value *cap = r.subtable("cap");
    r.finish();
    if (cap && !poolsComplete)
      readCap(*cap, level);
    if (diags.errors() != before || !poolsComplete)
      return !poolsComplete;
    for (size_t p = 0; p < pools; ++p)
      if (level.joins[p])
        addLevel(p, level, over != nullptr);
    if (cap)
      readCap(*cap, level);
    return diags.errors() == before && merge(level);
  }

  void readJoins(const Value &joins, Level &level) {
    if (joins.kind != Value::Kind::Table) {
      std::optional<int64_t> n = asInteger(joins, "joins", 1, kMaxRanks, diags);
      level.joins.assign(pools, n.value_or(0));
      return;
    }
    level.table = true;
    for (const Member &m : joins.members) {
      size_t p = poolCalled(m.key, m.keyLoc);
      int64_t n = asInteger(m.value, m.key, 1, kMaxRanks, diags).value_or(0);
      if (p < pools)
        level.joins[p] = n;
    }
    if (joins.members.empty())
      diags.error(joins.loc, "'joins' names no pool");
  }

  /// The pool's number, or an error and the number of pools.
  size_t poolCalled(StringRef label, Loc loc) {
    if (!poolsComplete)
      return pools;
    std::vector<std::string> labels;
    for (size_t p = 0; p < pools; ++p) {
      if (cluster.pool(p).label == label)
        return p;
      labels.push_back(cluster.pool(p).label);
    }
    diags.error(loc, "there is no pool '" + label + "'" + didYouMeanName(label, labels));
    return pools;
  }

  void addLevel(size_t p, const Level &said, bool overGiven) {
    Pool &pool = cluster.pool(p);
    IslandLevel level = fabricLevel(pool, said.kind, said.name, said.latency, cluster.assumed);
    level.loc = said.loc;
    level.count = said.joins[p];
    auto devices = static_cast<double>(pool.devicesPerHost);
    bool nvswitch = said.kind == "nvswitch";
    if (nvswitch && !checkNvSwitch(pool, said))
      return;
    if (said.kind == "rail" && pool.nic.count && pool.devicesPerHost % pool.nic.count != 0 &&
        pool.nic.count % pool.devicesPerHost != 0)
      diags.error(said.loc, "kind \"rail\" needs devices and NICs that divide each other; " + pool.name +
                                " has " + Twine(pool.devicesPerHost) + " devices and " +
                                Twine(pool.nic.count) + " NICs");
    if (said.rate) {
      // A network's rate is a host's, an NVLink switch's a device's.
      level.deviceRate = nvswitch ? *said.rate : *said.rate / devices;
      level.rate = nvswitch ? *said.rate * devices : *said.rate;
      if (nvswitch && (pool.fromLibrary || pool.deviceFromLibrary))
        perDirection(said.rateLoc, said.rateAsWritten, *said.rate, pool.device.linkRate, pool.device.name,
                     diags);
    } else if (level.rate == 0) {
      diags.error(said.loc,
                  "the rate of fabric '" + said.name + "' is unknown: give it 'rate', or the host a 'nic'");
    } else if (nvswitch) {
      cluster.assumed.push_back({"rate of fabric '" + said.name + "' for " + pool.label,
                                 rateText(level.deviceRate), "device " + pool.device.name});
    } else if (!overGiven && level.count > 1) {
      cluster.assumed.push_back(
          {"oversubscription of fabric '" + said.name + "' for " + pool.label, "1", "not given"});
    }
    level.oversubscription = said.over;
    level.rate /= said.over;
    last[p] = said.kind;
    lastJoin[p] = said.joinsLoc;
    pool.levels.push_back(std::move(level));
    joined[p] *= said.joins[p];
    if (joined[p] > kMaxRanks)
      diags.error(said.joinsLoc, "the fabric joins more than " + withCommas(kMaxRanks) + " hosts");
  }

  bool checkNvSwitch(const Pool &pool, const Level &said) {
    if (pool.device.linkRate == 0) {
      diags.error(said.loc, "kind \"nvswitch\" joins the devices' own links; device '" + pool.device.name +
                                "' of " + pool.label + " has none");
      return false;
    }
    size_t p = 0;
    while (&cluster.pool(p) != &pool)
      ++p;
    if (!last[p].empty() && last[p] != "nvswitch") {
      diags.error(said.loc,
                  "levels stand from the inside out: kind \"nvswitch\" comes before \"" + last[p] + "\"");
      return false;
    }
    if (pool.fromLibrary && joined[p] * said.joins[p] > pool.islandHosts) {
      if (pool.islandHosts > 1)
        diags.error(said.joinsLoc, "the library says that one NVLink switch joins at most " +
                                       Twine(pool.islandHosts) + " hosts of " + pool.name + "; this joins " +
                                       Twine(joined[p] * said.joins[p]));
      else
        diags.error(said.loc, "the NVLink switch of " + pool.name +
                                  " does not leave the host: use kind \"rail\" or \"switch\"");
      return false;
    }
    return true;
  }

  void readCap(const Value &table, const Level &level) {
    TableReader r(table, "'cap'", diags);
    PoolCap cap;
    cap.loc = table.loc;
    cap.level = level.name;
    const Value *between = r.need("between");
    cap.rate = r.quantity("rate", Unit::ByteRate).value_or(0);
    if (!r.find("rate"))
      r.missing("rate");
    r.finish();
    if (!between)
      return;
    if (between->kind != Value::Kind::Array || between->items.size() != 2 ||
        any_of(between->items, [](const Value &v) { return v.kind != Value::Kind::String; })) {
      diags.error(between->loc, "'between' must name two pools, as in between = [\"a100\", \"l4\"]");
      return;
    }
    size_t a = poolCalled(between->items[0].string, between->items[0].loc);
    size_t b = poolCalled(between->items[1].string, between->items[1].loc);
    if (a == pools || b == pools)
      return;
    if (a == b) {
      diags.error(between->loc, "'between' must name two different pools");
      return;
    }
    for (size_t p : {a, b})
      if (level.joins[p] == 0)
        diags.error(between->loc,
                    "fabric '" + level.name + "' does not join pool '" + cluster.pool(p).label + "'");
    cap.a = cluster.pool(a).label;
    cap.b = cluster.pool(b).label;
    cluster.caps.push_back(std::move(cap));
  }

  /// A table's pools come to lie in one island; a number joins what there is.
  bool merge(const Level &level) {
    size_t first = pools;
    for (size_t p = 0; level.table && p < pools; ++p) {
      if (level.joins[p] == 0)
        continue;
      for (size_t q = 0; q < pools; ++q)
        if (island[q] == island[p] && level.joins[q] != level.joins[p]) {
          diags.error(level.joinsLoc, "pools '" + cluster.pool(p).label + "' and '" + cluster.pool(q).label +
                                          "' lie in the same islands already: join as many of each");
          return false;
        }
    }
    for (size_t p = 0; level.table && p < pools; ++p) {
      if (level.joins[p] == 0)
        continue;
      first = std::min(first, p);
      size_t old = island[p];
      for (size_t &i : island)
        if (i == old)
          i = island[first];
    }
    return true;
  }

  /// NAME:HOSTS replaces the outermost joins of the only pool.
  bool stretch() {
    if (joined[0] == forcedHosts || last[0].empty())
      return true;
    IslandLevel &outer = cluster.levels.back();
    int64_t inner = joined[0] / outer.count;
    if (forcedHosts % inner != 0) {
      diags.error(forcedLoc,
                  Twine(forcedHosts) + " hosts do not fill the inner fabric, which joins " + Twine(inner));
      return false;
    }
    if (last[0] == "nvswitch" && cluster.fromLibrary && forcedHosts > cluster.islandHosts) {
      diags.error(forcedLoc, "one NVLink switch joins at most " + Twine(cluster.islandHosts) + " hosts of " +
                                 cluster.name);
      return false;
    }
    outer.count = forcedHosts / inner;
    joined[0] = forcedHosts;
    return true;
  }

  void checkHosts(size_t p) {
    const Pool &pool = cluster.pool(p);
    if (joined[p] == pool.hosts)
      return;
    std::string of = pools > 1 ? " of pool '" + pool.label + "'" : "";
    if (last[p].empty()) {
      diags
          .error(hostsLocs[p], Twine(pool.hosts) + " hosts" + of + " and no 'fabric': hosts 1 to " +
                                   Twine(pool.hosts - 1) + " cannot be reached from host 0")
          .note("add fabric = [{ name = \"switch\", joins = " + Twine(pool.hosts) +
                ", kind = \"switch\", rate = \"100 Gbit/s\" }]");
    } else if (joined[p] < pool.hosts) {
      diags
          .error(lastJoin[p], "the fabric joins " + Twine(joined[p]) + " of " + Twine(pool.hosts) + " hosts" +
                                  of + ": hosts " + Twine(joined[p]) + " to " + Twine(pool.hosts - 1) +
                                  " cannot be reached")
          .note(hostsLocs[p], "the pool says how many hosts there are");
    } else {
      diags
          .error(lastJoin[p], "the fabric joins " + Twine(joined[p]) + " hosts" + of + ", but the pool has " +
                                  Twine(pool.hosts))
          .note(hostsLocs[p], "the pool says how many hosts there are");
    }
  }

  void checkPools(const Value *fabric) {
    for (size_t p = 1; p < pools; ++p)
      if (island[p] != island[0]) {
        const Pool &a = cluster.pool(0), &b = cluster.pool(p);
        diags
            .error(fabric ? fabric->loc : hostsLocs[p], "no level joins pool '" + b.label + "' with pool '" +
                                                            a.label +
                                                            "': no device of one can reach the other")
            .note("write joins = { " + a.label + " = " + Twine(a.hosts) + ", " + b.label + " = " +
                  Twine(b.hosts) + " } in the level where they meet");
        return;
      }
  }

  Cluster &cluster;
  ArrayRef<Loc> hostsLocs;
  int64_t forcedHosts;
  Loc forcedLoc;
  bool poolsComplete;
  Diagnostics &diags;
  size_t pools;
  std::vector<int64_t> joined;    ///< hosts of each pool that the levels so far join
  std::vector<size_t> island;     ///< equal numbers: pools that meet in one island
  std::vector<std::string> last;  ///< kind of the pool's outermost level so far
  std::vector<Loc> lastJoin;      ///< and where its 'joins' stands
  std::vector<std::string> names; ///< of the levels so far
};

} // namespace

void readFabric(Cluster &cluster, const Value *fabric, ArrayRef<Loc> hostsLocs, int64_t forcedHosts,
                Loc forcedLoc, bool poolsComplete, Diagnostics &diags) {
  FabricReader(cluster, hostsLocs, forcedHosts, forcedLoc, poolsComplete, diags).read(fabric);
}

} // namespace hocket
