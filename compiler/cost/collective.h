//===- collective.h - Seconds of a collective on a nested fabric ------------===//
//
// The least over the algorithms and protocols that the library has, from the
// fabric's nominal rates and at most six measured constants.  Plain numbers and
// no allocation: a search asks a million times a second.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/machine.h"

#include <array>
#include <cstdint>
#include <span>

namespace hocket::cost {

enum class Collective : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendReceive };

/// Algorithms, as bits of what a library has.
enum Algorithm : uint32_t {
  kRing = 1,         ///< one ring through all members
  kTree = 2,         ///< double binary tree between islands, chains inside
  kNvls = 4,         ///< the switch of the innermost level sums and multicasts
  kNvlsTree = 8,     ///< kNvls inside, trees between islands
  kCollNet = 16,     ///< the outer switches sum (SHARP)
  kHierarchical = 32 ///< scatter inside, rings along rails outside, gather inside; pipelined
};
inline constexpr uint32_t kNccl = kRing | kTree | kNvls | kNvlsTree | kCollNet;

/// Of one cluster fabric: six numbers, fitted or taken from another table of the same fabric.
struct FabricConstants {
  double startup = 10e-6; ///< seconds of a collective of no bytes, without its hops
  double hop = 8e-6;      ///< seconds of a step between islands, LL protocol
  double inner = 0.8;     ///< share of level 0's nominal rate, in (0, 1]
  double outer = 0.9;     ///< share of the outer levels' nominal rates, in (0, 1]
  double ramp = 10e-6;    ///< seconds to fill the pipeline: adds 2 sqrt(ramp * bytes / rate)
  double low = 0.15;      ///< share of the rate that the LL protocol reaches

  static constexpr int kCount = 6;
};

inline constexpr int kMaxLevels = 6;

/// One level of a group: `count` islands of the level inside it.
struct GroupLevel {
  double count = 1;    ///< islands of the group that meet here
  double rate = 0;     ///< bytes/s per direction of one member's share of its island's links
  double sharers = 1;  ///< groups that use a member's share at the same time
  double thinning = 1; ///< oversubscription: all-to-all gets rate / thinning
  bool reduces = false;
};

/// A group from the inside out.  Levels of count 1 may be left in.
struct Group {
  std::array<GroupLevel, kMaxLevels> level{};
  int levels = 0;

  double members() const {
    double product = 1;
    for (int i = 0; i < levels; ++i)
      product *= level[i].count;
    return product;
  }
};

/// The group with `counts[i]` islands at each level of the fabric and `sharers[i]`
/// (empty: 1) groups on a member's links there.
Group groupOn(std::span<const FabricLevel> fabric, std::span<const int64_t> counts,
              std::span<const int64_t> sharers = {});

/// Seconds; `bytes` is the payload of a rank: of an all-gather and a
/// reduce-scatter the whole (gathered) buffer, of an all-to-all what one rank
/// sends to all, of send/receive the message.  A group of 1 takes 0; one without links, for ever.
/// Never below `cutBound`.
double collectiveSeconds(Collective op, double bytes, const Group &group, const FabricConstants &constants,
                         uint32_t algorithms = kNccl);

/// Least seconds by the bytes over the narrowest cut: one island of any level
/// left out.  An all-reduce crosses a cut 2(k-1)/k times among k islands; once
/// where the level's switch sums.
/// Source: ForestColl (arXiv 2402.06787), for nested islands.
double cutBound(Collective op, double bytes, const Group &group, bool inSwitch = true);

/// nccl-tests' bus rate over algorithm rate (doc/PERFORMANCE.md).
double busFactor(Collective op, double members);

} // namespace hocket::cost
