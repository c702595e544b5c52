#include "runtime/ranks.h"

#include "runtime/error.h"

namespace hocket {

std::vector<uint32_t> coordinates(const format::Plan &plan, uint32_t rank) {
  std::vector<uint32_t> result;
  for (const format::Axis &a : plan.axes)
    result.push_back(rank / a.stride % a.size);
  return result;
}

uint32_t classOf(const format::Plan &plan, uint32_t rank) {
  std::vector<uint32_t> at = coordinates(plan, rank);
  for (uint32_t c = 0; c < plan.classes.size(); ++c) {
    const format::ClassProgram &program = plan.classes[c];
    bool inside = program.first.size() == at.size() && program.last.size() == at.size();
    for (size_t a = 0; inside && a < at.size(); ++a)
      inside = program.first[a] <= at[a] && at[a] <= program.last[a];
    if (inside)
      return c;
  }
  throw Error(kExitNo, "no class of the plan holds rank " + std::to_string(rank));
}

uint32_t peer(const format::Plan &plan, uint32_t rank, uint32_t communicator, int32_t delta) {
  const format::Axis &axis = plan.axes[plan.communicators[communicator].axes[0]];
  int64_t at = int64_t(rank / axis.stride % axis.size) + delta;
  if (at < 0 || at >= int64_t(axis.size))
    throw Error(kExitNo, "rank " + std::to_string(rank) + " has no peer at " + axis.name +
                             (delta < 0 ? "" : "+") + std::to_string(delta));
  return static_cast<uint32_t>(int64_t(rank) + int64_t(delta) * axis.stride);
}

uint64_t combined(const format::Plan &plan, const std::vector<uint32_t> &at,
                  const std::vector<uint32_t> &axes) {
  uint64_t result = 0;
  for (uint32_t a : axes)
    result = result * plan.axes[a].size + at[a];
  return result;
}

uint64_t unrolledCount(const format::ClassProgram &program, const std::vector<format::ListEntry> &list) {
  std::vector<uint64_t> perTemplate;
  for (const format::Template &t : program.templates) {
    uint64_t count = 0, times = 1;
    uint32_t repeatEnd = 0;
    for (uint32_t i = t.first; i < t.first + t.count; ++i) {
      const format::Instr &instr = program.instrs[i];
      if (i == repeatEnd)
        times = 1;
      if (instr.op == format::Op::Repeat) {
        times = static_cast<uint64_t>((int64_t(instr.to) - instr.from) / instr.step);
        repeatEnd = i + 1 + static_cast<uint32_t>(instr.arg);
      } else if (instr.op != format::Op::Group) {
        count += times;
      }
    }
    perTemplate.push_back(count);
  }
  uint64_t total = 0;
  for (const format::ListEntry &e : list)
    total += perTemplate[e.templateIndex];
  return total;
}

} // namespace hocket
