//===- Passes.td - Place ---------------------------------------*- tablegen -*-===//
#ifndef HOCKET_PLACE_PASSES_TD
#define HOCKET_PLACE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlacePass : Pass<"hocket-place", "::mlir::ModuleOp"> {
  let summary = "Cut the step into tasks of sub-meshes, with one order table each";
  let description = [{
    What the reductions over `micro` consume is the body of one micro-batch, the rest the
    update. Stages follow from the cuts of `par.pipeline` and from what depends on the
    scan, never from a model family.
  }];
  let constructor = "::hocket::createPlacePass()";
  let dependentDialects = ["::mlir::func::FuncDialect", "::hocket::place::PlaceDialect"];
}

def VerifyPlacePass : Pass<"hocket-verify-place", "::mlir::ModuleOp"> {
  let summary = "Check that values live where they are used and that the tables can be run";
  let constructor = "::hocket::createVerifyPlacePass()";
}

#endif // HOCKET_PLACE_PASSES_TD
