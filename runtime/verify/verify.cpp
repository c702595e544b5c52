//===- verify.cpp - The parts of the verifier in order ----------------------===//

#include "runtime/verify/context.h"

#include <algorithm>

namespace hocket::verify {

std::string num(uint64_t n) { return std::to_string(n); }
std::string snum(int64_t n) { return (n >= 0 ? "+" : "") + std::to_string(n); }

/// Names come from the file: control bytes must not reach a terminal.
std::string quote(const std::string &s) {
  std::string out = "'";
  for (unsigned char c : s.substr(0, 80))
    out += c < 0x20 || c == 0x7f ? '?' : char(c);
  return out + (s.size() > 80 ? "…'" : "'");
}

const char *nameOf(Op op) {
  static constexpr const char *names[] = {"launch", "gemm",   "collective", "send",   "recv", "group", "copy",
                                          "fill",   "record", "wait",       "repeat", "mark", "metric"};
  return size_t(op) < std::size(names) ? names[size_t(op)] : "unknown";
}

const char *nameOf(DType t) {
  static constexpr const char *names[] = {"f32", "f64", "i32", "i64", "u8"};
  return size_t(t) < std::size(names) ? names[size_t(t)] : "unknown";
}

const char *nameOf(CollectiveKind k) {
  static constexpr const char *names[] = {"all_reduce_sum", "all_reduce_max", "all_gather", "reduce_scatter"};
  return size_t(k) < std::size(names) ? names[size_t(k)] : "unknown";
}

const char *nameOf(RegionKind k) {
  static constexpr const char *names[] = {"parameter", "state", "gradient", "stash",
                                          "transfer",  "input", "buffer",   "scratch"};
  return size_t(k) < std::size(names) ? names[size_t(k)] : "unknown";
}

const char *nameOf(Access a) {
  static constexpr const char *names[] = {"read", "write", "read and write", "value"};
  return size_t(a) < std::size(names) ? names[size_t(a)] : "unknown";
}

std::string describe(const Instr &i) {
  if (i.op == Op::Collective)
    return std::string(nameOf(CollectiveKind(i.arg))) + " of " + num(i.bytes) + " bytes " +
           nameOf(DType(i.flags));
  return std::string(nameOf(i.op)) + " of " + num(i.bytes) + " bytes";
}

static std::string instrName(const Plan &plan, const Instr &i) {
  std::string out = nameOf(i.op);
  if (i.name < plan.strings.size() && !plan.strings[i.name].empty())
    out += " " + quote(plan.strings[i.name]);
  return out;
}

static std::string templateName(const Context &cx, uint32_t cls, uint32_t instr) {
  const ClassProgram &c = cx.plan.classes[cls];
  for (size_t t = 0; t < c.templates.size(); ++t)
    if (instr >= c.templates[t].first && instr - c.templates[t].first < c.templates[t].count)
      return c.templates[t].name.empty() ? "#" + num(t) : c.templates[t].name;
  return "#?";
}

void Context::instrFinding(uint32_t cls, uint32_t instr, std::string problem, std::string legal) {
  if (findings.full())
    return;
  Finding f;
  f.className = className(cls);
  f.templateName = templateName(*this, cls, instr);
  f.instr = instr;
  f.instrName = instrName(plan, plan.classes[cls].instrs[instr]);
  f.problem = std::move(problem), f.legal = std::move(legal);
  findings.add(std::move(f));
}

uint64_t Context::sharedDevices(uint32_t x, uint32_t y) const {
  uint64_t shared = 1;
  const std::vector<uint32_t> &theirs = plan.communicators[y].axes;
  for (uint32_t axis : plan.communicators[x].axes)
    if (std::find(theirs.begin(), theirs.end(), axis) != theirs.end())
      shared *= plan.axes[axis].size;
  return shared;
}

std::string Context::place(uint32_t cls, uint32_t instr) const {
  return "template " + quote(templateName(*this, cls, instr)) + ", instruction " + num(instr) + " (" +
         instrName(plan, plan.classes[cls].instrs[instr]) + ")";
}

std::string Finding::str() const {
  std::string out;
  if (!className.empty())
    out += "class " + quote(className);
  if (!templateName.empty())
    out += ", template " + quote(templateName);
  if (instr >= 0)
    out += ", instruction " + num(uint64_t(instr)) + " (" + instrName + ")";
  out += (out.empty() ? "" : ": ") + problem;
  return legal.empty() ? out : out + "; legal: " + legal;
}

static void verifySoundness(Context &cx) {
  for (auto part : {verifyMesh, verifyTables, verifyProgram, verifyData, verifyMemory, verifyCommunication}) {
    part(cx);
    if (cx.findings.any())
      break;
  }
}

std::vector<Finding> verifySound(const Plan &plan) {
  Context cx(plan);
  verifySoundness(cx);
  return std::move(cx.findings.list);
}

std::vector<Finding> verify(const Plan &plan) {
  Context cx(plan);
  verifySoundness(cx);
  if (!cx.findings.any())
    verifyExact(cx);
  return std::move(cx.findings.list);
}

} // namespace hocket::verify
