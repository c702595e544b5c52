//===- VerifyAllocate.cpp - The runtime's proof, at compile time ------------===//
#include "compiler/allocate/allocate.h"
#include "compiler/emit/plan_from_ir.h"
#include "dialects/plan/Plan.h"
#include "runtime/verify/verify.h"

#include <set>
#include <tuple>

#include <map>
#include <tuple>

using namespace mlir;

namespace hocket::allocate {

#define GEN_PASS_DEF_VERIFYALLOCATEPASS
#include "compiler/allocate/Passes.h.inc"

namespace {

/// Instruction `number` of a class, in the order of the plan file: a repeat comes before its body.
Operation *instruction(plan::ClassOp op, int64_t number) {
  Operation *found = nullptr;
  op.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (isa<plan::ClassOp, plan::TemplateOp, plan::RegionOp, plan::ListOp>(inner) || number-- > 0)
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

/// The numbers of the header, which emit knows from the inputs, as the program implies them: the proof
/// is about the program. The sequence is the longest that an aligned input holds.
void fillHeader(format::Plan &plan) {
  plan.sequence = plan.vocabulary = plan.threadsPerRank = plan.globalBatch = 1;
  if (!plan.inputs.empty()) {
    const format::Input &input = plan.inputs[0];
    uint64_t batch = uint64_t(input.rows) * plan.microBatches;
    for (uint32_t axis : input.axes)
      if (axis < plan.axes.size())
        batch *= plan.axes[axis].size;
    plan.globalBatch = uint32_t(batch);
    if (input.classIndex < plan.classes.size() && input.rows > 0) {
      const auto &regions = plan.classes[input.classIndex].regions;
      if (input.at.index < regions.size()) {
        const format::Region &r = regions[input.at.index];
        uint64_t bytes = r.microStride ? r.microStride : r.bytes; // padded: kernels say what they take of it
        for (const format::Instr &in : plan.classes[input.classIndex].instrs)
          if (in.op == format::Op::Launch && in.index < plan.kernels.size())
            for (uint32_t k = 0; k < in.operandCount && k < plan.kernels[in.index].args.size(); ++k) {
              const auto &operands = plan.classes[input.classIndex].operands;
              if (uint64_t at = uint64_t(in.firstOperand) + k;
                  at < operands.size() && operands[at].kind == format::OperandKind::Region &&
                  operands[at].index == input.at.index)
                bytes = std::min(bytes, plan.kernels[in.index].args[k].bytes);
            }
        plan.sequence = uint32_t(bytes / (4 * uint64_t(input.rows)));
      }
    }
  }
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen; // name, part, layer
  plan.parameters = 0;
  for (const format::Param &q : plan.params) {
    uint64_t elements = 1;
    for (const format::ParamDim &d : q.dims) {
      elements *= d.global;
      if (d.letter == 'v')
        plan.vocabulary = uint32_t(d.global);
    }
    plan.dtype = q.dtype;
    for (uint32_t l = q.layerBegin; q.owner && l < q.layerEnd && seen.size() < verify::kMaxRanks; ++l)
      if (seen.insert({q.name, q.partIndex, l}).second)
        plan.parameters += elements;
  }
  for (const format::ClassProgram &program : plan.classes)
    plan.summaries.push_back({{{"arena", program.arenaBytes}}, 0});
}

struct VerifyAllocatePass : impl::VerifyAllocatePassBase<VerifyAllocatePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<format::Plan> plan = emit::planFromIR(module);
    if (failed(plan))
      return signalPassFailure();
    fillHeader(*plan);
    for (const verify::Finding &finding : verify::verify(*plan)) {
      Operation *at = module;
      for (auto op : module.getOps<plan::ClassOp>())
        if (op.getSymName() == "class." + finding.className) {
          Operation *inner = finding.instr >= 0 ? instruction(op, finding.instr) : nullptr;
          at = inner ? inner : op.getOperation();
        }
      mlir::emitError(at->getLoc()) << "the plan does not hold: " << finding.str();
      signalPassFailure();
    }
  }
};

} // namespace
} // namespace hocket::allocate
