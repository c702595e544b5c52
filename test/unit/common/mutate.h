//===- mutate.h - Small changes of a plan's instructions --------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <utility>

namespace hocket::test {

/// Takes instruction `at` out of a class: templates behind move up, a repeat or
/// group around it has one instruction less (and goes too when it was the only one).
inline void deleteInstr(format::ClassProgram &c, uint32_t at) {
  using namespace format;
  for (Template &t : c.templates)
    if (t.first > at)
      --t.first;
    else if (at - t.first < t.count)
      --t.count;
  uint32_t emptied = at;
  for (uint32_t i = 0; i < at; ++i) {
    Instr &outer = c.instrs[i];
    if ((outer.op == Op::Repeat || outer.op == Op::Group) && at - i <= uint32_t(outer.arg) &&
        --outer.arg == 0)
      emptied = i;
  }
  c.instrs.erase(c.instrs.begin() + at);
  if (emptied != at)
    deleteInstr(c, emptied);
}

/// Exchanges what instructions `a` and `b` of a class do; streams stay.
inline void swapInstrs(format::ClassProgram &c, uint32_t a, uint32_t b) {
  std::swap(c.instrs[a], c.instrs[b]);
  std::swap(c.instrs[a].stream, c.instrs[b].stream);
}

} // namespace hocket::test
