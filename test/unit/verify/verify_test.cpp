//===- verify_test.cpp - One negative test for each thing the verifier says -===//

#include "test/unit/common/mutate.h"
#include "test/unit/verify/findings.h"

#include <cmath>
#include <map>

using namespace hocket;
using namespace hocket::test;

namespace {

TEST(Verify, TinyPlanPasses) {
  EXPECT_EQ(findings([](Plan &) {}), "");
}

TEST(Verify, FindingSaysClassTemplateAndInstruction) {
  EXPECT_EQ(findings([](Plan &p) { instr(p.classes[0], Op::Send).stream = 9; }),
            "class 's0', template 'S', instruction 28 (send 'send x'): stream 9; legal: a stream below 3\n");
}

TEST(Verify, NamesCannotControlATerminal) {
  EXPECT_EQ(findings([](Plan &p) { p.axes[1].name = p.axes[0].name = "a\x1b[2J\n"; }).substr(0, 27),
            "mesh axis named 'a?[2J?'; l");
}

TEST(Verify, Mesh) {
  EXPECT_FINDING("mesh axis named 'tensor'", { p.axes[0].name = "tensor"; });
  EXPECT_FINDING("mesh axis named ''", { p.axes[0].name = ""; });
  EXPECT_FINDING("mesh axis 'pipeline' has size 0", { p.axes[0].size = 0; });
  EXPECT_FINDING("the mesh has more than 1048576 ranks", { p.axes[0].size = 1 << 20; });
  EXPECT_FINDING("the mesh has more than 1048576 ranks", {
    for (int i = 0; i < 64; ++i)
      p.axes.push_back({"x" + std::to_string(i), 1u << 31, 1});
  });
  EXPECT_FINDING("mesh axis 'pipeline' has stride 3; legal: stride 2", { p.axes[0].stride = 3; });
  EXPECT_FINDING("mesh axis 'tensor' has stride 0; legal: stride 1", { p.axes[1].stride = 0; });
}

TEST(Verify, Communicators) {
  EXPECT_FINDING("communicator 'tp' names axis 2", { p.communicators[0].axes = {2}; });
  EXPECT_FINDING("communicator 'tp' names axis 1", { p.communicators[0].axes = {1, 1}; });
  EXPECT_FINDING("communicator 'tp' spans 0 axes", { p.communicators[0].axes = {}; });
  EXPECT_FINDING("communicator 'pp' spans 2 axes", { p.communicators[1].axes = {0, 1}; });
}

TEST(Verify, ClassBoxesPartitionTheMesh) {
  EXPECT_FINDING("class 's0': its box has 1 first and 2 last coordinates",
                 { p.classes[0].first.pop_back(); });
  EXPECT_FINDING("class 's0': coordinates 0 to 2 on axis 'tensor'", { p.classes[0].last[1] = 2; });
  EXPECT_FINDING("class 's0': coordinates 1 to 0 on axis 'pipeline'", { p.classes[0].first[0] = 1; });
  EXPECT_FINDING("hold more than the mesh's 4 ranks", { p.classes[0].last[0] = 1; });
  EXPECT_FINDING("hold 3 of the mesh's 4 ranks", { p.classes[0].last[1] = 0; });
  EXPECT_FINDING("rank 2 is also in class 's0'", { p.classes[0].first[0] = p.classes[0].last[0] = 1; });
}

TEST(Verify, PlanNumbers) {
  EXPECT_FINDING("global batch is 0; legal: at least 1", { p.globalBatch = 0; });
  EXPECT_FINDING("sequence is 0", { p.sequence = 0; });
  EXPECT_FINDING("vocabulary is 0", { p.vocabulary = 0; });
  EXPECT_FINDING("micro-batches is 0", { p.microBatches = 0; });
  EXPECT_FINDING("0 threads per rank", { p.threadsPerRank = 0; });
  EXPECT_FINDING("2000 threads per rank", { p.threadsPerRank = 2000; });
  EXPECT_FINDING("predicted step time or FLOPs", { p.predictedStepSeconds = NAN; });
  EXPECT_FINDING("predicted step time or FLOPs", { p.flopsPerStep = -1; });
  EXPECT_FINDING("the plan's element type is u8", { p.dtype = DType::U8; });
}

TEST(Verify, Kernels) {
  EXPECT_FINDING("kernel 0 '' has no usable symbol", { p.kernels[0].symbol = ""; });
  EXPECT_FINDING("has no usable symbol", { p.kernels[0].symbol = std::string("a\0b", 3); });
  EXPECT_FINDING("' has work 0; legal: at least 1", { p.kernels[0].work = 0; });
  EXPECT_FINDING("FLOPs or bytes that are negative or not finite", { p.kernels[0].flops = INFINITY; });
  EXPECT_FINDING("argument 0 is read of 0 bytes", { p.kernels[0].args[0].bytes = 0; });
  EXPECT_FINDING("argument 5 is value of 9 bytes", { p.kernels[3].args[5].bytes = 9; });
}

TEST(Verify, Gemms) {
  EXPECT_FINDING("gemm 0 has extents 0, 4, 4", { p.gemms[0].m = 0; });
  EXPECT_FINDING("gemm 0 has element type i32", { p.gemms[0].dtype = DType::I32; });
  EXPECT_FINDING("gemm 0 has work 0; legal: at least 1", { p.gemms[0].work = 0; });
  EXPECT_FINDING("gemm 0 has lda = 3; legal: a leading dimension of at least the row's 4",
                 { p.gemms[0].lda = 3; });
  EXPECT_FINDING("gemm 2 has ldb = 3", { p.gemms[2].ldb = 3; });
  EXPECT_FINDING("gemm 1 has ldc = -4", { p.gemms[1].ldc = -4; });
  EXPECT_FINDING("8 rows with lda = 4611686018427387904 overflow", { p.gemms[0].lda = int64_t(1) << 62; });
}

TEST(Verify, AffinesAndScalars) {
  EXPECT_FINDING("affine 0 has 1 coefficients; legal: 2, one per mesh axis",
                 { p.affines[0].coordinate.pop_back(); });
  EXPECT_FINDING("affine 0 overflows 64 bits", { p.affines[0].coordinate = {INT64_MIN, 0}; });
  EXPECT_FINDING("affine 0 overflows 64 bits", { p.affines[0].layer = INT64_MAX; });
  EXPECT_FINDING("affine 1 overflows 64 bits", { p.affines[1].micro = INT64_MAX; });
  EXPECT_FINDING("scalar 1 of kind 3 has type f32", { p.scalars[1].dtype = DType::F32; });
  EXPECT_FINDING("scalar 0 of kind 0 has type i64", { p.scalars[0].dtype = DType::I64; });
}

TEST(Verify, Optimizer) {
  EXPECT_FINDING("optimizer: lr is out of range; legal: a finite number from 0", { p.optimizer.lr = NAN; });
  EXPECT_FINDING("optimizer: min_lr is out of range; legal: a finite number from 0",
                 { p.optimizer.minLr = -1; });
  EXPECT_FINDING("optimizer: eps is out of range", { p.optimizer.eps = -1; });
  EXPECT_FINDING("optimizer: decay is out of range", { p.optimizer.decay = INFINITY; });
  EXPECT_FINDING("optimizer: clip is out of range", { p.optimizer.clip = -1; });
  EXPECT_FINDING("optimizer: beta1 is out of range; legal: from 0 to below 1", { p.optimizer.beta1 = 1; });
  EXPECT_FINDING("optimizer: beta2 is out of range; legal: from 0 to below 1", { p.optimizer.beta2 = -0.1; });
  EXPECT_FINDING("optimizer: schedule 7; legal: constant (0) or cosine (1)",
                 { p.optimizer.schedule = ScheduleKind(7); });
}

TEST(Verify, Regions) {
  EXPECT_FINDING("class 's0': arena of", { p.classes[0].arenaBytes = ~0ull; });
  EXPECT_FINDING("region 'loss' at [", { region(p.classes[0], "loss").offset = 1 << 20; });
  EXPECT_FINDING("region 'w' at [0, +18446744073709551615); legal: a range inside the arena of",
                 { p.classes[0].regions[0].bytes = ~0ull; });
  EXPECT_FINDING("begins at byte 2; legal: a multiple of 64", { p.classes[0].regions[0].offset = 2; });
  EXPECT_FINDING("region 'w' has kind 8", { p.classes[0].regions[0].kind = RegionKind(8); });
  EXPECT_FINDING("region 'w' has 0 slots", { p.classes[0].regions[0].slots = 0; });
  EXPECT_FINDING("region 'w' has 2 layers of stride 0", { p.classes[0].regions[0].layerStride = 0; });
  EXPECT_FINDING("region 'w': its last slot, layer and micro-batch begin outside its 128 bytes",
                 { p.classes[0].regions[0].layerStride = 128; });
  EXPECT_FINDING("begin outside",
                 { p.classes[0].regions[0].layerStride = ~0ull, p.classes[0].regions[0].layers = ~0u; });
  EXPECT_FINDING("regions 'w' and 'grad' overlap", { p.classes[0].regions[1].offset = 64; });
}

TEST(Verify, StreamsAndEvents) {
  EXPECT_FINDING("class 's0': 0 streams; legal: 1 to 64", { p.classes[0].streams.clear(); });
  EXPECT_FINDING("65 streams", { p.classes[0].streams.resize(65); });
  EXPECT_FINDING("2000000 events; legal: at most 1048576", { p.classes[0].events = 2000000; });
  EXPECT_FINDING("first use of event 99; legal: an event below 12", { p.classes[0].firstUse = {99}; });
}

TEST(Verify, Templates) {
  EXPECT_FINDING("template 'I' has instructions [5, +4)", { p.classes[0].templates[1].first = 5; });
  EXPECT_FINDING("template 'Z' has instructions [0, +4000000000)",
                 { p.classes[0].templates[0].count = 4000000000u; });
  EXPECT_FINDING("belong to no template", { p.classes[0].templates.pop_back(); });
  EXPECT_FINDING("entry 0 of list step runs template 99", { p.classes[0].step[0].templateIndex = 99; });
  EXPECT_FINDING("entry 1 of list eval runs micro-batch 2", { p.classes[0].eval[1].micro = 2; });
}

TEST(Verify, RepeatsAndGroups) {
  EXPECT_FINDING("a repeat of 0 instructions", { instr(p.classes[0], Op::Repeat).arg = 0; });
  EXPECT_FINDING("a repeat of 99 instructions; legal: 1 to the 3 that follow in the template",
                 { instr(p.classes[0], Op::Repeat).arg = 99; });
  EXPECT_FINDING("a repeat inside a repeat", {
    p.classes[0].instrs[nth(p.classes[0], Op::Repeat) + 1] = instr(p.classes[0], Op::Repeat);
  });
  EXPECT_FINDING("repeat from 0 to 2 in steps of 0", { instr(p.classes[0], Op::Repeat).step = 0; });
  EXPECT_FINDING("repeat from 0 to 2 in steps of -1", { instr(p.classes[0], Op::Repeat).step = -1; });
  EXPECT_FINDING("repeat from 0 to 3 in steps of 2",
                 { instr(p.classes[0], Op::Repeat).to = 3, instr(p.classes[0], Op::Repeat).step = 2; });
  EXPECT_FINDING("repeat from -1 to 2 names negative layers", { instr(p.classes[0], Op::Repeat).from = -1; });
  EXPECT_FINDING("a group of 9 instructions", { instr(p.classes[0], Op::Group).arg = 9; });
  EXPECT_FINDING("record on stream 2 in a group of stream 2", { instr(p.classes[0], Op::Group).arg = 3; });
  EXPECT_FINDING("recv on stream 0 in a group of stream 2", { instr(p.classes[0], Op::Recv).stream = 0; });
  EXPECT_FINDING("a group inside a group",
                 { p.classes[0].instrs[nth(p.classes[0], Op::Group) + 1] = instr(p.classes[0], Op::Group); });
}

TEST(Verify, UnrolledSizeIsLimited) {
  EXPECT_FINDING("the plan's lists unroll to more than 67108864 instructions and operands", {
    Instr &r = instr(p.classes[0], Op::Repeat);
    r.to = INT32_MAX;
    region(p.classes[0], "w").kind = RegionKind::Parameter;
  });
}

TEST(Verify, InstructionsByThemselves) {
  EXPECT_FINDING("name 4000; legal: a string below", { instr(p.classes[0], Op::Fill).name = 4000; });
  EXPECT_FINDING("stream 4; legal: a stream below 3", { instr(p.classes[0], Op::Fill).stream = 4; });
  EXPECT_FINDING("operands [4000, +1)", { instr(p.classes[0], Op::Fill).firstOperand = 4000; });
  EXPECT_FINDING("class 's0': its instructions have 65567 operands; legal: at most its 33 operand records",
                 { instr(p.classes[0], Op::Fill).operandCount = 65535; });
  EXPECT_FINDING("instruction kind 77", { instr(p.classes[0], Op::Fill).op = Op(77); });
  EXPECT_FINDING("2 operands; legal: 1: the destination",
                 { p.classes[0].operands.emplace_back(), instr(p.classes[0], Op::Fill).operandCount = 2; });
  EXPECT_FINDING("1 operands; legal: 2: source and destination",
                 { instr(p.classes[0], Op::Copy).operandCount = 1; });
  EXPECT_FINDING("1 operands; legal: 0: none",
                 { p.classes[0].operands.emplace_back(), instr(p.classes[0], Op::Wait).operandCount = 1; });
  EXPECT_FINDING("1 operands; legal: 0: none",
                 { p.classes[0].operands.emplace_back(), instr(p.classes[0], Op::Mark).operandCount = 1; });
  EXPECT_FINDING("1 operands; legal: 0: none",
                 { p.classes[0].operands.emplace_back(), instr(p.classes[0], Op::Repeat).operandCount = 1; });
  EXPECT_FINDING("0 bytes; legal: at least 1", { instr(p.classes[0], Op::Copy).bytes = 0; });
  EXPECT_FINDING("slot number 5", { instr(p.classes[0], Op::Record).flags = 5; });
  EXPECT_FINDING("event 99; legal: an event below 12", { instr(p.classes[0], Op::Wait).index = 99; });
  EXPECT_FINDING("flags 2; legal: 0 (begin) or 1 (end)", { instr(p.classes[0], Op::Mark).flags = 2; });
}

TEST(Verify, UnusedFieldsAreZero) {
  EXPECT_FINDING("flags is 1; legal: 0, copy has no flags", { instr(p.classes[0], Op::Copy).flags = 1; });
  EXPECT_FINDING("stream is 1; legal: 0, repeat has no stream",
                 { instr(p.classes[0], Op::Repeat).stream = 1; });
  EXPECT_FINDING("index is 1; legal: 0, fill has no index", { instr(p.classes[0], Op::Fill).index = 1; });
  EXPECT_FINDING("arg is 1; legal: 0, wait has no arg", { instr(p.classes[0], Op::Wait).arg = 1; });
  EXPECT_FINDING("bytes is 8; legal: 0, launch has no bytes", { instr(p.classes[0], Op::Launch).bytes = 8; });
  EXPECT_FINDING("from is 1; legal: 0, gemm has no from", { instr(p.classes[0], Op::Gemm).from = 1; });
  EXPECT_FINDING("to is 1; legal: 0, mark has no to", { instr(p.classes[0], Op::Mark).to = 1; });
  EXPECT_FINDING("step is 1; legal: 0, send has no step", { instr(p.classes[0], Op::Send).step = 1; });
}

TEST(Verify, Operands) {
  EXPECT_FINDING("operand 0 is no address",
                 { operand(p.classes[0], Op::Copy, 0, 0).kind = OperandKind::Constant; });
  EXPECT_FINDING("operand 0 names region 99", { operand(p.classes[0], Op::Copy, 0, 0).index = 99; });
  EXPECT_FINDING("operand 0 has flags 7; legal: slot 0 to 4, layered, micro",
                 { operand(p.classes[0], Op::Copy, 0, 0).flags = 7; });
  EXPECT_FINDING("operand 0 is 128 bytes at offset -4 of region 'stash'",
                 { operand(p.classes[0], Op::Copy, 0, 0).offset = -4; });
  EXPECT_FINDING("operand 0 is 4096 bytes at offset 256 of region 'stash'",
                 { instr(p.classes[0], Op::Copy).bytes = 4096; });
  EXPECT_FINDING("operand 0 is not aligned to its elements",
                 { operand(p.classes[0], Op::Gemm, 0, 0).offset = 2; });
  EXPECT_FINDING("operand 1 names affine 7", { operand(p.classes[0], Op::Launch, 0, 1).index = 7; });
  EXPECT_FINDING("operand 2 names scalar 7", { operand(p.classes[0], Op::Launch, 0, 2).index = 7; });
  EXPECT_FINDING("operand 1 is an address, the kernel declares a value",
                 { operand(p.classes[0], Op::Launch, 0, 1).kind = OperandKind::Region; });
  EXPECT_FINDING("operand 1 has 8 bytes, the kernel declares 4", { p.kernels[4].args[1].bytes = 4; });
  EXPECT_FINDING("operand 1 has flags 0, index 0, offset 3",
                 { operand(p.classes[0], Op::Launch, 0, 1).offset = 3; });
  EXPECT_FINDING("operand 1 has flags 8", { operand(p.classes[0], Op::Launch, 0, 1).flags = 8; });
}

TEST(Verify, LaunchGemmAndMetric) {
  EXPECT_FINDING("kernel 99; legal: a kernel below 6", { instr(p.classes[0], Op::Launch).index = 99; });
  EXPECT_FINDING("3 operands; legal: 2: as the kernel declares", { p.kernels[4].args.pop_back(); });
  EXPECT_FINDING("gemm 99; legal: a gemm below 3", { instr(p.classes[0], Op::Gemm).index = 99; });
  EXPECT_FINDING("3 operands; legal: 4: a, b, c, scratch", { p.gemms[0].scratchBytes = 64; });
  EXPECT_FINDING("metric 99; legal: a metric below 1", { instr(p.classes[1], Op::Metric).index = 99; });
  EXPECT_FINDING("metric 'loss' belongs to class 0", { p.metrics[0].classIndex = 0; });
  EXPECT_FINDING("0 operands; legal: 1: the value", { instr(p.classes[1], Op::Metric).operandCount = 0; });
}

TEST(Verify, CollectivesByThemselves) {
  EXPECT_FINDING("communicator 9; legal: a communicator below 3",
                 { instr(p.classes[0], Op::Collective).index = 9; });
  EXPECT_FINDING("a collective on pair communicator 'pp'",
                 { instr(p.classes[0], Op::Collective).index = tiny::Pp; });
  EXPECT_FINDING("collective kind 4", { instr(p.classes[0], Op::Collective).arg = 4; });
  EXPECT_FINDING("element type 5", { instr(p.classes[0], Op::Collective).flags = 5; });
  EXPECT_FINDING("all_reduce_sum of 6 bytes f32; legal: a multiple of 4 bytes",
                 { instr(p.classes[0], Op::Collective).bytes = 6; });
  EXPECT_FINDING("all_gather of 4 bytes f32; legal: a multiple of 16 bytes",
                 { instr(p.classes[0], Op::Collective).arg = int32_t(CollectiveKind::AllGather); });
}

TEST(Verify, TransfersByThemselves) {
  EXPECT_FINDING("communicator 9; legal: a communicator below 3",
                 { instr(p.classes[0], Op::Send).index = 9; });
  EXPECT_FINDING("send on group communicator 'tp'", { instr(p.classes[0], Op::Send).index = tiny::Tp; });
  EXPECT_FINDING("peer 'pipeline'+2 for coordinates 0 to 0", { instr(p.classes[0], Op::Send).arg = 2; });
  EXPECT_FINDING("peer 'pipeline'-1 for coordinates 0 to 0", { instr(p.classes[0], Op::Send).arg = -1; });
  EXPECT_FINDING("peer 'pipeline'+0", { instr(p.classes[0], Op::Send).arg = 0; });
  // Along `tensor`, where both ranks are of one class, no distance stays inside the mesh; widen it.
  EXPECT_FINDING("a peer of the same class", {
    p.axes[0] = {"pipeline", 4, 2};
    p.classes[0].first[0] = 1, p.classes[0].last[0] = 2;
    p.classes[1].first[0] = p.classes[1].last[0] = 3;
    ClassProgram idle;
    idle.name = "idle", idle.streams = {"s"}, idle.first = {0, 0}, idle.last = {0, 1};
    p.classes.push_back(idle);
  });
}

TEST(Verify, Parameters) {
  EXPECT_FINDING("parameter 'h.{l}.w' belongs to class 2; legal: a class below 2",
                 { p.params[0].classIndex = 2; });
  EXPECT_FINDING("has element type u8", { p.params[0].dtype = DType::U8; });
  EXPECT_FINDING("is stacked and has no {l}", { p.params[0].name = "w"; });
  EXPECT_FINDING("has {l} and is not stacked", { p.params[0].stacked = false; });
  EXPECT_FINDING("has layers [0, 0)", { p.params[0].layerEnd = 0; });
  EXPECT_FINDING("has letter '('; legal: letters", { p.params[0].dims[0].letter = '('; });
  EXPECT_FINDING("shares letter 'h' over axes that do not exist", { p.params[0].dims[0].axes = {2}; });
  EXPECT_FINDING("shares letter 'h' over axes that do not exist", { p.params[0].dims[0].axes = {0, 0}; });
  EXPECT_FINDING("has letter 'f' of local extent 4 on 2 shards, true extent 9",
                 { p.params[0].dims[1].global = 9; });
  EXPECT_FINDING("has letter 'f' of local extent 0", { p.params[0].dims[1].local = 0; });
  EXPECT_FINDING("parameter 'h.{l}.w' is larger than 2^62 bytes; legal: less",
                 { p.params[0].dims[0].local = 1ull << 61; });
  EXPECT_FINDING("has checkpoint layout 'h'", { p.params[0].layout = "h"; });
  EXPECT_FINDING("has checkpoint layout '(hf'", { p.params[0].layout = "(hf"; });
  EXPECT_FINDING("has checkpoint layout 'hff'", { p.params[0].layout = "hff"; });
  EXPECT_FINDING("has checkpoint layout '()hf'", { p.params[0].layout = "()hf"; });
  EXPECT_FINDING("is part 0 of 0", { p.params[0].partCount = 0; });
  EXPECT_FINDING("is part 1 of 3 along dimension 2",
                 { p.params[0].partDim = 2, p.params[0].partIndex = 1, p.params[0].partCount = 3; });
  EXPECT_FINDING("value of 64 bytes a layer is no address without slot in one of 12 regions",
                 { p.params[0].value.index = 99; });
  EXPECT_FINDING("value of 64 bytes a layer lies in region 'grad' of kind gradient",
                 { p.params[0].value.index = 1; });
  EXPECT_FINDING("gradient of 64 bytes a layer lies in region 'w'", { p.params[0].gradient.index = 0; });
  EXPECT_FINDING("first moment of 64 bytes a layer does not fit", { p.params[0].moment1.offset = 4; });
  EXPECT_FINDING("second moment of 64 bytes a layer does not fit the 128 bytes of region 'v'",
                 { p.params[0].moment2.offset = INT64_MIN; });
  EXPECT_FINDING("has 3 layers and 1 micro-batches, region 'w' 2 and 1", { p.params[0].layerEnd = 3; });
  EXPECT_FINDING("parameter 'h.{l}.w' occurs twice in class 0", { p.params.push_back(p.params[0]); });
  EXPECT_EQ(findings([](Plan &p) { p.params[0].layout = "(fh)", p.params[1].layout = "(f)h"; }), "");
}

TEST(Verify, InputsMetricsSummaries) {
  EXPECT_FINDING("input labels has kind 2; legal: tokens (0) or labels (1)",
                 { p.inputs[0].kind = InputKind(2); });
  EXPECT_FINDING("input tokens belongs to class 9; legal: a class below 2", { p.inputs[0].classIndex = 9; });
  EXPECT_FINDING("input tokens is shared over axes", { p.inputs[0].axes = {9}; });
  EXPECT_FINDING("input labels has 3 rows on 1 shards in 2 micro-batches; legal: the global batch of 4",
                 { p.inputs[1].rows = 3; });
  EXPECT_FINDING("input tokens of 64 bytes a micro-batch does not fit", { p.sequence = 8; });
  EXPECT_FINDING("input tokens of 32 bytes a micro-batch lies in region 'w'", { p.inputs[0].at.index = 0; });
  EXPECT_FINDING("input tokens is larger than 2^62 bytes; legal: less",
                 { p.globalBatch = 1u << 31, p.inputs[0].rows = 1u << 30, p.sequence = ~0u; });
  EXPECT_FINDING("input tokens is not aligned to its 4-byte elements; legal: multiples of 4",
                 { p.sequence = 3, p.inputs[0].at.offset = 2; });
  EXPECT_FINDING("operand flags are 0", { p.inputs[0].at.flags = 0; });
  EXPECT_FINDING("metric 'loss' of type f32 in class 9", { p.metrics.push_back({"loss", 9, DType::F32}); });
  EXPECT_FINDING("metric '' of type f32", { p.metrics.push_back({"", 0, DType::F32}); });
  EXPECT_FINDING("metric 'x' of type u8", { p.metrics.push_back({"x", 0, DType::U8}); });
  EXPECT_FINDING("1 summaries; legal: 2, one per class", { p.summaries.pop_back(); });
  EXPECT_FINDING("class 's1': the terms of its memory verdict add up to",
                 { p.summaries[1].memory[0].bytes += 64; });
  EXPECT_FINDING("class 's0': predicted step time negative", { p.summaries[0].predictedStepSeconds = -1; });
}

TEST(Verify, AddressesOfTheUnrolledLists) {
  EXPECT_FINDING("names slot 2 of region 'stash' (entry 1, layer 0); legal: slots below 2",
                 { p.classes[0].step[1].slot[0] = 2; });
  EXPECT_FINDING("names layer 2 of region 'w' (entry 1, layer 2)",
                 { instr(p.classes[0], Op::Repeat, 2).to = 3; });
  EXPECT_FINDING("names micro-batch 1 of region 'tokens'", {
    p.microBatches = 1, p.globalBatch = 2;
    p.inputs.clear();
    region(p.classes[0], "tokens").micros = 1;
    p.microBatches = 2;
  });
  EXPECT_FINDING("operand 1 is 128 bytes at byte 208 of region 'out'",
                 { operand(p.classes[0], Op::Copy, 0, 1).offset = 80; });
  EXPECT_FINDING("event 13 in entry 2 of list step; legal: an event below 12",
                 { p.classes[0].step[2].slot[0] = 5; });
}

TEST(Verify, WaitsNeedARecordBefore) {
  EXPECT_FINDING("waits for event 9, which nothing recorded before (entry 3 of list step)",
                 { p.classes[0].firstUse = {8}; });
  EXPECT_FINDING("waits for event 11, which nothing recorded before",
                 { deleteInstr(p.classes[0], nth(p.classes[0], Op::Record, 1)); });
}

TEST(Verify, ScalarsBelongToTheirList) {
  EXPECT_FINDING("the seed in list step", {
    p.scalars.push_back({ScalarKind::Seed, DType::I64});
    p.classes[0].step.insert(p.classes[0].step.begin(), p.classes[0].init[0]);
  });
  EXPECT_FINDING("a step scalar in list init", {
    operand(p.classes[0], Op::Launch, 0, 2).index = 0;
    p.kernels[4].args[2].bytes = 4;
    operand(p.classes[1], Op::Launch, 0, 2).index = 0;
  });
}

TEST(Verify, RacesAreFound) {
  // The tensor all-reduce no longer waits for the product that it sums.
  EXPECT_FINDING(
      "class 's0', template 'F', instruction 18 (collective 'layer.reduce'): writes region 'scratch'+0 "
      "unordered with the write by template 'F', instruction 16 (gemm 'layer.w')",
      { deleteInstr(p.classes[0], nth(p.classes[0], Op::Wait, 2)); });
  // Operands of one instruction.
  EXPECT_FINDING("writes region 'grad'+0 unordered with the read by itself",
                 { operand(p.classes[0], Op::Launch, 1, 1).index = 1; });
  EXPECT_FINDING("writes region 'stash'+256 unordered with the read by itself", {
    Instr &copy = instr(p.classes[0], Op::Copy);
    p.classes[0].operands[copy.firstOperand + 1] = p.classes[0].operands[copy.firstOperand];
  });
  EXPECT_FINDING("writes region 'stash'+0 unordered with the write by itself", {
    p.kernels[tiny::Add].args[0].access = p.kernels[tiny::Add].args[1].access = Access::Write,
    operand(p.classes[0], Op::Launch, 4, 1) = operand(p.classes[0], Op::Launch, 4, 0);
  });
  // Members of a group are unordered.
  EXPECT_FINDING("unordered with the read by template 'X'", {
    Instr &send = instr(p.classes[0], Op::Send, 1), &recv = instr(p.classes[0], Op::Recv);
    p.classes[0].operands[recv.firstOperand] = p.classes[0].operands[send.firstOperand];
  });
}

TEST(Verify, ResultsMayOverwriteAnOperandInPlace) {
  auto inPlace = [](int64_t offset) {
    return findings([offset](Plan &p) {
      for (ClassProgram &c : p.classes) {
        // tiny_sumsq reads 128 and writes 4 bytes; let it write the 64 bytes it reads, or 32 further.
        Operand *o = &operand(c, Op::Launch, 1, 0);
        o[1] = o[0];
        o[1].offset = offset;
      }
      p.kernels[tiny::SumSq].args = {{Access::Read, 64}, {Access::Write, 64}};
    });
  };
  EXPECT_EQ(inPlace(0).find("itself"), std::string::npos) << inPlace(0);
  EXPECT_NE(inPlace(32).find("writes region 'grad'+32 unordered with the read by itself"), std::string::npos)
      << inPlace(32);
}

/// Each run of a list alone is ordered; the hazard is between two of them.
TEST(Verify, RacesWrapAroundTheStep) {
  EXPECT_FINDING("writes region 'in'+0 unordered with the read by template 'F'", {
    deleteInstr(p.classes[1], nth(p.classes[1], Op::Wait, 2)); // R's wait for InFree
  });
}

TEST(Verify, ReadsNeedAWriteBefore) {
  EXPECT_FINDING("template 'B', instruction 40 (gemm 'layer.w.grad'): reads region 'grad'+64, which nothing "
                 "wrote before",
                 { p.classes[0].step.erase(p.classes[0].step.begin()); });
  EXPECT_FINDING("reads region 'w'+0, which nothing wrote before", { p.classes[0].init.clear(); });
  EXPECT_FINDING("reads region 'm'+0, which nothing wrote before",
                 { deleteInstr(p.classes[0], nth(p.classes[0], Op::Fill, 1)); });
  // The embedding of micro-batch 0 goes to layer 1.
  EXPECT_FINDING("reads region 'stash'+0, which nothing wrote before (entry 1)",
                 { operand(p.classes[0], Op::Launch, 3, 1).offset = 128; });
}

TEST(Verify, AccumulatorsAreFedInOrder) {
  EXPECT_FINDING(
      "accumulates micro-batch 0 after micro-batch 1; legal: accumulators fed in micro-batch order", {
        for (ClassProgram &c : p.classes)
          for (ListEntry &e : c.step)
            if (c.templates[e.templateIndex].name == "B")
              e.micro = 1 - e.micro;
      });
}

/// The norm's all-reduce, its wait and its record.
void normOnItsOwnStream(ClassProgram &c) {
  c.streams.push_back("world");
  uint32_t at = nth(c, Op::Collective);
  for (uint32_t i : {at - 1, at, at + 1})
    c.instrs[i].stream = uint16_t(c.streams.size() - 1);
}

TEST(Verify, OperationsOfACommunicatorAreOrdered) {
  // The norm's all-reduce moves to the tensor communicator, on its own stream, at the end of the list; its
  // stream has seen the earlier ones only through the wait that goes too.
  EXPECT_FINDING(
      "(collective 'norm'): unordered with template 'F', instruction 18 (collective 'layer.reduce') on "
      "communicator 'tp'",
      {
        for (ClassProgram &c : p.classes) {
          normOnItsOwnStream(c);
          instr(c, Op::Collective).index = tiny::Tp;
          deleteInstr(c, nth(c, Op::Wait));
        }
      });
}

TEST(Verify, CommunicatorsThatShareRanksAreNotInFlightTogether) {
  // The norm's all-reduce over all ranks leaves the stream of the transfers: nothing orders it with them.
  EXPECT_FINDING(
      "template 'U', instruction 9 (collective 'norm'): may be in flight on communicator 'world' together "
      "with template 'S'",
      {
        for (ClassProgram &c : p.classes) {
          c.streams.push_back("world");
          uint32_t at = nth(c, Op::Collective);
          for (uint32_t i : {at - 1, at, at + 1})
            c.instrs[i].stream = 3;
        }
      });
}

TEST(Verify, SequencesAreEqualInAllClasses) {
  EXPECT_FINDING(
      "class 's1', template 'U', instruction 9 (collective 'norm'): communicator 'world', list step: "
      "operation 0 is all_reduce_max of 4 bytes f32, in class 's0' it is all_reduce_sum of 4 bytes f32",
      { instr(p.classes[1], Op::Collective).arg = int32_t(CollectiveKind::AllReduceMax); });
  EXPECT_FINDING("operation 0 is all_reduce_sum of 4 bytes i32",
                 { instr(p.classes[1], Op::Collective).flags = uint16_t(DType::I32); });
  EXPECT_FINDING("communicator 'world', list step: 0 operations, class 's0' has 2",
                 { deleteInstr(p.classes[1], nth(p.classes[1], Op::Collective)); });
}

TEST(Verify, TransfersMatch) {
  EXPECT_FINDING(
      "communicator 'pp', list step: class 's0' sends to class 's1' 2 times, which receives 4 times",
      { deleteInstr(p.classes[0], nth(p.classes[0], Op::Send)); });
  EXPECT_FINDING("class 's0' sends to class 's1' 64 bytes as number 0 (template 'S', instruction",
                 { instr(p.classes[0], Op::Send).bytes = 64; });
}

TEST(Verify, CyclicWaitIsNamed) {
  // Without groups both stages of X send first.
  EXPECT_FINDING("cyclic wait in list step: class 's0' stream 'pp' is at template 'X', instruction 31 (send "
                 "'send x') on "
                 "communicator 'pp', which waits for class 's1' stream 'pp' is at template 'X', instruction",
                 {
                   swapInstrs(p.classes[1], nth(p.classes[1], Op::Recv, 1), nth(p.classes[1], Op::Send, 1));
                   for (ClassProgram &c : p.classes)
                     deleteInstr(c, nth(c, Op::Group));
                 });
}

TEST(Verify, CyclicWaitMayPassAnEvent) {
  // Stage 0 receives on the stream of the tensor communicator and computes backwards before it sends the
  // second micro-batch; stage 1 receives that one before it sends what stage 0 waits for.
  std::string said = findings([](Plan &p) {
    deleteInstr(p.classes[1], nth(p.classes[1], Op::Group));
    ClassProgram &c = p.classes[0];
    std::map<std::string, uint16_t> number;
    for (uint16_t t = 0; t < c.templates.size(); ++t)
      number[c.templates[t].name] = t;
    Template &receive = c.templates[number["R"]];
    Instr sent = c.instrs[receive.first]; // a wait
    sent.index = tiny::OutFree, sent.flags = 1;
    c.instrs.insert(c.instrs.begin() + receive.first, sent);
    ++receive.count;
    for (uint32_t i = 0; i < receive.count; ++i)
      c.instrs[receive.first + i].stream = tiny::TpStream;
    for (Template &later : c.templates)
      later.first += later.first > receive.first;
    c.firstUse.insert(c.firstUse.begin(), tiny::InFree);
    ListEntry zero = c.step.front(), update = c.step.back();
    c.step = {zero};
    for (uint16_t micro : {0, 1})
      for (const char *name : {"F", "S", "R", "B"})
        c.step.push_back(ClassBuilder::run(number[name], micro, micro));
    c.step.push_back(update);
  });
  EXPECT_NE(said.find("class 's0' stream 'compute' is at a wait for an event of stream 'tp', which waits for "
                      "class 's0' stream 'tp' is at template 'R'"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("again; legal: issue orders in which some operation can always complete, or groups"),
            std::string::npos)
      << said;
}

} // namespace
