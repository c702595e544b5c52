#include "compiler/cost/fabric.h"

#include <algorithm>
#include <cmath>

namespace hocket::cost {

double beside(double a, double b) {
  double x = a * a, y = b * b;
  return std::sqrt(std::sqrt(x * x + y * y));
}

std::array<PlacedAxis, 4> placed(const Tactics &t) {
  std::array<PlacedAxis, 4> out;
  double stride = 1;
  for (size_t i = t.order.size(); i-- > 0;) {
    Axis axis = t.order[i];
    double size = double(axis == Axis::Pipeline  ? t.pipeline
                         : axis == Axis::Data    ? t.data
                         : axis == Axis::Context ? t.context
                                                 : t.tensor);
    out[size_t(axis)] = {size, stride};
    stride *= size;
  }
  return out;
}

/// What steps tell of a fabric, as collectives take it.
static FabricConstants fabricOf(const ClusterConstants &c) {
  FabricConstants f;
  f.startup = c.innerLatency;
  f.hop = 0.27 * c.outerLatency; // the defaults of both: 8 us of 30
  f.inner = std::min(1.0, c.inner), f.outer = std::min(1.0, c.outer);
  f.ramp = 2e-6;
  return f;
}

Fabric::Fabric(const Machine &machine, const ClusterConstants &constants)
    : c(constants), measured(fabricOf(constants)) {
  if (machine.levels.empty())
    return;
  const FabricLevel &first = machine.levels.front();
  island = double(first.count), nominal = first.rate, inner = first.rate * c.inner;
  size_t next = 1;
  // One switch domain over several hosts is one island.
  while (next < machine.levels.size() && first.kind == FabricKind::NvSwitch &&
         machine.levels[next].kind == FabricKind::NvSwitch && machine.levels[next].rate >= first.rate)
    island *= double(machine.levels[next++].count);
  double capacity = island, rate = 0;
  for (; next < machine.levels.size() && count < levels.size(); ++next) {
    const FabricLevel &level = machine.levels[next];
    double here = level.rate / level.oversubscription;
    capacity *= double(level.count), rate = rate > 0 ? std::min(rate, here) : here;
    levels[count++] = {capacity, rate};
  }
  if (count == 0)
    levels[count++] = {island, first.rate / first.oversubscription};
}

double Fabric::outer(double reach) const {
  if (count == 0)
    return 1e12;
  for (size_t i = 0; i + 1 < count; ++i)
    if (reach <= levels[i].capacity)
      return levels[i].rate;
  return levels[count - 1].rate;
}

RingGroup Fabric::group(const PlacedAxis &axis) const {
  return {axis.size, std::clamp(island / axis.stride, 1.0, axis.size), axis.size * axis.stride};
}

RingGroup Fabric::group(std::span<const PlacedAxis> axes, double skip, double members) const {
  RingGroup g;
  g.size = members;
  for (PlacedAxis axis : axes) {
    if (skip >= axis.size) {
      skip /= axis.size;
      continue;
    }
    axis.stride *= skip, axis.size /= skip, skip = 1;
    double here = std::min(axis.size, members);
    if (here <= 1)
      break;
    g.inside *= std::clamp(island / axis.stride, 1.0, here);
    g.reach = std::max(g.reach, here * axis.stride);
    members /= here;
  }
  return g;
}

double Fabric::ring(double bytes, const RingGroup &g, double passes) const {
  if (g.size <= 1)
    return 0;
  // In-switch sums stay off: the measured steps were fitted without, so `inner` holds what they gain.
  Group group;
  group.levels = 2;
  group.level[0].count = g.inside, group.level[0].rate = nominal;
  group.level[1].count = g.size / g.inside, group.level[1].rate = outer(g.reach);
  return collectiveSeconds(passes == 2 ? Collective::AllReduce : Collective::AllGather, bytes, group,
                           measured);
}

double Fabric::latency(const RingGroup &g) const { return ring(0, g); }

double Fabric::allToAll(double bytes, const RingGroup &g, double copies) const {
  if (g.size <= 1)
    return 0;
  double hosts = g.size / g.inside;
  if (hosts <= 1)
    return bytes * (g.size - 1) / g.size / inner + c.innerLatency;
  // Islands that one element goes to.
  double reached = copies == 1 ? 1 : hosts * (1 - std::pow(1 - 1 / hosts, copies));
  double away = bytes / copies * reached * (hosts - 1) / hosts;
  return beside(bytes * (g.inside - 1) / g.size / inner, away / (outer(g.reach) * c.outer)) + c.outerLatency;
}

double Fabric::transfer(double bytes, double stride) const {
  return stride < island ? bytes / inner + c.innerLatency
                         : bytes / (outer(2 * stride) * c.transfer) + c.outerLatency;
}

std::array<PlacedAxis, 3> layerAxes(const std::array<PlacedAxis, 4> &axes) {
  std::array<PlacedAxis, 3> out = {axes[size_t(Axis::Tensor)], axes[size_t(Axis::Context)],
                                   axes[size_t(Axis::Data)]};
  std::sort(out.begin(), out.end(),
            [](const PlacedAxis &a, const PlacedAxis &b) { return a.stride < b.stride; });
  return out;
}

ExpertGroups expertGroups(const Fabric &fabric, const Tactics &x, const std::array<PlacedAxis, 4> &axes) {
  std::array<PlacedAxis, 3> inner = layerAxes(axes);
  double et = std::max(1.0, double(x.expertTensor)), e = double(x.expert);
  double replicas = std::max(1.0, double(x.data * x.context * x.tensor) / (e * et));
  return {fabric.group(inner, et, e), fabric.group(inner, et * e, replicas)};
}

} // namespace hocket::cost
