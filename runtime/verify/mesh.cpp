//===- mesh.cpp - Axes, communicators, class boxes --------------------------===//

#include "runtime/verify/context.h"

#include <algorithm>

namespace hocket::verify {

/// rank = sum of coordinate * stride must number the mesh's points 0 .. ranks-1,
/// which holds exactly when the strides are the running products of the sizes
/// in some order of the axes.
static void verifyAxes(Context &cx) {
  const std::vector<Axis> &axes = cx.plan.axes;
  uint64_t ranks = 1;
  std::set<std::string> names;
  for (const Axis &a : axes) {
    if (a.name.empty() || !names.insert(a.name).second)
      cx.plainFinding("mesh axis named " + quote(a.name), "names that are not empty and occur once");
    if (a.size == 0)
      return cx.plainFinding("mesh axis " + quote(a.name) + " has size 0", "a size of at least 1");
    ranks *= a.size; // both below 2^32 here
    if (ranks > kMaxRanks)
      return cx.plainFinding("the mesh has more than " + num(kMaxRanks) + " ranks",
                             "at most " + num(kMaxRanks));
  }
  std::vector<const Axis *> order;
  for (const Axis &a : axes)
    if (a.size > 1)
      order.push_back(&a);
  std::sort(order.begin(), order.end(), [](const Axis *a, const Axis *b) { return a->stride < b->stride; });
  uint64_t stride = 1;
  std::set<uint64_t> products = {1};
  for (const Axis *a : order) {
    if (a->stride != stride)
      return cx.plainFinding("mesh axis " + quote(a->name) + " has stride " + num(a->stride),
                             "stride " + num(stride) + ", the product of the faster axes' sizes");
    products.insert(stride *= a->size);
  }
  for (const Axis &a : axes)
    if (a.size == 1 && !products.count(a.stride))
      cx.plainFinding("mesh axis " + quote(a.name) + " of one rank has stride " + num(a.stride),
                      "a product of the faster axes' sizes");
}

static void verifyCommunicators(Context &cx) {
  for (const Communicator &c : cx.plan.communicators) {
    std::set<uint32_t> seen;
    for (uint32_t a : c.axes)
      if (a >= cx.plan.axes.size() || !seen.insert(a).second)
        cx.plainFinding("communicator " + quote(c.name) + " names axis " + num(a),
                        "each of the mesh's " + num(cx.plan.axes.size()) + " axes at most once");
    if (c.axes.empty() || (c.pair && c.axes.size() != 1))
      cx.plainFinding("communicator " + quote(c.name) + " spans " + num(c.axes.size()) + " axes",
                      "one axis for a pair communicator, at least one for a group");
  }
}

/// Numbers of the ranks of a box, ascending in the axes' order.
static std::vector<uint32_t> ranksOfBox(const std::vector<Axis> &axes, const ClassProgram &c) {
  std::vector<uint32_t> ranks = {0};
  for (size_t a = 0; a < axes.size(); ++a) {
    std::vector<uint32_t> next;
    next.reserve(ranks.size() * (c.last[a] - c.first[a] + 1));
    for (uint32_t r : ranks)
      for (uint32_t x = c.first[a]; x <= c.last[a]; ++x)
        next.push_back(r + x * (axes[a].size > 1 ? axes[a].stride : 0));
    ranks = std::move(next);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

static void verifyBoxes(Context &cx) {
  const Plan &p = cx.plan;
  uint64_t covered = 0;
  for (uint32_t i = 0; i < p.classes.size(); ++i) {
    const ClassProgram &c = p.classes[i];
    if (c.first.size() != p.axes.size() || c.last.size() != p.axes.size())
      return cx.classFinding(
          i, "its box has " + num(c.first.size()) + " first and " + num(c.last.size()) + " last coordinates",
          num(p.axes.size()) + " of each, one per mesh axis");
    uint64_t volume = 1; // at most kMaxRanks: each factor is at most its axis' size
    for (size_t a = 0; a < p.axes.size(); ++a) {
      if (c.first[a] > c.last[a] || c.last[a] >= p.axes[a].size)
        return cx.classFinding(i,
                               "coordinates " + num(c.first[a]) + " to " + num(c.last[a]) + " on axis " +
                                   quote(p.axes[a].name),
                               "a range within 0 to " + num(p.axes[a].size - 1));
      volume *= c.last[a] - c.first[a] + 1;
    }
    covered += volume;
    if (covered > p.ranks())
      return cx.classFinding(i, "the classes' boxes hold more than the mesh's " + num(p.ranks()) + " ranks",
                             "boxes that partition the mesh");
  }
  if (covered != p.ranks())
    return cx.plainFinding("the classes' boxes hold " + num(covered) + " of the mesh's " + num(p.ranks()) +
                               " ranks",
                           "boxes that partition the mesh");
  constexpr uint32_t none = ~uint32_t(0);
  cx.classOf.assign(p.ranks(), none);
  for (uint32_t i = 0; i < p.classes.size(); ++i) {
    cx.ranksOf.push_back(ranksOfBox(p.axes, p.classes[i]));
    for (uint32_t r : cx.ranksOf.back()) {
      if (cx.classOf[r] != none)
        return cx.classFinding(i,
                               "rank " + num(r) + " is also in class " + quote(cx.className(cx.classOf[r])),
                               "boxes that partition the mesh");
      cx.classOf[r] = i;
    }
  }
}

void verifyMesh(Context &cx) {
  verifyAxes(cx);
  if (cx.findings.any())
    return;
  verifyCommunicators(cx);
  verifyBoxes(cx);
}

} // namespace hocket::verify
