//===- collective.cpp - Seconds of a collective on a nested fabric ----------===//
//
// time = startup + hops + bytes / rate + 2 sqrt(ramp * bytes / rate)
//
// The root is what remains of (h + c - 1)(a + S / (c B)) at the best number of
// chunks c = sqrt((h - 1) S / (a B)), with ramp = (h - 1) a.  Hops and shares of
// the protocols, and the shape of each algorithm's latency: NCCL 2.30.7
// src/graph/tuning.cc, of which startup, hop, inner, outer and low replace what
// depends on the cluster.
//
//===----------------------------------------------------------------------===//
#include "compiler/cost/collective.h"

#include <algorithm>
#include <cmath>

namespace hocket::cost {
namespace {

/// LL, LL128, Simple.
struct Protocol {
  double startup; ///< times FabricConstants::startup
  double inside;  ///< seconds a step inside an island (NVLink)
  double between; ///< times FabricConstants::hop
  double share;   ///< of the rate; 0: FabricConstants::low
  double ramp;    ///< times FabricConstants::ramp
};
constexpr Protocol kProtocols[] = {
    {1.0, 0.6e-6, 1.0, 0, 0.0}, {1.25, 1.9e-6, 1.5, 0.92, 0.5}, {1.5, 3.4e-6, 3.0, 1, 1.0}};

/// In-switch sums in terms of the bus rate, which neither NCCL's model nor 8 against
/// 72 GPUs of one domain (838 and 840 GB/s) make depend on the members: measured over
/// the ring, 1.31 (8 H200) and 1.23 (8 B200).
constexpr double kNvlsGain = 1.27;
/// NCCL's tree over its ring.
constexpr double kTreeShare = 0.92;

/// The group as two tiers: the innermost islands of more than one member, and all between them.
struct Tiers {
  double inside = 1, islands = 1;
  double insideRate = 0;  ///< one member's
  double outsideRate = 0; ///< one island's, the narrowest outer level
  bool insideReduces = false, outsideReduces = false;
  double memberOutside = 0, thinned = 0; ///< one member's share outside, and with oversubscription
};

Tiers tiersOf(const Group &group) {
  Tiers tiers;
  bool first = true;
  for (int i = 0; i < group.levels; ++i) {
    const GroupLevel &level = group.level[i];
    double rate = level.rate / level.sharers;
    if (i == 0) {
      tiers.inside = level.count;
      tiers.insideRate = rate;
      tiers.insideReduces = level.reduces;
      continue;
    }
    if (level.count <= 1)
      continue;
    tiers.islands *= level.count;
    double thin = rate / level.thinning;
    if (first || rate < tiers.memberOutside)
      tiers.memberOutside = rate;
    if (first || thin < tiers.thinned)
      tiers.thinned = thin;
    tiers.outsideReduces = first ? level.reduces : tiers.outsideReduces && level.reduces;
    first = false;
  }
  tiers.outsideRate = tiers.memberOutside * tiers.inside;
  return tiers;
}

/// Seconds that the wire is busy at the full rate, and the steps of each kind.
struct Work {
  double wire = 0;
  double insideSteps = 0, betweenSteps = 0;
  bool simpleOnly = false;
};

double run(const Work &work, const FabricConstants &constants) {
  double best = INFINITY;
  for (const Protocol &protocol : kProtocols) {
    if (work.simpleOnly && protocol.ramp < 1)
      continue;
    double wire = work.wire / (protocol.share > 0 ? protocol.share : constants.low);
    double seconds = constants.startup * protocol.startup + work.insideSteps * protocol.inside +
                     work.betweenSteps * constants.hop * protocol.between + wire +
                     2 * std::sqrt(constants.ramp * protocol.ramp * wire);
    best = std::min(best, seconds);
  }
  return best;
}

} // namespace

Group groupOn(std::span<const FabricLevel> fabric, std::span<const int64_t> counts,
              std::span<const int64_t> sharers) {
  Group group;
  for (size_t i = 0; i < fabric.size() && i < counts.size(); ++i) {
    double sharing = i < sharers.size() ? double(std::max<int64_t>(1, sharers[i])) : 1;
    if (i >= size_t(kMaxLevels)) {
      // Levels beyond the last slot join it, at the worse of both.
      GroupLevel &last = group.level[kMaxLevels - 1];
      if (counts[i] <= 1)
        continue;
      last.count *= double(counts[i]);
      last.rate = std::min(last.rate, fabric[i].rate);
      last.sharers = std::max(last.sharers, sharing);
      last.thinning = std::max(last.thinning, fabric[i].oversubscription);
      last.reduces &= fabric[i].reduces;
      continue;
    }
    GroupLevel &level = group.level[i];
    level.count = double(std::max<int64_t>(1, counts[i]));
    level.rate = fabric[i].rate;
    level.sharers = sharing;
    level.thinning = std::max(1.0, fabric[i].oversubscription);
    level.reduces = fabric[i].reduces;
    group.levels = int(i) + 1;
  }
  return group;
}

double busFactor(Collective op, double members) {
  switch (op) {
  case Collective::AllReduce:
    return 2 * (members - 1) / members;
  case Collective::AllGather:
  case Collective::ReduceScatter:
  case Collective::AllToAll:
    return (members - 1) / members;
  case Collective::Broadcast:
  case Collective::SendReceive:
    break;
  }
  return 1;
}

double cutBound(Collective op, double bytes, const Group &group, bool inSwitch) {
  double members = group.members();
  if (members <= 1 || bytes <= 0)
    return 0;
  double bound = 0, island = 1;
  for (int i = 0; i < group.levels; ++i) {
    if (group.level[i].count <= 1)
      continue;
    // An island of the level inside may leave by this level's links and by all further out.
    double out = 0;
    bool reduces = false;
    for (int j = i; j < group.levels; ++j) {
      if (group.level[j].count <= 1)
        continue;
      out += island * group.level[j].rate / group.level[j].sharers;
      reduces |= group.level[j].reduces;
    }
    double share = island / members, crossing = 0;
    switch (op) {
    case Collective::AllReduce:
      crossing = inSwitch && reduces ? bytes : 2 * (1 - share) * bytes;
      break;
    case Collective::AllGather:
    case Collective::ReduceScatter:
      crossing = (1 - share) * bytes;
      break;
    case Collective::AllToAll:
      crossing = island * (1 - share) * bytes;
      break;
    case Collective::Broadcast:
    case Collective::SendReceive:
      crossing = bytes;
      break;
    }
    // With a summing switch the ring is still allowed, so the bound is the lesser of both.
    if (op == Collective::AllReduce)
      crossing = std::min(crossing, 2 * (1 - share) * bytes);
    bound = std::max(bound, crossing / out);
    island *= group.level[i].count;
  }
  return bound;
}

double collectiveSeconds(Collective op, double bytes, const Group &group, const FabricConstants &constants,
                         uint32_t algorithms) {
  double n = group.members();
  if (n <= 1)
    return 0;
  Tiers tiers = tiersOf(group);
  double g = tiers.inside, hosts = tiers.islands;
  bool one = hosts <= 1, alone = g <= 1;
  double in = tiers.insideRate * constants.inner;
  double out = tiers.outsideRate * constants.outer;
  // A ring enters and leaves every island once: all of its NICs, or one member's links.
  double ringRate = one ? in : alone ? out : std::min(in, out);
  double log = one ? 0 : std::ceil(std::log2(hosts));
  double best = INFINITY;
  auto consider = [&](const Work &work) { best = std::min(best, run(work, constants)); };

  switch (op) {
  case Collective::AllReduce: {
    double passes = 2 * (n - 1) / n;
    if (algorithms & kRing)
      consider({passes * bytes / ringRate, 2 * (n - hosts), 2 * (hosts - 1) * (one ? 0.0 : 1.0), false});
    double cross = one ? 0 : (hosts <= 2 ? 1 : 2) * bytes / out;
    if ((algorithms & kTree) && !one)
      consider({std::max(alone ? 0 : passes * bytes / in, cross) / kTreeShare, 2 * (g - 1), 2 * log, false});
    double summed = tiers.insideReduces && g > 2 ? 2 * (g - 1) / g * bytes / (in * kNvlsGain) : 0;
    if (tiers.insideReduces && g > 2) {
      if (one && (algorithms & kNvls))
        consider({summed, 2, 0, true});
      if (!one && (algorithms & kNvlsTree))
        consider({std::max(summed, cross), 2, 2 * log, true});
    }
    if (!one && tiers.outsideReduces && (algorithms & kCollNet)) {
      double local = alone ? 0 : summed > 0 ? summed : 2 * (g - 1) / g * bytes / in;
      consider({std::max(local, bytes * (1 + 1 / hosts) / out), 2, 2, true});
    }
    if (!one && !alone && (algorithms & kHierarchical))
      consider({std::max(2 * (g - 1) / g * bytes / in, 2 * (hosts - 1) / hosts * bytes / out), 2 * (g - 1),
                2 * (hosts - 1), false});
    break;
  }
  case Collective::AllGather:
  case Collective::ReduceScatter:
    if (algorithms & kRing)
      consider({(n - 1) / n * bytes / ringRate, n - hosts, one ? 0.0 : hosts - 1, false});
    if (!one && !alone && (algorithms & kHierarchical))
      consider(
          {std::max((n - 1) / n * bytes / in, (hosts - 1) / hosts * bytes / out), g - 1, hosts - 1, false});
    break;
  case Collective::AllToAll: {
    // Direct: every pair; what leaves the island goes by one member's own share.
    double local = alone ? 0 : (g - 1) / n * bytes / in;
    double away = one ? 0 : (n - g) / n * bytes / (tiers.thinned * constants.outer);
    consider({std::max(local, away), alone ? 0.0 : 1.0, one ? 0.0 : 1.0, false});
    break;
  }
  case Collective::Broadcast:
    consider({bytes / ringRate, n - hosts, one ? 0.0 : hosts - 1, false});
    if (!one)
      consider({bytes / ringRate / kTreeShare, g - 1, log, false});
    break;
  case Collective::SendReceive:
    // One pair, by one member's share of the widest level that joins them.
    consider({bytes / (one ? in : tiers.memberOutside * constants.outer), one ? 1.0 : 0.0, one ? 0.0 : 1.0,
              false});
    break;
  }
  // A mask without a usable algorithm falls back to the ring, which every library has.
  if (!std::isfinite(best))
    return algorithms == kRing ? INFINITY : collectiveSeconds(op, bytes, group, constants, kRing);
  return std::max(best, cutBound(op, bytes, group));
}

} // namespace hocket::cost
