//===- mutation_test.cpp - Every synchronisation of the tiny plan matters ---===//

#include "runtime/format/read.h"
#include "runtime/format/write.h"
#include "runtime/verify/verify.h"
#include "test/unit/common/mutate.h"
#include "test/unit/common/tiny_plan.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::test;

namespace {

bool isCommunication(Op op) { return op == Op::Collective || op == Op::Send || op == Op::Recv; }

/// Both do the same to the same buffer.
bool same(const ClassProgram &c, const Instr &a, const Instr &b) {
  const Operand &x = c.operands[a.firstOperand], &y = c.operands[b.firstOperand];
  return a.op == b.op && a.arg == b.arg && a.bytes == b.bytes && x.index == y.index && x.flags == y.flags &&
         x.offset == y.offset;
}

std::string place(const Plan &plan, uint32_t cls, uint32_t instr) {
  const ClassProgram &c = plan.classes[cls];
  for (const Template &t : c.templates)
    if (instr >= t.first && instr - t.first < t.count)
      return c.name + "." + t.name + "[" + std::to_string(instr - t.first) + "]";
  return "?";
}

/// Deletes each instruction of the given kinds in turn; gives those nobody missed.
std::vector<std::string> survivors(std::initializer_list<Op> kinds, int &count) {
  const Plan plan = tinyPlan();
  std::vector<std::string> out;
  for (uint32_t cls = 0; cls < plan.classes.size(); ++cls)
    for (uint32_t i = 0; i < plan.classes[cls].instrs.size(); ++i) {
      if (std::find(kinds.begin(), kinds.end(), plan.classes[cls].instrs[i].op) == kinds.end())
        continue;
      Plan mutant = plan;
      deleteInstr(mutant.classes[cls], i);
      ++count;
      if (verify::verifySound(mutant).empty())
        out.push_back(place(plan, cls, i));
    }
  return out;
}

TEST(Mutation, DeletedWaitIsRejected) {
  int count = 0;
  EXPECT_EQ(survivors({Op::Wait}, count), std::vector<std::string>{});
  EXPECT_EQ(count, 17);
}

TEST(Mutation, DeletedRecordIsRejected) {
  int count = 0;
  EXPECT_EQ(survivors({Op::Record}, count), std::vector<std::string>{});
  EXPECT_EQ(count, 17);
}

TEST(Mutation, DeletedCommunicationIsRejected) {
  int count = 0;
  // The tensor groups lie inside one class, all of whose ranks lose the operation alike: what is left is a
  // program that can run. Only its numbers tell, in the tests that compare with one rank.
  EXPECT_EQ(survivors({Op::Collective, Op::Send, Op::Recv}, count),
            (std::vector<std::string>{"s0.F[6]", "s1.F[8]"}));
  EXPECT_EQ(count, 12);
}

TEST(Mutation, DeletedFillIsRejected) {
  int count = 0;
  EXPECT_EQ(survivors({Op::Fill}, count), std::vector<std::string>{});
  EXPECT_EQ(count, 7);
}

/// Two operations of one communicator change places in one class: rejected, but
/// for the two members of a group, which have no order.
TEST(Mutation, SwappedCommunicationIsRejected) {
  const Plan plan = tinyPlan();
  std::vector<std::string> equal;
  int count = 0;
  for (uint32_t cls = 0; cls < plan.classes.size(); ++cls) {
    const std::vector<Instr> &instrs = plan.classes[cls].instrs;
    for (uint32_t i = 0; i < instrs.size(); ++i)
      for (uint32_t j = i + 1; j < instrs.size(); ++j) {
        if (!isCommunication(instrs[i].op) || !isCommunication(instrs[j].op) ||
            instrs[i].index != instrs[j].index)
          continue;
        if (same(plan.classes[cls], instrs[i], instrs[j]))
          continue;
        Plan mutant = plan;
        swapInstrs(mutant.classes[cls], i, j);
        ++count;
        if (verify::verifySound(mutant).empty())
          equal.push_back(place(plan, cls, i) + " " + place(plan, cls, j));
      }
  }
  EXPECT_EQ(count, 8);
  EXPECT_EQ(equal, (std::vector<std::string>{"s0.X[2] s0.X[3]", "s1.X[2] s1.X[3]"}));
}

/// Entries of the step list that change places with their neighbour.
TEST(Mutation, SwappedEntriesWithTransfersAreRejected) {
  const Plan plan = tinyPlan();
  for (uint32_t cls = 0; cls < 2; ++cls) {
    Plan mutant = plan;
    std::vector<ListEntry> &step = mutant.classes[cls].step;
    std::swap(step[cls == 0 ? 2 : 1], step[4]); // S.0 / R.0 and X.1
    EXPECT_FALSE(verify::verifySound(mutant).empty()) << cls;
  }
}

/// Field-level changes of a plan, written with a right checksum: each ends in a
/// refusal by the reader or the verifier or in a plan that is valid too.
TEST(Mutation, RandomFieldsNeverCrash) {
  const Plan plan = tinyPlan();
  std::mt19937 random(11);
  auto pick = [&](auto &v) -> auto & { return v[random() % v.size()]; };
  auto number = [&]() -> uint64_t {
    static constexpr uint64_t edges[] = {0,          1,          2,          3,      4,
                                         63,         64,         0x7fff,     0xffff, 0x7fffffff,
                                         0x80000000, 0xffffffff, 1ull << 62, ~0ull,  ~0ull << 31};
    return random() % 3 ? edges[random() % std::size(edges)] : random() % 600;
  };
  auto set = [&](auto &field) { field = std::remove_reference_t<decltype(field)>(number()); };
  std::vector<std::function<void(Plan &)>> edits = {
      [&](Plan &p) { set(pick(pick(p.classes).instrs).flags); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).stream); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).operandCount); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).firstOperand); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).index); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).arg); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).bytes); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).name); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).from); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).to); },
      [&](Plan &p) { set(pick(pick(p.classes).instrs).step); },
      [&](Plan &p) { pick(pick(p.classes).instrs).op = Op(random() % 14); },
      [&](Plan &p) { pick(pick(p.classes).operands).kind = OperandKind(random() % 5); },
      [&](Plan &p) { set(pick(pick(p.classes).operands).flags); },
      [&](Plan &p) { set(pick(pick(p.classes).operands).index); },
      [&](Plan &p) { set(pick(pick(p.classes).operands).offset); },
      [&](Plan &p) { set(pick(pick(p.classes).step).templateIndex); },
      [&](Plan &p) { set(pick(pick(p.classes).step).micro); },
      [&](Plan &p) { set(pick(pick(p.classes).step).slot[random() % 4]); },
      [&](Plan &p) { std::swap(pick(p.classes[0].step), pick(p.classes[0].step)); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).offset); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).bytes); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).slots); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).slotStride); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).layers); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).layerStride); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).micros); },
      [&](Plan &p) { set(pick(pick(p.classes).regions).microStride); },
      [&](Plan &p) { set(pick(pick(p.classes).templates).first); },
      [&](Plan &p) { set(pick(pick(p.classes).templates).count); },
      [&](Plan &p) { set(pick(pick(p.classes).first)); },
      [&](Plan &p) { set(pick(pick(p.classes).last)); },
      [&](Plan &p) { set(pick(p.classes).events); },
      [&](Plan &p) { set(pick(pick(p.classes).firstUse)); },
      [&](Plan &p) { set(pick(p.classes).arenaBytes); },
      [&](Plan &p) { set(pick(p.axes).size); },
      [&](Plan &p) { set(pick(p.axes).stride); },
      [&](Plan &p) { set(pick(pick(p.communicators).axes)); },
      [&](Plan &p) { pick(p.communicators).pair ^= true; },
      [&](Plan &p) { set(pick(p.affines).layer); },
      [&](Plan &p) { set(pick(pick(p.affines).coordinate)); },
      [&](Plan &p) { set(pick(pick(p.kernels).args).bytes); },
      [&](Plan &p) { pick(pick(p.kernels).args).access = Access(random() % 5); },
      [&](Plan &p) { set(pick(p.gemms).m); },
      [&](Plan &p) { set(pick(p.gemms).lda); },
      [&](Plan &p) { set(pick(p.gemms).ldc); },
      [&](Plan &p) { set(pick(p.gemms).scratchBytes); },
      [&](Plan &p) { pick(p.gemms).dtype = DType(random() % 6); },
      [&](Plan &p) { set(pick(p.params).layerEnd); },
      [&](Plan &p) { set(pick(p.params).classIndex); },
      [&](Plan &p) { set(pick(pick(p.params).dims).local); },
      [&](Plan &p) { set(pick(p.params).gradient.offset); },
      [&](Plan &p) { set(pick(p.params).moment2.index); },
      [&](Plan &p) { set(pick(p.inputs).rows); },
      [&](Plan &p) { set(pick(p.inputs).classIndex); },
      [&](Plan &p) { set(pick(p.metrics).classIndex); },
      [&](Plan &p) { set(p.microBatches); },
      [&](Plan &p) { set(p.globalBatch); },
      [&](Plan &p) { set(p.sequence); },
  };
  int read = 0, refused = 0, valid = 0;
  for (int n = 0; n < 6000; ++n) {
    Plan mutant = plan;
    edits[n % edits.size()](mutant);
    ReadResult r = format::read(format::write(mutant));
    if (!r)
      ++read;
    else if (!verify::verify(*r.plan).empty())
      ++refused;
    else
      ++valid;
  }
  // What stays valid changed a field that its instruction does not use, or set it to what it was.
  std::printf("6000 changed plans: %d refused by the reader, %d by the verifier, %d still valid\n", read,
              refused, valid);
  EXPECT_GT(refused, 3000);
  EXPECT_LT(valid, 1800);
}

} // namespace
