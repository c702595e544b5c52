//===- unroll.h - The instructions of a list in issue order -----------------===//
//
// For plans that passed verifyProgram: nothing is checked here.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket::verify {

using namespace hocket::format;

/// One executed instruction: its number, the list entry it runs for, the layer
/// (0 outside of repeats).
struct Point {
  uint32_t instr, entry;
  int64_t layer;
};

/// Calls visit(Point) for every instruction but Repeat, in issue order, until
/// it returns false.  A Group comes before its members.
template <typename Visit>
void unroll(const ClassProgram &c, const std::vector<ListEntry> &list, Visit visit) {
  for (uint32_t e = 0; e < list.size(); ++e) {
    const Template &t = c.templates[list[e].templateIndex];
    for (uint32_t i = t.first; i < t.first + t.count; ++i) {
      const Instr &in = c.instrs[i];
      if (in.op != Op::Repeat) {
        if (!visit(Point{i, e, 0}))
          return;
        continue;
      }
      int64_t trips = (int64_t(in.to) - in.from) / in.step;
      for (int64_t k = 0; k < trips; ++k)
        for (uint32_t j = 1; j <= uint32_t(in.arg); ++j)
          if (!visit(Point{i + j, e, in.from + k * in.step}))
            return;
      i += uint32_t(in.arg);
    }
  }
}

/// Event of a Record or Wait: its number plus the slot it names.
inline uint64_t eventOf(const Instr &i, const ListEntry &e) {
  return uint64_t(i.index) + (i.flags ? e.slot[i.flags - 1] : 0);
}

} // namespace hocket::verify
