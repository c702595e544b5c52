#include "compiler/allocate/allocate.h"
#include "compiler/allocate/build_class.h"
#include "compiler/allocate/plan_to_ir.h"
#include "dialects/par/Par.h"
#include "dialects/plan/Plan.h"

using namespace mlir;

namespace hocket::allocate {

#define GEN_PASS_DEF_ALLOCATEPASS
#include "compiler/allocate/Passes.h.inc"

static FailureOr<format::Plan> build(ModuleOp module, StringRef isa, int64_t threads,
                                     llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels) {
  format::Plan plan;
  plan.isa = isa.str();
  plan.threadsPerRank = uint32_t(threads);
  Tables tables(module, plan);
  if (plan.axes.empty())
    return module.emitError("holds no par.mesh"), failure();
  int64_t micros = 1;
  for (auto mesh : module.getOps<par::MeshOp>())
    for (auto [name, size] : llvm::zip(mesh.getTime(), mesh.getTimes()))
      if (cast<StringAttr>(name).getValue() == "micro")
        micros = size;
  plan.microBatches = micros;
  for (auto mesh : module.getOps<place::MeshOp>())
    if (failed(buildClass(module, mesh, micros, tables, initKernels)))
      return failure();
  // Operands number them with 16 bits; the other tables grow with a class's program, not with the classes.
  if (plan.affines.size() > 65536)
    return module.emitError("needs ")
               << plan.affines.size() << " affine expressions; a plan holds 65536: fewer pipeline stages",
           failure();
  return plan;
}

namespace {
struct AllocatePass : impl::AllocatePassBase<AllocatePass> {
  using AllocatePassBase::AllocatePassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::MapVector<StringAttr, kernels::InitSpec> initKernels;
    FailureOr<format::Plan> plan = build(module, isa, threads, initKernels);
    if (failed(plan))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (!llvm::isa<sched::KernelOp>(op))
        op.erase();
    planToIR(*plan, initKernels, module);
  }
};
} // namespace

} // namespace hocket::allocate
