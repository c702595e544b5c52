//===- tiny_plan.h - A small valid plan for tests ---------------------------===//
//
// Two stages on axis `pipeline`, each over two ranks on axis `tensor`: rank =
// 2 * pipeline + tensor.  Two layers a stage, two micro-batches of 8 rows of
// width 4 (f32), stash of two slots.  It uses every instruction of the closed
// list: a repeat forwards and backwards, a tensor all-reduce on a stream of its
// own, sends and receives (a group with both directions), a world all-reduce on the
// stream of the transfers, whose ranks it shares.
//
//   s0: Z  F.0 S.0 F.1 X.1 B.0 R B.1 U     streams compute, tp, pp
//   s1: Z  R.0 F.0 B.0 X.1 F.1 B.1 S U
//
// X = { send x.1 | receive dx.0 } on s0 and { receive x.1 | send dx.0 } on s1.
// Without the group, s1 sending first and s0 sending first wait for each other.
//
// The kernels' symbols are tiny_embed, tiny_add, tiny_sumsq, tiny_update,
// tiny_init, tiny_loss, each with its digest; the plan has no code section, a test that runs it
// brings functions of the signature told in plan.h (work = 1).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/declaration.h"

#include <initializer_list>
#include <string>

namespace hocket::test {

using namespace hocket::format;

/// Appends to one class; every helper returns the index of what it made.
class ClassBuilder {
public:
  ClassBuilder(Plan &plan, std::string name) : plan(plan) { c.name = std::move(name); }

  ClassProgram c;

  uint16_t region(std::string name, RegionKind kind, uint64_t cell, uint32_t slots = 1, uint32_t layers = 1,
                  uint32_t micros = 1) {
    Region r;
    r.name = std::move(name);
    r.kind = kind;
    r.offset = c.arenaBytes;
    r.layers = layers, r.slots = slots, r.micros = micros;
    r.layerStride = layers > 1 ? cell : 0;
    r.slotStride = slots > 1 ? cell * layers : 0;
    r.microStride = micros > 1 ? cell * layers * slots : 0;
    r.bytes = cell * layers * slots * micros;
    c.arenaBytes = (r.offset + r.bytes + 63) / 64 * 64;
    c.regions.push_back(r);
    return uint16_t(c.regions.size() - 1);
  }

  static Operand at(uint16_t region, int64_t offset = 0, uint8_t flags = 0) {
    Operand o;
    o.index = region, o.offset = offset, o.flags = flags;
    return o;
  }
  static Operand value(OperandKind kind, uint16_t index) {
    Operand o;
    o.kind = kind, o.index = index;
    return o;
  }

  void begin(std::string name) { c.templates.push_back({std::move(name), uint32_t(c.instrs.size()), 0}); }
  uint16_t end() {
    c.templates.back().count = uint32_t(c.instrs.size()) - c.templates.back().first;
    return uint16_t(c.templates.size() - 1);
  }

  Instr &emit(Op op, uint16_t stream, uint32_t index, const std::string &name,
              std::initializer_list<Operand> operands = {}) {
    Instr i;
    i.op = op, i.stream = stream, i.index = index;
    i.name = string(name);
    i.firstOperand = uint32_t(c.operands.size());
    i.operandCount = uint16_t(operands.size());
    c.operands.insert(c.operands.end(), operands);
    c.instrs.push_back(i);
    return c.instrs.back();
  }
  void launch(uint32_t kernel, std::initializer_list<Operand> operands) {
    emit(Op::Launch, 0, kernel, plan.kernels[kernel].symbol, operands);
  }
  void gemm(uint32_t gemm, const std::string &name, std::initializer_list<Operand> operands) {
    emit(Op::Gemm, 0, gemm, name, operands);
  }
  void collective(uint16_t stream, uint32_t comm, const std::string &name, Operand buffer, uint64_t bytes) {
    Instr &i = emit(Op::Collective, stream, comm, name, {buffer});
    i.arg = int32_t(CollectiveKind::AllReduceSum);
    i.flags = uint16_t(DType::F32);
    i.bytes = bytes;
  }
  void transfer(Op op, uint32_t comm, int32_t peer, const std::string &name, Operand buffer, uint64_t bytes) {
    Instr &i = emit(op, 2, comm, name, {buffer});
    i.arg = peer;
    i.bytes = bytes;
  }
  /// `slot`: 0, or which slot number (1-based) is added to the event.
  void record(uint16_t stream, uint32_t event, uint16_t slot = 0) {
    emit(Op::Record, stream, event, "").flags = slot;
  }
  void wait(uint16_t stream, uint32_t event, uint16_t slot = 0) {
    emit(Op::Wait, stream, event, "").flags = slot;
  }
  void repeat(int32_t body, int32_t from, int32_t to, int32_t step) {
    Instr &i = emit(Op::Repeat, 0, 0, "");
    i.arg = body, i.from = from, i.to = to, i.step = step;
  }
  void fill(Operand at, const std::string &name, uint64_t bytes) {
    emit(Op::Fill, 0, 0, name, {at}).bytes = bytes;
  }
  void copy(Operand from, Operand to, const std::string &name, uint64_t bytes) {
    emit(Op::Copy, 0, 0, name, {from, to}).bytes = bytes;
  }

  static ListEntry run(uint16_t t, uint32_t micro = 0, uint16_t slot0 = 0, uint16_t slot1 = 0) {
    ListEntry e;
    e.templateIndex = t, e.micro = micro;
    e.slot = {slot0, slot1, 0, 0};
    return e;
  }

private:
  Plan &plan;

  uint32_t string(const std::string &s) {
    for (uint32_t i = 0; i < plan.strings.size(); ++i)
      if (plan.strings[i] == s)
        return i;
    plan.strings.push_back(s);
    return uint32_t(plan.strings.size() - 1);
  }
};

namespace tiny {
enum Kernels : uint32_t { Embed, Add, SumSq, Update, Init, Loss };
enum Gemms : uint32_t { Forward, WeightGradient, InputGradient };
enum Comms : uint32_t { Tp, Pp, World };
enum Streams : uint16_t { Compute, TpStream, PpStream, WorldStream = PpStream };
inline constexpr uint64_t kX = 8 * 4 * 4, kW = 4 * 4 * 4, kTokens = 2 * 4 * 4;
/// Events of both classes.  In/Out: the buffer received into / sent from; [slot] where two follow.
enum Events : uint32_t {
  ToTp,
  FromTp,
  InReady,
  InFree = 4,
  OutReady = 6,
  OutFree = 8,
  ToWorld = 10,
  FromWorld,
  Count
};
} // namespace tiny

/// What both stages have: regions of one layer stack, and the templates Z, U, I.
struct TinyStage {
  ClassBuilder b;
  uint16_t weight, gradient, m, v, input, stash, in, out, scratch, d, norm, loss;
  uint16_t Z, U, I;

  TinyStage(Plan &plan, uint32_t stage) : b(plan, stage == 0 ? "s0" : "s1") {
    b.c.first = {stage, 0}, b.c.last = {stage, 1};
    b.c.streams = {"compute", "tp", "pp"};
    b.c.events = tiny::Count;
    weight = b.region("w", RegionKind::Parameter, tiny::kW, 1, 2);
    gradient = b.region("grad", RegionKind::Gradient, tiny::kW, 1, 2);
    m = b.region("m", RegionKind::State, tiny::kW, 1, 2);
    v = b.region("v", RegionKind::State, tiny::kW, 1, 2);
    input = b.region(stage == 0 ? "tokens" : "labels", RegionKind::Input, tiny::kTokens, 1, 1, 2);
    stash = b.region("stash", RegionKind::Stash, tiny::kX, 2, 3);
    in = b.region("in", RegionKind::Transfer, tiny::kX, stage == 0 ? 1 : 2);
    out = b.region("out", RegionKind::Transfer, tiny::kX, stage == 0 ? 2 : 1);
    scratch = b.region("scratch", RegionKind::Scratch, tiny::kX);
    d = b.region("d", RegionKind::Buffer, tiny::kX);
    norm = b.region("norm", RegionKind::Buffer, 4);
    loss = b.region("loss", RegionKind::Buffer, 4);

    b.begin("Z");
    b.fill(b.at(gradient), "zero gradients", 2 * tiny::kW);
    if (stage == 1)
      b.fill(b.at(loss), "zero loss", 4);
    Z = b.end();

    b.begin("I");
    b.repeat(3, 0, 2, 1);
    b.launch(tiny::Init, {b.at(weight, 0, kLayered), b.value(OperandKind::Affine, stage),
                          b.value(OperandKind::Scalar, 1)});
    b.fill(b.at(m, 0, kLayered), "zero m", tiny::kW);
    b.fill(b.at(v, 0, kLayered), "zero v", tiny::kW);
    I = b.end();

    b.begin("U");
    b.launch(tiny::SumSq, {b.at(gradient), b.at(norm)});
    b.record(tiny::Compute, tiny::ToWorld);
    b.wait(tiny::WorldStream, tiny::ToWorld);
    b.collective(tiny::WorldStream, tiny::World, "norm", b.at(norm), 4);
    b.record(tiny::WorldStream, tiny::FromWorld);
    b.wait(tiny::Compute, tiny::FromWorld);
    b.repeat(1, 0, 2, 1);
    b.launch(tiny::Update, {b.at(weight, 0, kLayered), b.at(gradient, 0, kLayered), b.at(m, 0, kLayered),
                            b.at(v, 0, kLayered), b.at(norm), b.value(OperandKind::Scalar, 0)});
    if (stage == 1)
      b.emit(Op::Metric, tiny::Compute, 0, "loss", {b.at(loss)});
    U = b.end();
  }

  /// stash[slot, l+1] = stash[slot, l] + allreduce(stash[slot, l] * w[l]).
  void layersForward() {
    b.repeat(7, 0, 2, 1);
    b.gemm(tiny::Forward, "layer.w",
           {b.at(stash, 0, 1 | kLayered), b.at(weight, 0, kLayered), b.at(scratch)});
    b.record(tiny::Compute, tiny::ToTp);
    b.wait(tiny::TpStream, tiny::ToTp);
    b.collective(tiny::TpStream, tiny::Tp, "layer.reduce", b.at(scratch), tiny::kX);
    b.record(tiny::TpStream, tiny::FromTp);
    b.wait(tiny::Compute, tiny::FromTp);
    b.launch(tiny::Add, {b.at(stash, 0, 1 | kLayered), b.at(scratch), b.at(stash, tiny::kX, 1 | kLayered)});
  }
  /// grad[l] += stash[slot, l]^T * from, last layer first.
  void layersBackward(Operand from) {
    b.repeat(1, 1, -1, -1);
    b.gemm(tiny::WeightGradient, "layer.w.grad",
           {b.at(stash, 0, 1 | kLayered), from, b.at(gradient, 0, kLayered)});
  }
};

inline ClassProgram tinyStage0(Plan &plan) {
  TinyStage s(plan, 0);
  ClassBuilder &b = s.b;
  using namespace tiny;
  b.begin("F");
  b.emit(Op::Mark, Compute, 0, "F");
  b.launch(Embed, {b.at(s.input, 0, kMicro), b.at(s.stash, 0, 1)});
  s.layersForward();
  b.wait(Compute, OutFree, 1);
  b.copy(b.at(s.stash, 2 * kX, 1), b.at(s.out, 0, 1), "x", kX);
  b.record(Compute, OutReady, 1);
  b.emit(Op::Mark, Compute, 0, "F").flags = 1;
  uint16_t F = b.end();

  b.begin("S");
  b.wait(PpStream, OutReady, 1);
  b.transfer(Op::Send, Pp, +1, "send x", b.at(s.out, 0, 1), kX);
  b.record(PpStream, OutFree, 1);
  uint16_t S = b.end();

  b.begin("X");
  b.wait(PpStream, OutReady, 1); // also behind the last read of `in`, a step ago
  b.emit(Op::Group, PpStream, 0, "x|dx").arg = 2;
  b.transfer(Op::Send, Pp, +1, "send x", b.at(s.out, 0, 1), kX);
  b.transfer(Op::Recv, Pp, +1, "receive dx", b.at(s.in), kX);
  b.record(PpStream, InReady);
  uint16_t X = b.end();

  b.begin("R");
  b.wait(PpStream, InFree);
  b.transfer(Op::Recv, Pp, +1, "receive dx", b.at(s.in), kX);
  b.record(PpStream, InReady);
  uint16_t R = b.end();

  b.begin("B");
  b.wait(Compute, InReady);
  s.layersBackward(b.at(s.in));
  b.record(Compute, InFree);
  uint16_t B = b.end();

  b.c.firstUse = {OutFree, OutFree + 1};
  b.c.init = {b.run(s.I)};
  b.c.step = {b.run(s.Z),     b.run(F, 0, 0), b.run(S, 0, 0), b.run(F, 1, 1), b.run(X, 1, 1),
              b.run(B, 0, 0), b.run(R),       b.run(B, 1, 1), b.run(s.U)};
  b.c.eval = {b.run(F, 0, 0), b.run(S, 0, 0), b.run(F, 1, 1), b.run(S, 1, 1)};
  return b.c;
}

inline ClassProgram tinyStage1(Plan &plan) {
  TinyStage s(plan, 1);
  ClassBuilder &b = s.b;
  using namespace tiny;
  b.begin("R");
  b.wait(PpStream, InFree, 1);
  b.transfer(Op::Recv, Pp, -1, "receive x", b.at(s.in, 0, 1), kX);
  b.record(PpStream, InReady, 1);
  uint16_t R = b.end();

  b.begin("F");
  b.emit(Op::Mark, Compute, 0, "F");
  b.wait(Compute, InReady, 1);
  b.copy(b.at(s.in, 0, 1), b.at(s.stash, 0, 1), "x", kX);
  b.record(Compute, InFree, 1);
  s.layersForward();
  b.launch(Loss, {b.at(s.stash, 2 * kX, 1), b.at(s.input, 0, kMicro), b.at(s.loss), b.at(s.d)});
  b.emit(Op::Mark, Compute, 0, "F").flags = 1;
  uint16_t F = b.end();

  b.begin("B");
  s.layersBackward(b.at(s.d));
  // The last send of `out` is done: this micro-batch was received after it.
  b.gemm(InputGradient, "layer.x.grad", {b.at(s.d), b.at(s.weight), b.at(s.out)});
  b.record(Compute, OutReady);
  uint16_t B = b.end();

  b.begin("S");
  b.wait(PpStream, OutReady);
  b.transfer(Op::Send, Pp, -1, "send dx", b.at(s.out), kX);
  uint16_t S = b.end();

  b.begin("X");
  b.wait(PpStream, OutReady); // also behind the last read of `in`, a step ago
  b.emit(Op::Group, PpStream, 0, "x|dx").arg = 2;
  b.transfer(Op::Recv, Pp, -1, "receive x", b.at(s.in, 0, 1), kX);
  b.transfer(Op::Send, Pp, -1, "send dx", b.at(s.out), kX);
  b.record(PpStream, InReady, 1);
  uint16_t X = b.end();

  b.begin("M");
  b.emit(Op::Metric, Compute, 0, "loss", {b.at(s.loss)});
  uint16_t M = b.end();

  b.c.firstUse = {InFree, InFree + 1};
  b.c.init = {b.run(s.I)};
  b.c.step = {b.run(s.Z),     b.run(R, 0, 0), b.run(F, 0, 0), b.run(B, 0, 0), b.run(X, 1, 1),
              b.run(F, 1, 1), b.run(B, 1, 1), b.run(S),       b.run(s.U)};
  b.c.eval = {b.run(s.Z), b.run(R, 0, 0), b.run(F, 0, 0), b.run(R, 1, 1), b.run(F, 1, 1), b.run(M)};
  return b.c;
}

/// The memory verdict: regions by kind, in the order of their first.
inline std::vector<MemoryTerm> memoryTerms(const ClassProgram &c) {
  std::vector<MemoryTerm> terms;
  uint64_t end = 0;
  for (const Region &r : c.regions) {
    std::string name = "kind " + std::to_string(int(r.kind));
    size_t at = 0;
    while (at < terms.size() && terms[at].name != name)
      ++at;
    if (at == terms.size())
      terms.push_back({name, 0});
    terms[at].bytes += r.offset + r.bytes - end;
    end = r.offset + r.bytes;
  }
  if (!terms.empty())
    terms.back().bytes += c.arenaBytes - end;
  return terms;
}

/// The plan told at the top of this file.  Passes the verifier.
inline Plan tinyPlan() {
  Plan p;
  p.producer = "hocket 0.1.0";
  p.modelName = "tiny", p.modelFamily = "gpt2", p.modelConfig = "{}";
  p.strategy = "pipeline = 2\ntensor = 2\n";
  p.modelHash.fill(1), p.clusterHash.fill(2), p.jobHash.fill(3);
  p.parameters = 4 * 4 * 8;
  p.strings = {""};
  p.globalBatch = 4, p.sequence = 4, p.vocabulary = 16, p.microBatches = 2;
  p.isa = "x86-64-v3";
  p.predictedStepSeconds = 0.001, p.flopsPerStep = 1e6;
  p.axes = {{"pipeline", 2, 2}, {"tensor", 2, 1}};
  p.communicators = {{"tp", {1}, false, 0}, {"pp", {0}, true, 1}, {"world", {0, 1}, false, 2}};
  // Element number of the first weight of layer l in the whole stack; 32 weights a layer, 16 a rank.
  p.affines = {{{0, 16}, 32, 0, 0}, {{0, 16}, 32, 0, 64}};
  p.scalars = {{ScalarKind::LearningRate, DType::F32}, {ScalarKind::Seed, DType::I64}};
  p.metrics = {{"loss", 1, DType::F32}};

  auto kernel = [&](std::string symbol, std::vector<KernelArg> args) {
    Kernel k;
    k.args = std::move(args);
    k.symbol = declaredSymbol(symbol, k);
    p.kernels.push_back(k);
  };
  using enum Access;
  constexpr uint64_t x = tiny::kX, w = tiny::kW, t = tiny::kTokens;
  kernel("tiny_embed", {{Read, t}, {Write, x}});
  kernel("tiny_add", {{Read, x}, {Read, x}, {Write, x}});
  kernel("tiny_sumsq", {{Read, 2 * w}, {Write, 4}});
  kernel("tiny_update", {{ReadWrite, w}, {Read, w}, {ReadWrite, w}, {ReadWrite, w}, {Read, 4}, {Value, 4}});
  kernel("tiny_init", {{Write, w}, {Value, 8}, {Value, 8}});
  kernel("tiny_loss", {{Read, x}, {Read, t}, {ReadWrite, 4}, {Write, x}});

  Gemm g;
  g.m = 8, g.n = 4, g.k = 4, g.lda = g.ldb = g.ldc = 4;
  p.gemms.push_back(g);
  g.transposeB = true;
  Gemm inputGradient = g;
  g = {};
  g.m = 4, g.n = 4, g.k = 8, g.lda = g.ldb = g.ldc = 4, g.transposeA = g.accumulate = true;
  p.gemms.push_back(g);
  p.gemms.push_back(inputGradient);

  p.classes.push_back(tinyStage0(p));
  p.classes.push_back(tinyStage1(p));
  for (uint32_t i = 0; i < 2; ++i) {
    const ClassProgram &c = p.classes[i];
    p.summaries.push_back({memoryTerms(c), 0.001});
    Param param;
    param.name = "h.{l}.w", param.id = "layer.w";
    param.dims = {{'h', 4, 4, {}}, {'f', 4, 8, {1}}};
    param.stacked = true;
    param.layerBegin = 2 * i, param.layerEnd = 2 * i + 2;
    param.layout = "hf";
    param.classIndex = i;
    param.value = ClassBuilder::at(0, 0, kLayered), param.gradient = ClassBuilder::at(1, 0, kLayered);
    param.moment1 = ClassBuilder::at(2, 0, kLayered), param.moment2 = ClassBuilder::at(3, 0, kLayered);
    p.params.push_back(param);
    Input in;
    in.kind = i == 0 ? InputKind::Tokens : InputKind::Labels;
    in.classIndex = i;
    in.at = ClassBuilder::at(4, 0, kMicro);
    in.rows = 2;
    p.inputs.push_back(in);
  }
  return p;
}

} // namespace hocket::test
