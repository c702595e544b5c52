#include "compiler/driver/emit_plan.h"
#include "runtime/verify/verify.h"

#include "compiler/cost/shape_of.h"
#include "compiler/cost/step_time.h"
#include "compiler/emit/plan_from_ir.h"
#include "compiler/input/mlir_bridge.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace hocket {

std::array<uint8_t, 32> blake3(StringRef text) {
  BLAKE3 hasher;
  hasher.update(text);
  std::array<uint8_t, 32> result{};
  BLAKE3Result<32> digest = hasher.final<32>();
  std::copy(digest.begin(), digest.end(), result.begin());
  return result;
}

namespace {

std::string jobText(const PlanInputs &in) {
  std::string text;
  raw_string_ostream os(text);
  const format::Optimizer &o = in.job.optimizer;
  os << in.job.sequence << ' ' << in.job.globalBatch << ' ' << int(in.job.dtype()) << ' ';
  for (double v : {o.lr, o.beta1, o.beta2, o.eps, o.decay, o.clip, o.minLr})
    os << format_hex(bit_cast<uint64_t>(v), 18) << ' ';
  os << int(o.schedule) << ' ' << o.warmup << ' ' << o.steps;
  return text;
}

std::string clusterText(const Cluster &cluster, const Diagnostics &diags) {
  mlir::MLIRContext context;
  context.disableMultithreading();
  std::string text;
  raw_string_ostream os(text);
  buildTopo(cluster, diags, &context)->print(os);
  return text;
}

StringRef termName(format::RegionKind kind) {
  switch (kind) {
  case format::RegionKind::Parameter:
    return "parameters";
  case format::RegionKind::Gradient:
    return "gradients";
  case format::RegionKind::State:
    return "optimizer";
  case format::RegionKind::Stash:
    return "activations";
  case format::RegionKind::Transfer:
    return "transfers";
  case format::RegionKind::Input:
    return "inputs";
  case format::RegionKind::Buffer:
    return "buffers";
  case format::RegionKind::Scratch:
    return "workspace";
  }
  return "";
}

} // namespace

std::vector<format::MemoryTerm> memoryTerms(const format::ClassProgram &program) {
  std::vector<format::MemoryTerm> terms;
  uint64_t end = 0;
  for (const format::Region &region : program.regions) {
    StringRef name = termName(region.kind);
    // Alignment in front of a region counts with it, so that the terms add up to the arena.
    uint64_t bytes = region.offset + region.bytes - end;
    end = region.offset + region.bytes;
    auto it = find_if(terms, [&](const format::MemoryTerm &t) { return t.name == name; });
    if (it == terms.end())
      terms.push_back({name.str(), bytes});
    else
      it->bytes += bytes;
  }
  if (!terms.empty())
    terms.back().bytes += program.arenaBytes - end;
  return terms;
}

bool provePlan(const format::Plan &plan, Diagnostics &diags, int exitCode) {
  std::vector<verify::Finding> findings = verify::verify(plan);
  for (const verify::Finding &finding : findings)
    diags.error("the plan does not hold: " + finding.str(), exitCode);
  return findings.empty();
}

std::optional<format::Plan> emitPlan(mlir::ModuleOp module, const PlanInputs &in, double seconds,
                                     Diagnostics &diags) {
  mlir::FailureOr<format::Plan> read = emit::planFromIR(module);
  if (mlir::failed(read))
    return std::nullopt;
  format::Plan plan = std::move(*read);
  plan.producer = "hocket " HOCKET_VERSION;
  plan.modelName = in.model.name;
  plan.modelFamily = name(in.model.family).str();
  plan.modelConfig = in.model.text;
  plan.strategy = toToml(*in.strategy);
  plan.modelHash = blake3(in.model.text);
  plan.clusterHash = blake3(clusterText(in.cluster, diags));
  plan.jobHash = blake3(jobText(in));
  plan.parameters = parameterCount(in.model);
  plan.globalBatch = uint32_t(in.job.globalBatch);
  plan.sequence = uint32_t(in.job.sequence);
  plan.vocabulary = uint32_t(in.model.vocab);
  plan.dtype = in.job.dtype();
  plan.optimizer = in.job.optimizer;
  plan.predictedStepSeconds = seconds;
  plan.flopsPerStep = cost::stepFlops(shapeOf(in.model), {in.job.sequence, in.job.globalBatch, true},
                                      cost::Recompute::None, /*causalHalf=*/true);
  plan.isa = in.cluster.device.isa;
  plan.threadsPerRank = uint32_t(in.cluster.device.threads);
  for (const format::ClassProgram &program : plan.classes)
    plan.summaries.push_back({memoryTerms(program), seconds});

  std::string outside;
  mlir::FailureOr<std::vector<uint8_t>> code = emit::compileKernels(module, plan, plan.isa, outside);
  if (mlir::failed(code)) {
    if (!outside.empty())
      diags.error(outside, kExitRuntime);
    return std::nullopt;
  }
  plan.code = std::move(*code);
  return plan;
}

} // namespace hocket
