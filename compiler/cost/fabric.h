//===- fabric.h - Groups of a mesh on the devices, and what their rings take ===//
//
// Two tiers: the islands whose links run at the innermost level's rate, and all
// beyond them at the least rate of the levels that a group spans.  Seconds by
// cost/collective.h, with the constants that steps were fitted with.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/collective.h"
#include "compiler/cost/constants.h"
#include "compiler/cost/machine.h"

#include <array>
#include <span>

namespace hocket::cost {

/// A group of devices as its ring sees it.
struct RingGroup {
  double size = 1;
  double inside = 1; ///< members within one island
  double reach = 1;  ///< devices from the first member to the last, in the order of the machine
};

/// Members of an axis of a mesh stand `stride` devices apart.
struct PlacedAxis {
  double size = 1, stride = 1;
};

/// The axes of a mesh on the machine, by Axis.
std::array<PlacedAxis, 4> placed(const Tactics &tactics);

class Fabric {
public:
  Fabric(const Machine &machine, const ClusterConstants &constants);

  RingGroup group(const PlacedAxis &axis) const;
  /// Of the devices of several axes, innermost first: the first `count` after every `skip`-th.
  RingGroup group(std::span<const PlacedAxis> axes, double skip, double count) const;

  /// Seconds of an all-gather or reduce-scatter of `bytes` (gathered size); `passes` 2 for an all-reduce.
  double ring(double bytes, const RingGroup &group, double passes = 1) const;
  /// Every member sends its bytes in equal parts to every other; `copies` of one
  /// element in them cross to an island once and are spread there.
  double allToAll(double bytes, const RingGroup &group, double copies) const;
  /// From one device to another `stride` away.
  double transfer(double bytes, double stride) const;
  /// Seconds of a collective of no bytes.
  double latency(const RingGroup &group) const;

private:
  double outer(double reach) const;

  ClusterConstants c;
  FabricConstants measured;
  double island = 1, nominal = 1e12, inner = 1e12;
  struct Level {
    double capacity, rate; ///< devices, bytes/s of one device's share
  };
  std::array<Level, 6> levels{};
  size_t count = 0;
};

/// The axes that hold one stage, innermost first.
std::array<PlacedAxis, 3> layerAxes(const std::array<PlacedAxis, 4> &axes);

/// The devices that share a layer's experts, and those that hold the same ones.
struct ExpertGroups {
  RingGroup experts, replicas;
};
ExpertGroups expertGroups(const Fabric &fabric, const Tactics &tactics,
                          const std::array<PlacedAxis, 4> &axes);

/// The longer of two that mostly run beside each other.
double beside(double a, double b);

} // namespace hocket::cost
