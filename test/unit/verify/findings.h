//===- findings.h - What the verifier says of an edited tiny plan -----------===//
#pragma once

#include "runtime/verify/verify.h"
#include "test/unit/common/tiny_plan.h"

#include <functional>
#include <gtest/gtest.h>

namespace hocket::test {

/// All findings of the tiny plan after an edit, one a line.
inline std::string findings(const std::function<void(Plan &)> &edit) {
  Plan plan = tinyPlan();
  edit(plan);
  std::string out;
  for (const verify::Finding &f : verify::verify(plan))
    out += f.str() + "\n";
  return out;
}

#define EXPECT_FINDING(text, ...)                                                                            \
  do {                                                                                                       \
    std::string said = findings([](Plan & p) __VA_ARGS__);                                                   \
    EXPECT_NE(said.find(text), std::string::npos) << "said: " << said;                                       \
  } while (0)

/// Number of the n-th instruction of kind `op` in a class.
inline uint32_t nth(const ClassProgram &c, Op op, int n = 0) {
  for (uint32_t i = 0; i < c.instrs.size(); ++i)
    if (c.instrs[i].op == op && n-- == 0)
      return i;
  ADD_FAILURE() << "no such instruction";
  return 0;
}
inline Instr &instr(ClassProgram &c, Op op, int n = 0) { return c.instrs[nth(c, op, n)]; }
inline Operand &operand(ClassProgram &c, Op op, int n, uint32_t k) {
  return c.operands[instr(c, op, n).firstOperand + k];
}
inline Region &region(ClassProgram &c, const std::string &name) {
  for (Region &r : c.regions)
    if (r.name == name)
      return r;
  ADD_FAILURE() << "no region " << name;
  return c.regions[0];
}

} // namespace hocket::test
