//===- context.h - What the parts of the verifier share ---------------------===//
//
// The parts run in this order, each only if the earlier ones found nothing,
// and may rely on what those established:
//
//   mesh      axes, communicators, class boxes partition the mesh
//   tables    kernels, gemms, affines, scalars, optimizer: sane on their own
//   program   regions, templates, every instruction and operand by itself
//   data      parameters, inputs, metrics, summaries
//   memory    the unrolled lists: ranges, waits, races, reads of written memory
//   communication  equal sequences, matched transfers, no cyclic wait
//   exact     nothing is spare: numbers that follow from others do; with
//             complete (nothing is left out), agree (what is stated twice agrees)
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/verify/verify.h"

#include <set>
#include <tuple>

namespace hocket::verify {

using namespace hocket::format;

class Findings {
public:
  std::vector<Finding> list;

  bool any() const { return !list.empty(); }
  /// A loop repeats its mistake: duplicates count too, or they would cost time without end.
  bool full() const { return list.size() >= kMaxFindings || attempts >= 4096; }
  /// One finding for each (class, instruction, legal).
  void add(Finding f) {
    ++attempts;
    if (list.size() < kMaxFindings &&
        seen.emplace(f.className, f.instr, f.legal + (f.instr < 0 ? f.problem : "")).second)
      list.push_back(std::move(f));
  }

private:
  size_t attempts = 0;
  std::set<std::tuple<std::string, int64_t, std::string>> seen;
};

/// How an instruction touches memory: `operand` counts within the instruction.
struct AccessRule {
  uint16_t operand;
  Access access;
  uint64_t bytes;
};

/// Derived by *program*; valid when it found nothing.
struct ClassFacts {
  std::vector<uint32_t> templateOf;  ///< of each instruction
  std::vector<uint32_t> firstAccess; ///< of each instruction, one more at the end
  std::vector<AccessRule> accesses;
  std::vector<bool> resultRead; ///< of each access that writes: something reads it; derived by *memory*
};

struct GemmBytes {
  uint64_t a = 0, b = 0, c = 0;
};

struct Context {
  const Plan &plan;
  Findings findings;

  std::vector<uint32_t> classOf;              ///< class of each rank
  std::vector<std::vector<uint32_t>> ranksOf; ///< ranks of each class, ascending
  std::vector<GemmBytes> gemmBytes;
  std::vector<ClassFacts> facts;

  explicit Context(const Plan &plan) : plan(plan) {}

  void plainFinding(std::string problem, std::string legal) {
    Finding f;
    f.problem = std::move(problem), f.legal = std::move(legal);
    findings.add(std::move(f));
  }
  void classFinding(uint32_t cls, std::string problem, std::string legal) {
    Finding f;
    f.className = className(cls);
    f.problem = std::move(problem), f.legal = std::move(legal);
    findings.add(std::move(f));
  }
  void instrFinding(uint32_t cls, uint32_t instr, std::string problem, std::string legal);

  /// "s0", or "#0" without a name.
  std::string className(uint32_t cls) const {
    const std::string &n = plan.classes[cls].name;
    return n.empty() ? "#" + std::to_string(cls) : n;
  }
  /// Ranks that groups of two communicators have in common: those that differ on the axes of both.
  uint64_t sharedDevices(uint32_t x, uint32_t y) const;
  /// "template S, instruction 3 (send 'x')".
  std::string place(uint32_t cls, uint32_t instr) const;
};

void verifyMesh(Context &cx);
void verifyTables(Context &cx);
void verifyProgram(Context &cx);
void verifyData(Context &cx);
void verifyExact(Context &cx);
void verifyComplete(Context &cx);
void verifyAgree(Context &cx);
void verifyMemory(Context &cx);
void verifyCommunication(Context &cx);

// Words for messages.
std::string num(uint64_t n);
std::string snum(int64_t n);
std::string quote(const std::string &s);
const char *nameOf(Op op);
const char *nameOf(DType t);
const char *nameOf(CollectiveKind k);
const char *nameOf(RegionKind k);
const char *nameOf(Access a);
/// "all_reduce_sum of 512 bytes f32", "send of 64 bytes".
std::string describe(const Instr &i);

} // namespace hocket::verify
