//===- exact_test.cpp - One negative test for each rule of the last part ----===//
//
// Each edit keeps the plan safe to run, so that nothing but exact.cpp,
// complete.cpp or agree.cpp can find it.
//
//===----------------------------------------------------------------------===//

#include "test/unit/verify/findings.h"

using namespace hocket;
using namespace hocket::test;

namespace {

/// Makes room behind region number `k` of class 0; what follows moves up.
void grow(Plan &p, size_t k, uint64_t bytes) {
  ClassProgram &c = p.classes[0];
  for (size_t i = k + 1; i < c.regions.size(); ++i)
    c.regions[i].offset += bytes;
  c.arenaBytes += bytes;
  p.summaries[0].memory = memoryTerms(c);
}

TEST(Exact, Regions) {
  EXPECT_FINDING("region 'stash' has 2 steps of 384 bytes; legal: strides that fill its 832 bytes exactly", {
    region(p.classes[0], "stash").bytes += 64;
    grow(p, 5, 64);
  });
  EXPECT_FINDING("region 'w' begins at byte 64; legal: byte 0, where the region before it ends", {
    p.classes[0].regions[0].offset += 64;
    grow(p, 0, 64);
  });
  EXPECT_FINDING("the end of its last region", {
    p.classes[0].arenaBytes += 64;
    p.summaries[0].memory = memoryTerms(p.classes[0]);
  });
}

TEST(Exact, Operands) {
  EXPECT_FINDING("operands in the order of the instructions", {
    ClassProgram &c = p.classes[0];
    c.operands.push_back(operand(c, Op::Fill, 0, 0));
    instr(c, Op::Fill, 0).firstOperand = uint32_t(c.operands.size() - 1);
  });
  EXPECT_FINDING("element type 2; legal: the plan's f32", {
    for (ClassProgram &c : p.classes)
      instr(c, Op::Collective, 0).flags = uint16_t(DType::I32);
  });
  EXPECT_FINDING("as its instructions have", {
    ClassProgram &c = p.classes[0];
    c.operands.push_back(c.operands[0]);
  });
}

TEST(Exact, Entries) {
  EXPECT_FINDING("entry 0 of list step has slot 1 as number 2; legal: 0 where the template uses no slot",
                 { p.classes[0].step[0].slot[1] = 1; });
  EXPECT_FINDING("entry 0 of list init runs micro-batch 1; legal: 0", { p.classes[0].init[0].micro = 1; });
}

TEST(Exact, Events) {
  EXPECT_FINDING("13 events; legal: 12", { p.classes[0].events = 13; });
  EXPECT_FINDING("legal: events that something waits for, ascending",
                 { std::swap(p.classes[0].firstUse[0], p.classes[0].firstUse[1]); });
}

TEST(Exact, Parameters) {
  EXPECT_FINDING("has letter 'f' of local extent 4 on 2 shards, true extent 5; legal: local extent 3",
                 { p.params[0].dims[1].global = 5; });
  EXPECT_FINDING("has 4 rows for a vocabulary of 16", {
    for (Param &q : p.params)
      q.dims[0].letter = 'v', q.layout = "vf";
  });
  EXPECT_FINDING("has element type f64; legal: the plan's f32", {
    p.params[0].dtype = DType::F64;
    p.params[0].dims[1] = {'f', 2, 4, {1}};
  });
  EXPECT_FINDING("is whole and has part dimension 1; legal: 0", { p.params[0].partDim = 1; });
  EXPECT_FINDING("has more than 2^64 elements; legal: fewer", {
    p.params[0].dims.clear(), p.params[0].layout.clear();
    for (char letter = 'A'; letter <= 'Z'; ++letter)
      for (char l : {letter, char(letter - 'A' + 'a')})
        p.params[0].dims.push_back({l, 1, 4, {0, 1}}), p.params[0].layout += l;
  });
  EXPECT_FINDING("has operand flags 0; legal: layered",
                 { p.params[0].layerEnd = 1, p.params[0].value.flags = 0; });
  EXPECT_FINDING("differs between classes", { p.params[1].dims[0].letter = 'k', p.params[1].layout = "kf"; });
  EXPECT_FINDING("has 1 of its 2 parts", {
    for (Param &q : p.params)
      q.partCount = 2;
  });
  EXPECT_FINDING("a parameter at byte 32 of region 'w', the one before ends at 0", {
    for (Param &q : p.params)
      q.dims[1] = {'f', 2, 4, {1}};
    p.params[0].value.offset = 32;
  });
  EXPECT_FINDING("parameters end at byte 64 of region 'w'; legal: its end, 128", {
    Region &w = p.classes[0].regions[0];
    w.layerStride = 128, w.bytes = 256;
    grow(p, 0, 128);
  });
  EXPECT_FINDING("the plan says it has 129 parameters; legal: 128, the sum over its tensors",
                 { ++p.parameters; });
}

TEST(Exact, Inputs) {
  EXPECT_FINDING("class s0 takes an input twice", { p.inputs.push_back(p.inputs[0]); });
  EXPECT_FINDING(
      "an input of 32 bytes at byte 0 of region 'tokens'; legal: all of its 128 bytes a micro-batch", {
        Region &tokens = region(p.classes[0], "tokens");
        tokens.microStride = 128, tokens.bytes = 256;
        grow(p, 4, 192);
      });
  EXPECT_FINDING("inputs of one kind only", { p.inputs[1].kind = InputKind::Tokens; });
}

TEST(Exact, Declarations) {
  EXPECT_FINDING("is not declared as its code was compiled", { p.kernels[0].work = 2; });
  EXPECT_FINDING("is not declared as its code was compiled", { p.kernels[0].args[0].bytes = 16; });
  EXPECT_FINDING("is not declared as its code was compiled", { p.kernels[0].flops = 7; });
  EXPECT_FINDING("is not declared as its code was compiled", {
    p.gemms[0].symbol = declaredSymbol("tiny_gemm", p.gemms[0]);
    p.gemms[0].work = 2;
  });
  EXPECT_FINDING("has arguments of 160 bytes and moves 1; legal: equal numbers",
                 { p.kernels[0].memoryBytes = 1; });
}

TEST(Exact, InitialIndices) {
  EXPECT_FINDING("its first index is not that of its part of parameter 'h.{l}.w'", {
    p.kernels[tiny::Init].symbol = declaredSymbol("init_normal", p.kernels[tiny::Init]);
    p.affines[0].constant = 4;
  });
}

TEST(Exact, Tables) {
  EXPECT_FINDING("list eval reads metric 'loss' twice; legal: once",
                 { p.classes[1].eval.push_back(p.classes[1].eval.back()); });
  EXPECT_FINDING("list step never reads metric 'other'", { p.metrics.push_back({"other", 1, DType::F32}); });
  EXPECT_FINDING("kernel 6 is used by no instruction", { p.kernels.push_back(p.kernels[0]); });
  EXPECT_FINDING("gemm 3 is used by no instruction", { p.gemms.push_back(p.gemms[0]); });
  EXPECT_FINDING("affine 2 is used by no instruction", { p.affines.push_back(p.affines[0]); });
  EXPECT_FINDING("scalar 2 is used by no instruction", { p.scalars.push_back(p.scalars[0]); });
  EXPECT_FINDING("scalars 0 and 2 are equal", { p.scalars.push_back(p.scalars[0]); });
  EXPECT_FINDING("communicator 3 is used by no instruction",
                 { p.communicators.push_back({"again", {1}, false, 3}); });
  EXPECT_FINDING("communicator 'again' spans the axes of another",
                 { p.communicators.push_back({"again", {1}, false, 3}); });
  EXPECT_FINDING("communicator 'tp' has order 7; legal: 0", { p.communicators[0].order = 7; });
  EXPECT_FINDING("communicator 'dp' spans axis 'data' of one rank", {
    p.axes.push_back({"data", 1, 1});
    for (ClassProgram &c : p.classes)
      c.first.push_back(0), c.last.push_back(0);
    for (Affine &a : p.affines)
      a.coordinate.push_back(0);
    p.communicators.push_back({"dp", {2}, false, 3});
  });
  EXPECT_FINDING("gemm 0 has element type f64; legal: the plan's f32", {
    Gemm &g = p.gemms[0];
    g.dtype = DType::F64, g.m = 4, g.k = 2, g.lda = 2;
  });
  EXPECT_FINDING("gemm 2 has gaps between its rows; legal: dense matrices",
                 { p.gemms[tiny::InputGradient].ldb = 8; });
}

TEST(Complete, Layers) {
  EXPECT_FINDING("operand 0 moves with the layer outside of a repeat",
                 { operand(p.classes[0], Op::Fill, 0, 0).flags |= kLayered; });
  // The update: the last layer would never learn.
  EXPECT_FINDING("repeat from +0 to +1 in steps of +1; legal: all 2 layers of the stack, one after the other",
                 { instr(p.classes[0], Op::Repeat, 1).to = 1; });
}

TEST(Complete, MicroBatches) {
  EXPECT_FINDING(
      "list step runs template 'F' 2 times, last for micro-batch 0; legal: once, or once for each of the "
      "2 micro-batches",
      { p.classes[0].step[3].micro = 0; });
}

TEST(Complete, WholeValues) {
  EXPECT_FINDING("moves bytes up to +64 of region 'scratch'; legal: whole values", {
    for (ClassProgram &c : p.classes)
      instr(c, Op::Collective, 1).bytes = 64;
  });
}

TEST(Agree, ResultsAreRead) {
  EXPECT_FINDING("(fill 'zero gradients'): writes what nothing reads", {
    // At the end of B; the next product overwrites it.
    ClassProgram &c = p.classes[0];
    Instr fill = instr(c, Op::Fill, 0);
    fill.firstOperand = uint32_t(c.operands.size()), fill.bytes = 128;
    c.operands.push_back(operand(c, Op::Collective, 1, 0));
    c.instrs.push_back(fill);
    ++c.templates.back().count;
  });
}

TEST(Agree, Cells) {
  EXPECT_FINDING("operand 0 names a slot of region 'scratch', which has no slots; legal: operands that name",
                 { operand(p.classes[0], Op::Collective, 1, 0).flags = 2; });
  EXPECT_FINDING("operand 0 names no micro-batch of region 'tokens', which has 2",
                 { operand(p.classes[0], Op::Launch, 3, 0).flags = 0; });
  EXPECT_FINDING("operand 1 names no layer of region 'w', which has 2",
                 { operand(p.classes[0], Op::Gemm, 0, 1).flags = 0; });
}

TEST(Agree, Names) {
  EXPECT_FINDING("legal: 0: records, waits and repeats have no name",
                 { instr(p.classes[0], Op::Wait).name = 1; });
  EXPECT_FINDING("legal: at most 1: strings in the order of their first use",
                 { p.classes[0].instrs[0].name = 2; });
  EXPECT_FINDING("string 0 is 'x'; legal: empty", { p.strings[0] = "x"; });
  EXPECT_FINDING("25 strings; legal: 24, as instructions name", { p.strings.push_back("unused"); });
}

TEST(Agree, Streams) {
  // The norm's all-reduce shares ranks with both; without it they share one.
  EXPECT_FINDING(
      "communicator 'tp' on stream 'pp' of communicator 'pp'; legal: on a stream, communicators that", {
        for (ClassProgram &c : p.classes) {
          uint32_t norm = nth(c, Op::Collective);
          c.instrs[norm].op = Op::Fill, c.instrs[norm].index = 0, c.instrs[norm].arg = 0,
          c.instrs[norm].flags = 0;
          for (Instr &i : c.instrs)
            if (i.stream == tiny::TpStream)
              i.stream = tiny::PpStream;
        }
      });
  EXPECT_FINDING("communicator 'tp' on a second stream, 'compute'; legal: one stream", {
    for (ClassProgram &k : p.classes) {
      uint32_t i = nth(k, Op::Collective, 1);
      // Behind the wait for the first, in the same repeat.
      Instr second = k.instrs[i];
      second.stream = tiny::Compute, second.firstOperand += 1;
      k.operands.insert(k.operands.begin() + second.firstOperand, k.operands[second.firstOperand - 1]);
      for (Instr &later : k.instrs)
        if (later.operandCount && later.firstOperand >= second.firstOperand)
          ++later.firstOperand;
      uint32_t repeat = i;
      while (k.instrs[repeat].op != Op::Repeat)
        --repeat;
      ++k.instrs[repeat].arg;
      k.instrs.insert(k.instrs.begin() + i + 3, second);
      bool after = false;
      for (Template &t : k.templates) {
        t.first += after;
        if (!after && t.first <= i && i < t.first + t.count)
          ++t.count, after = true;
      }
    }
  });
}

TEST(Agree, EventSlots) {
  EXPECT_FINDING("event 8 without a slot, an earlier record or wait is with one", {
    ClassProgram &c = p.classes[0];
    c.firstUse = {8, 9};
    for (Instr &i : c.instrs)
      if (i.op == Op::Record && i.index == 8)
        i.flags = 0;
  });
}

TEST(Agree, MemoryVerdict) {
  EXPECT_FINDING("class 's0': its memory verdict is 192, 64, 256, 64, 768, 384, 128, 256 bytes; legal: "
                 "128, 128, 256, 64, 768, 384, 128, 256: its regions by kind, in their order",
                 {
                   p.summaries[0].memory[0].bytes += 64;
                   p.summaries[0].memory[1].bytes -= 64;
                 });
}

TEST(Agree, Inputs) {
  EXPECT_FINDING("inputs are shared over different axes", {
    p.axes.push_back({"data", 1, 1});
    for (ClassProgram &c : p.classes)
      c.first.push_back(0), c.last.push_back(0);
    for (Affine &a : p.affines)
      a.coordinate.push_back(0);
    p.inputs[1].axes = {2};
  });
  EXPECT_FINDING("two inputs in region 'tokens'", {
    p.inputs.push_back(p.inputs[0]);
    p.inputs.back().kind = InputKind::Labels;
  });
  EXPECT_FINDING("no input goes to region 'labels'", { p.inputs.pop_back(); });
  EXPECT_FINDING("takes 32 bytes of an input of 24 bytes a micro-batch; legal: all of them",
                 { p.sequence = 3; });
}

TEST(Agree, Indices) {
  EXPECT_FINDING("operand 5 is no first index of a part of a parameter", {
    // The learning rate becomes an index: 8 bytes.
    p.kernels[tiny::Update].args[5].bytes = 8;
    for (ClassProgram &c : p.classes)
      operand(c, Op::Launch, 2, 5) = ClassBuilder::value(OperandKind::Affine, 0);
  });
}

TEST(Agree, Addresses) {
  EXPECT_FINDING("is a tied copy with a first moment; legal: no address: constant 0",
                 { p.params[1].owner = false; });
  EXPECT_FINDING("has a gradient at byte 4 of region 1, where no operand begins", {
    Param &q = p.params[0];
    q.dims[1] = {'f', 2, 4, {1}};
    q.gradient.offset = 4;
  });
}

} // namespace
