//===- collective_fit.cpp - Fabric constants from measured collectives ------===//
#include "compiler/calibrate/collective_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace hocket::calibrate {
namespace {

using cost::Collective;

/// One CSV record with quotes; false at the end.  Newlines inside quotes are kept.
bool nextRecord(std::string_view text, size_t &at, size_t &line, std::vector<std::string> &fields) {
  fields.clear();
  if (at >= text.size())
    return false;
  std::string field;
  bool quoted = false;
  for (;; ++at) {
    if (at >= text.size() || (!quoted && text[at] == '\n')) {
      if (!field.empty() && field.back() == '\r')
        field.pop_back();
      fields.push_back(field);
      ++at;
      ++line;
      return true;
    }
    char c = text[at];
    if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
      field += '"';
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.push_back(field);
      field.clear();
    } else {
      line += c == '\n';
      field += c;
    }
  }
}

double number(const std::string &text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value > 0 ? value
                                                                                                       : 0;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// GB/s per direction inside the first level: data sheets.  First match counts.
struct Gpu {
  const char *name;
  double rate;
  double nic; ///< GB/s per direction of one GPU's share of the usual host's NICs
  bool sums;  ///< NVSwitch with in-switch reduction
};
constexpr Gpu kGpus[] = {
    {"GB300", 900, 100, true},        {"GB200", 900, 100, true},     {"B300", 900, 100, true},
    {"B200", 900, 50, true},          {"H100 PCIe", 300, 50, false}, {"H100", 450, 50, true},
    {"H200", 450, 50, true},          {"H800", 200, 50, true},       {"H20", 450, 50, true},
    {"A800", 200, 25, false},         {"A100", 300, 25, false},      {"V100", 150, 1.5625, false},
    {"MI300X", 448, 50, false},       {"RTX 5090", 63, 12.5, false}, {"RTX 4090", 31.5, 12.5, false},
    {"GTX 1080", 15.75, 1.25, false}, {"T4", 15.75, 12.5, false},    {"L40S", 31.5, 12.5, false},
    {"L4", 15.75, 12.5, false}};

/// Systems whose NICs differ from the usual: GB/s per direction of a GPU's share.
struct Network {
  const char *word;
  double nic;
};
constexpr Network kNetworks[] = {{"A3 Mega", 25},  {"A3 High", 12.5},     {"A3 Ultra", 50}, {"p4de", 6.25},
                                 {"p4d.", 6.25},   {"p5.", 50},           {"p5en", 50},     {"p6-b300", 100},
                                 {"p6-b200", 50},  {"g4dn.metal", 12.5},  {"4x HDR", 12.5}, {"ND A100", 25},
                                 {"NDm A100", 25}, {"TCP sockets", 3.125}};

/// "(16x100Gb/s" states the NICs of a host.
double statedNics(const std::string &system, double perHost) {
  size_t end = system.find("Gb/s"), open = end == std::string::npos ? end : system.rfind('(', end);
  if (open == std::string::npos)
    return 0;
  size_t by = system.find('x', open);
  if (by == std::string::npos || by > end)
    return 0;
  return number(system.substr(open + 1, by - open - 1)) * number(system.substr(by + 1, end - by - 1)) / 8 /
         perHost;
}

/// DGX-1V joins its eight V100s by a hybrid cube mesh of 25 GB/s links; the rings through devices 0 .. n-1
/// that share no link, both directions counted.  Device 4 of five hangs on device 0 alone: a closed walk
/// passes 0 twice.
constexpr double kCubeMeshRings[] = {0, 0, 1, 2, 4, 2, 2, 4, 6};

/// The kind of machine and network: what should share constants.
std::string fabricOf(const std::string &system, const std::string &gpu, bool single) {
  for (const char *word : {"p6-b200", "p6-b300", "p5en", "p5.48", "p4d", "g4dn", "A3 Mega", "A3 High",
                           "A3 Ultra", "Nebius", "NVL72", "MI300X", "OCI BM.GPU", "PCIe"})
    if (has(system, word) && !(single && !has(system, "NVL72") && !has(system, "PCIe")))
      return std::string(word) + (has(system, "NVL72") && !has(system, "single") ? " racks" : "");
  return single ? gpu + ", one host" : system;
}

std::string mapRow(CollectiveRow &row, const std::map<std::string, std::string> &field) {
  auto at = [&](const char *name) -> const std::string & {
    static const std::string none;
    auto found = field.find(name);
    return found == field.end() ? none : found->second;
  };
  const std::string &system = at("system"), &name = at("gpu"), &op = at("op"), &algo = at("algo");
  const Gpu *gpu = nullptr;
  for (const Gpu &one : kGpus)
    if (!gpu && has(name, one.name))
      gpu = &one;
  double time = number(at("time_us")) * 1e-6, rate = number(at("algbw_GBps")) * 1e9,
         bus = number(at("busbw_GBps")) * 1e9;
  row.knownGpu = gpu != nullptr;
  row.measured = time > 0 || bus > 0;
  if (!gpu)
    return "GPU not stated or not in the library";
  if (!row.measured)
    return "neither a time nor a bus rate";
  static const std::map<std::string, Collective> ops = {{"all_reduce", Collective::AllReduce},
                                                        {"all_gather", Collective::AllGather},
                                                        {"reduce_scatter", Collective::ReduceScatter},
                                                        {"alltoall", Collective::AllToAll},
                                                        {"broadcast", Collective::Broadcast},
                                                        {"sendrecv", Collective::SendReceive},
                                                        {"p2p_copy_unidirectional", Collective::SendReceive}};
  auto known = ops.find(op);
  if (known == ops.end())
    return op == "ep_dispatch" || op == "ep_combine" ? "expert dispatch, its rate as its tool defines it"
                                                     : "not a collective: " + op;
  row.op = known->second;
  double members = number(at("gpus")), hosts = std::max(1.0, number(at("nodes")));
  if (members < 2 || hosts > members || std::floor(members / hosts) != members / hosts)
    return "number of ranks not stated";
  row.bytes = number(at("size_bytes"));
  if (row.bytes == 0 && bus > 0)
    row.bytes = 8589934592.0; // a peak without its size: where the rate no longer rises
  if (row.bytes == 0)
    return "no size";
  // A rate of two decimals says little of a small message, so the time goes first.
  double factor = cost::busFactor(row.op, members);
  row.seconds = time > 0                                                   ? time
                : rate > 0 && rate > bus / factor * 0.5 && bus < 1e9 * 0.1 ? row.bytes / rate
                                                                           : row.bytes * factor / bus;
  double inside = members / hosts, islands = hosts;
  double nic = statedNics(system, inside);
  for (const Network &network : kNetworks)
    if (nic == 0 && has(system, network.word))
      nic = network.nic;
  if (nic == 0)
    nic = gpu->nic;
  if (has(system, "NVL72")) {
    islands = std::ceil(members / 72);
    inside = members / islands;
  }
  double rate0 = gpu->rate;
  if (has(system, "vTrain") && has(name, "V100") && islands <= 1 && inside <= 8)
    rate0 = 25 * kCubeMeshRings[int(inside)];
  row.group.levels = 2;
  row.group.level[0] = {inside, rate0 * 1e9, 1, 1, gpu->sums};
  row.group.level[1] = {islands, nic * 1e9, 1, 1, has(algo, "SHARP")};
  if (has(algo, "MSCCL++"))
    row.algorithms |= cost::kHierarchical;
  else if (algo == "Ring")
    row.algorithms = cost::kRing;
  else if (algo == "NVLSTree")
    row.algorithms = cost::kNvlsTree;
  row.fabric = fabricOf(system, gpu->name, islands <= 1);
  return "";
}

/// No collective is four times slower than one of more bytes in its own sweep: such rows
/// (first ones, mostly) carry the setting up of connections.
void dropWarmUp(std::vector<CollectiveRow> &rows) {
  std::map<std::string, std::vector<CollectiveRow *>> tables;
  for (CollectiveRow &row : rows)
    if (row.unmapped.empty())
      tables[row.table].push_back(&row);
  for (auto &[name, table] : tables)
    for (CollectiveRow *row : table)
      for (const CollectiveRow *larger : table)
        if (larger->bytes > row->bytes && larger->seconds * 4 < row->seconds)
          row->unmapped = "over four times the time of a larger message in its sweep: warm-up";
}

double *constantAt(cost::FabricConstants &c, int i) {
  double *all[] = {&c.startup, &c.hop, &c.inner, &c.outer, &c.ramp, &c.low};
  return all[i];
}
/// Standard deviations of the priors, of logarithms; and the legal range.
constexpr double kSpread[] = {1.0, 1.0, 0.5, 0.5, 1.5, 1.0};
constexpr double kLeast[] = {1e-7, 1e-7, 0.01, 0.002, 1e-8, 0.005};
constexpr double kMost[] = {1e-2, 1e-2, 1, 1, 1e-2, 0.5};

double loss(const std::vector<const CollectiveRow *> &rows, cost::FabricConstants constants) {
  cost::FabricConstants prior;
  double sum = 0;
  for (const CollectiveRow *row : rows) {
    double ratio = std::log(predict(*row, constants) / row->seconds) / 0.1;
    sum += 2 * (std::sqrt(1 + ratio * ratio) - 1);
  }
  for (int i = 0; i < cost::FabricConstants::kCount; ++i) {
    double away = std::log(*constantAt(constants, i) / *constantAt(prior, i)) / kSpread[i];
    sum += 0.3 * away * away;
  }
  return sum;
}

} // namespace

CollectiveRows readCollectives(std::string_view text) {
  CollectiveRows result;
  size_t at = 0, line = 1;
  std::vector<std::string> heading, fields;
  if (!nextRecord(text, at, line, heading)) {
    result.error = "empty file";
    return result;
  }
  for (const char *needed : {"source", "system", "gpu", "nodes", "gpus", "op", "algo", "size_bytes",
                             "time_us", "algbw_GBps", "busbw_GBps"})
    if (std::find(heading.begin(), heading.end(), needed) == heading.end()) {
      result.error = std::string("no column '") + needed + "'";
      return result;
    }
  for (size_t start = line; nextRecord(text, at, line, fields); start = line) {
    if (fields.size() == 1 && fields[0].empty())
      continue;
    if (fields.size() != heading.size()) {
      result.error = "line " + std::to_string(start) + ": " + std::to_string(fields.size()) +
                     " fields, the heading has " + std::to_string(heading.size());
      return result;
    }
    std::map<std::string, std::string> field;
    for (size_t i = 0; i < fields.size(); ++i)
      field[heading[i]] = fields[i];
    CollectiveRow row;
    row.line = start;
    std::string source = field["source"];
    if (size_t cut = source.find(" line "); cut != std::string::npos)
      source.resize(cut);
    row.table = field["system"] + " | " + field["gpus"] + " x " + field["gpu"] + " | " + field["op"] + " " +
                field["algo"] + " | " + source;
    row.unmapped = mapRow(row, field);
    result.rows.push_back(std::move(row));
  }
  dropWarmUp(result.rows);
  return result;
}

cost::FabricConstants fitFabric(const std::vector<const CollectiveRow *> &rows) {
  cost::FabricConstants best;
  double least = INFINITY;
  // Pattern search from a few starts: the minimum over algorithms has kinks, gradients mislead.
  for (double startScale : {0.3, 1.0, 4.0})
    for (double rampScale : {0.1, 1.0, 10.0}) {
      cost::FabricConstants now;
      now.startup *= startScale;
      now.hop *= startScale;
      now.ramp *= rampScale;
      double value = loss(rows, now);
      for (double step = 0.5; step > 0.004; step *= 0.6)
        for (int round = 0; round < 12; ++round) {
          double before = value;
          for (int i = 0; i < cost::FabricConstants::kCount; ++i)
            for (int j = i; j < cost::FabricConstants::kCount; ++j)
              for (int signs = 0; signs < 4; ++signs) {
                cost::FabricConstants next = now;
                auto move = [&](int which, bool up) {
                  double *value = constantAt(next, which);
                  *value = std::clamp(*value * std::exp(up ? step : -step), kLeast[which], kMost[which]);
                };
                move(i, signs & 1);
                if (j != i)
                  move(j, signs & 2);
                if (double v = loss(rows, next); v < value - 1e-12) {
                  value = v;
                  now = next;
                }
              }
          if (value > before - 1e-9)
            break;
        }
      if (value < least) {
        least = value;
        best = now;
      }
    }
  return best;
}

CollectiveError errorOf(const std::vector<const CollectiveRow *> &rows,
                        const cost::FabricConstants &constants) {
  CollectiveError error;
  for (const CollectiveRow *row : rows) {
    double off = std::fabs(predict(*row, constants) / row->seconds - 1);
    bool above = row->bytes >= 1048576;
    (above ? error.above : error.below) += 1;
    (above ? error.meanAbove : error.meanBelow) += off;
    double &worst = above ? error.worstAbove : error.worstBelow;
    worst = std::max(worst, off);
  }
  error.meanAbove /= std::max(1, error.above);
  error.meanBelow /= std::max(1, error.below);
  return error;
}

void splitSizes(std::vector<const CollectiveRow *> table, std::vector<const CollectiveRow *> &fitted,
                std::vector<const CollectiveRow *> &tested) {
  std::sort(table.begin(), table.end(),
            [](auto *a, auto *b) { return a->bytes != b->bytes ? a->bytes < b->bytes : a->line < b->line; });
  for (size_t i = 0; i < table.size(); ++i)
    (i % 4 == 0 ? fitted : tested).push_back(table[i]);
}

} // namespace hocket::calibrate
