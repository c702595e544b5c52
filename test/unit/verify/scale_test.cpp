//===- scale_test.cpp - A plan for 16,384 ranks in 16 classes ---------------===//

#include "runtime/format/write.h"
#include "runtime/verify/verify.h"
#include "test/unit/common/tiny_plan.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::test;

namespace {

enum : uint16_t { ComputeS, TpS, PpS, WorldS = PpS };
enum : uint32_t {
  ToTp,
  FromTp,
  InReady,
  InFree = 18,
  OutReady = 34,
  OutFree = 50,
  ToWorld = 66,
  FromWorld,
  Events
};
constexpr uint32_t kStages = 16, kMicros = 16, kLayers = 8;
constexpr uint64_t kCell = 1 << 20;

/// One stage of GPipe: all forward, then all backward; per layer and direction
/// `launches` kernels and two tensor all-reduces.
ClassProgram stage(Plan &plan, uint32_t s) {
  ClassBuilder b(plan, "s" + std::to_string(s));
  b.c.first = {s, 0, 0}, b.c.last = {s, 127, 7};
  b.c.streams = {"compute", "tp", "pp"};
  b.c.events = Events;
  bool first = s == 0, last = s + 1 == kStages;
  uint16_t weight = b.region("w", RegionKind::Parameter, 16 * kCell, 1, kLayers);
  uint16_t gradient = b.region("g", RegionKind::Gradient, 16 * kCell, 1, kLayers);
  uint16_t stash = b.region("stash", RegionKind::Stash, 16 * kCell, kMicros, kLayers);
  uint16_t x = b.region("x", RegionKind::Buffer, 2 * kCell);
  uint16_t in = b.region("in", RegionKind::Transfer, kCell, kMicros);
  uint16_t out = b.region("out", RegionKind::Transfer, kCell, kMicros);
  uint16_t scratch = b.region("scratch", RegionKind::Scratch, kCell);
  uint16_t norm = b.region("norm", RegionKind::Buffer, 64);

  auto allReduce = [&] {
    b.record(ComputeS, ToTp);
    b.wait(TpS, ToTp);
    b.collective(TpS, 0, "reduce", b.at(scratch), kCell);
    b.record(TpS, FromTp);
    b.wait(ComputeS, FromTp);
  };
  auto receive = [&](const char *name, int32_t peer) {
    b.begin(name);
    b.wait(PpS, InFree, 1);
    b.transfer(Op::Recv, 1, peer, name, b.at(in, 0, 1), kCell);
    b.record(PpS, InReady, 1);
    return b.end();
  };
  auto send = [&](const char *name, int32_t peer) {
    b.begin(name);
    b.wait(PpS, OutReady, 1);
    b.transfer(Op::Send, 1, peer, name, b.at(out, 0, 1), kCell);
    b.record(PpS, OutFree, 1);
    return b.end();
  };
  auto task = [&](const char *name, bool forward, bool receives, bool sends) {
    b.begin(name);
    if (receives) {
      b.wait(ComputeS, InReady, 1);
      b.launch(0, {b.at(in, 0, 1), b.at(in, 0, 1), b.at(x)});
      b.record(ComputeS, InFree, 1);
    } else {
      b.fill(b.at(x), "zero", kCell);
    }
    b.repeat(forward ? 26 : 38, forward ? 0 : kLayers - 1, forward ? kLayers : -1, forward ? 1 : -1);
    for (int half = 0; half < 2; ++half) {
      for (int k = 0; k < (forward ? 6 : 12); ++k) {
        int64_t field = (half * 6 + k % 6) * int64_t(kCell);
        if (forward)
          b.launch(0, {b.at(x), b.at(weight, field, kLayered), b.at(stash, field, 1 | kLayered)});
        else if (k % 2)
          b.launch(1, {b.at(stash, field, 1 | kLayered), b.at(x), b.at(gradient, field, kLayered)});
        else
          b.launch(0, {b.at(x), b.at(weight, field, kLayered), b.at(x, kCell)});
      }
      b.launch(0, {b.at(stash, half * 6 * int64_t(kCell), 1 | kLayered), b.at(x), b.at(scratch)});
      allReduce();
      b.launch(0, {b.at(scratch), b.at(scratch), b.at(x)});
    }
    if (sends) {
      b.wait(ComputeS, OutFree, 1);
      b.launch(0, {b.at(x), b.at(x), b.at(out, 0, 1)});
      b.record(ComputeS, OutReady, 1);
    }
    return b.end();
  };

  b.begin("I");
  b.fill(b.at(weight), "w", 16 * kCell * kLayers);
  uint16_t I = b.end();
  b.begin("Z");
  b.fill(b.at(gradient), "zero", 16 * kCell * kLayers);
  uint16_t Z = b.end();
  uint16_t R = first ? 0 : receive("R", -1), F = task("F", true, !first, !last), S = last ? 0 : send("S", 1);
  uint16_t RB = last ? 0 : receive("RB", 1), B = task("B", false, !last, !first),
           SB = first ? 0 : send("SB", -1);
  b.begin("U");
  b.launch(2, {b.at(gradient), b.at(norm)});
  b.record(ComputeS, ToWorld);
  b.wait(WorldS, ToWorld);
  b.collective(WorldS, 2, "norm", b.at(norm), 4);
  b.record(WorldS, FromWorld);
  b.wait(ComputeS, FromWorld);
  b.launch(1, {b.at(gradient), b.at(gradient), b.at(weight)});
  uint16_t U = b.end();

  b.c.init = {b.run(I)};
  b.c.step = {b.run(Z)};
  for (bool forward : {true, false})
    for (uint16_t m = 0; m < kMicros; ++m) {
      if (forward ? !first : !last)
        b.c.step.push_back(b.run(forward ? R : RB, m, m));
      b.c.step.push_back(b.run(forward ? F : B, m, m));
      if (forward ? !last : !first)
        b.c.step.push_back(b.run(forward ? S : SB, m, m));
    }
  b.c.step.push_back(b.run(U));
  for (uint32_t m = 0; m < kMicros; ++m) {
    b.c.firstUse.push_back(InFree + m);
    b.c.firstUse.push_back(OutFree + m);
  }
  return b.c;
}

Plan largePlan() {
  Plan p = tinyPlan();
  p.params.clear(), p.inputs.clear(), p.metrics.clear(), p.classes.clear(), p.summaries.clear();
  p.affines.clear(), p.kernels.clear(), p.gemms.clear();
  p.axes = {{"pipeline", kStages, 1024}, {"data", 128, 8}, {"tensor", 8, 1}};
  p.communicators = {{"tp", {2}, false, 0}, {"pp", {0}, true, 1}, {"world", {0, 1, 2}, false, 2}};
  p.microBatches = kMicros;
  using enum Access;
  for (auto [name, args] :
       {std::pair<const char *, std::vector<KernelArg>>{"k", {{Read, kCell}, {Read, kCell}, {Write, kCell}}},
        {"acc", {{Read, kCell}, {Read, kCell}, {ReadWrite, kCell}}},
        {"norm", {{Read, 16 * kCell * kLayers}, {Write, 4}}}}) {
    Kernel k;
    k.symbol = name, k.args = args;
    p.kernels.push_back(k);
  }
  for (uint32_t s = 0; s < kStages; ++s) {
    p.classes.push_back(stage(p, s));
    p.summaries.push_back({{{"arena", p.classes[s].arenaBytes}}, 0});
  }
  return p;
}

TEST(Scale, SixteenThousandRanksWithinASecond) {
  Plan plan = largePlan();
  ASSERT_EQ(plan.ranks(), 16384u);
  auto begin = std::chrono::steady_clock::now();
  std::vector<verify::Finding> findings = verify::verifySound(plan);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const verify::Finding &f : findings)
    ADD_FAILURE() << f.str();
  std::printf("16,384 ranks in 16 classes: verified in %d ms, file of %zu bytes\n", int(seconds * 1e3),
              format::write(plan).size());
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(seconds, 1.0);
#endif
}

TEST(Scale, ManyClassesOfOneRankEach) {
  Plan p = largePlan();
  ClassProgram c = p.classes[kStages / 2];
  c.step = {c.step[0], c.step.back()};
  p.axes = {{"data", 4096, 1}, {"tensor", 1, 1}};
  p.communicators = {{"tp", {1}, false, 0}, {"pp", {0}, true, 1}, {"world", {0}, false, 2}};
  p.classes.assign(4096, c);
  p.summaries.assign(4096, {{{"arena", c.arenaBytes}}, 0});
  for (uint32_t i = 0; i < 4096; ++i)
    p.classes[i].first = p.classes[i].last = {i, 0};
  // The templates F, R, S are there but not run; their peers must exist all the same.
  for (ClassProgram &k : p.classes)
    k.instrs.erase(std::remove_if(k.instrs.begin(), k.instrs.end(),
                                  [](const Instr &i) { return i.op == Op::Send || i.op == Op::Recv; }),
                   k.instrs.end());
  for (ClassProgram &k : p.classes) {
    uint32_t at = 0;
    for (Template &t : k.templates) {
      t.first = at;
      if (t.name == "R" || t.name == "S" || t.name == "RB" || t.name == "SB")
        --t.count;
      at += t.count;
    }
  }
  for (const verify::Finding &f : verify::verifySound(p))
    ADD_FAILURE() << f.str();
  p.classes[4000].step.pop_back();
  std::vector<verify::Finding> findings = verify::verifySound(p);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].problem.substr(0, 46), "communicator 'world', list step: 0 operations,");
}

TEST(Scale, RangeVisitsAreLimited) {
  // Every fill of the whole cuts through every byte that another fill names.
  Plan p = tinyPlan();
  ClassProgram &c = p.classes[0];
  for (Region &r : c.regions)
    if (r.name == "loss")
      r.bytes = 1 << 20, r.offset = c.arenaBytes;
  uint16_t loss = uint16_t(c.regions.size() - 1);
  c.arenaBytes += 1 << 20;
  p.summaries[0].memory = memoryTerms(c);
  ClassBuilder b(p, "");
  b.c = c;
  b.begin("many");
  for (int64_t i = 0; i < 40000; ++i)
    b.fill(b.at(loss, i), "", i % 2 ? 1 : 500000);
  uint16_t many = b.end();
  b.c.step.push_back(b.run(many));
  for (int i = 0; i < 3; ++i)
    b.c.step.push_back(b.run(many));
  p.classes[0] = b.c;
  std::vector<verify::Finding> findings = verify::verifySound(p);
  ASSERT_FALSE(findings.empty());
  EXPECT_NE(findings[0].problem.find("pieces of memory to compare"), std::string::npos) << findings[0].str();
}

} // namespace
