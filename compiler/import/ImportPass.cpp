#include "compiler/import/Passes.h"
#include "compiler/import/import.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_IMPORTPASS
#include "compiler/import/Passes.h.inc"

namespace {

struct ImportPass : impl::ImportPassBase<ImportPass> {
  using ImportPassBase::ImportPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto fail = [&](const Twine &text) {
      module.emitError(text);
      signalPassFailure();
    };
    if (!module.getBody()->empty())
      return fail("hocket-import needs an empty module");
    if (batch < 1 || sequence < 1 || batch > (1 << 24) || sequence > (1 << 24))
      return fail("batch and sequence must be in [1, 2^24]");
    if (dtype != "f32" && dtype != "f64")
      return fail("dtype must be f32 or f64, not '" + dtype + "'");
    Diagnostics diags;
    std::optional<ModelConfig> model = openConfig(config, /*dropoutZero=*/false, diags);
    if (!model)
      return fail(diags.str(MessageFormat::Short));
    OwningOpRef<ModuleOp> imported = importModel(&getContext(), *model, {batch, sequence, dtype == "f64"});
    if (!imported)
      return signalPassFailure();
    module.getBodyRegion().takeBody(imported->getBodyRegion());
  }
};

} // namespace

std::unique_ptr<Pass> createImportPass() { return std::make_unique<ImportPass>(); }

} // namespace hocket
