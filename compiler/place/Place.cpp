#include "compiler/place/Passes.h"
#include "compiler/place/build.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_PLACEPASS
#include "compiler/place/Passes.h.inc"

namespace {
struct PlacePass : impl::PlacePassBase<PlacePass> {
  void runOnOperation() override {
    StepCut cut;
    if (failed(cut.analyse(getOperation())) || failed(buildPlaced(getOperation(), cut)))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> createPlacePass() { return std::make_unique<PlacePass>(); }

} // namespace hocket
