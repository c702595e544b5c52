//===- SearchPass.cpp - hocket-search: a strategy written into the program --===//
#include "compiler/search/Passes.h"
#include "compiler/search/build_strategy.h"

using namespace mlir;
using namespace hocket;

namespace hocket {
#define GEN_PASS_DEF_SEARCH
#include "compiler/search/Passes.h.inc"
} // namespace hocket

namespace {

struct Search : hocket::impl::SearchBase<Search> {
  Search() = default;
  Search(const Strategy &strategy, const Diagnostics &diags) : strategy(strategy), diags(&diags) {}

  void runOnOperation() override {
    if (strategy) {
      if (failed(buildStrategy(getOperation(), *strategy, *diags)))
        signalPassFailure();
      return;
    }
    Diagnostics own;
    int32_t source = own.addSource("mesh", mesh);
    std::optional<Strategy> read = readMesh(source, own);
    if (!read || (schedule != "1f1b" && schedule != "gpipe")) {
      getOperation().emitError("hocket-search: ") << (read ? "schedule must be 1f1b or gpipe" : own.str());
      return signalPassFailure();
    }
    read->microBatch = microBatch;
    read->schedule = schedule == "gpipe" ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB;
    if (failed(buildStrategy(getOperation(), *read, own)))
      signalPassFailure();
  }

  std::optional<Strategy> strategy;
  const Diagnostics *diags = nullptr;
};

} // namespace

std::unique_ptr<Pass> hocket::createSearchPass() { return std::make_unique<Search>(); }

std::unique_ptr<Pass> hocket::createSearchPass(const Strategy &strategy, const Diagnostics &diags) {
  return std::make_unique<Search>(strategy, diags);
}
