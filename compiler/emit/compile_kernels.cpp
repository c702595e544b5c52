#include "compiler/emit/plan_from_ir.h"
#include "dialects/plan/Plan.h"
#include "dialects/sched/Sched.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hocket::emit {

static FailureOr<kernels::InitSpec> initSpec(plan::KernelOp kernel) {
  DictionaryAttr d = *kernel.getInit();
  kernels::InitSpec spec;
  auto kind = dyn_cast_or_null<StringAttr>(d.get("kind"));
  auto std = dyn_cast_or_null<FloatAttr>(d.get("std"));
  auto type = dyn_cast_or_null<TypeAttr>(d.get("type"));
  auto local = dyn_cast_or_null<DenseI64ArrayAttr>(d.get("local"));
  auto global = dyn_cast_or_null<DenseI64ArrayAttr>(d.get("global"));
  auto key = dyn_cast_or_null<IntegerAttr>(d.get("key"));
  auto padded = dyn_cast_or_null<DenseI64ArrayAttr>(d.get("padded"));
  if (!kind || !std || !type || !local || !global || !key || !padded)
    return kernel.emitOpError("init needs kind, std, type, local, global, key and padded");
  spec.kind = kind.getValue().str();
  spec.std = std.getValueAsDouble();
  spec.type = type.getValue();
  spec.local.assign(local.asArrayRef().begin(), local.asArrayRef().end());
  spec.global.assign(global.asArrayRef().begin(), global.asArrayRef().end());
  spec.key = uint64_t(key.getInt());
  for (int64_t d : padded.asArrayRef())
    spec.padded.push_back(unsigned(d));
  return spec;
}

FailureOr<std::vector<uint8_t>> compileKernels(ModuleOp module, const format::Plan &plan, StringRef isa,
                                               std::string &outside) {
  kernels::loadDialects(*module.getContext());
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  // The plan's kernels are in the order of the module's.
  for (auto [kernel, entry] : llvm::zip(module.getOps<plan::KernelOp>(), plan.kernels)) {
    if (kernel.getInit()) {
      FailureOr<kernels::InitSpec> spec = initSpec(kernel);
      if (failed(spec) || failed(kernels::generateInit(*spec, *code)))
        return failure();
      cast<func::FuncOp>(code->getBody()->back()).setSymName(entry.symbol);
      continue;
    }
    StringRef name = kernel.getSymName();
    name.consume_front("plan.");
    auto body = module.lookupSymbol<sched::KernelOp>(name);
    if (!body)
      return kernel.emitOpError("has no body: sched.kernel @") << name << " is missing";
    if (failed(kernels::generate(&body.getBody().front().front(), *code)))
      return failure();
    cast<func::FuncOp>(code->getBody()->back()).setSymName(entry.symbol);
  }
  llvm::StringSet<> seen;
  for (const format::Gemm &gemm : plan.gemms)
    if (!gemm.symbol.empty() && seen.insert(gemm.symbol).second && failed(kernels::generateGemm(gemm, *code)))
      return failure();
  return kernels::compile(*code, isa, &outside);
}

} // namespace hocket::emit
