//===- Passes.td - Differentiation -----------------------------*- tablegen -*-===//
#ifndef HOCKET_DIFFERENTIATE_PASSES_TD
#define HOCKET_DIFFERENTIATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"hocket-differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace @loss and its layers by @step: loss, gradients, AdamW";
  let description = [{
    Reverse mode over the ops of `model`. A layer becomes four functions: `.fwd` also
    returns the residuals, `.bwd` gives what the layer before waits for, `.wgrad` holds
    the products that only give weight gradients, `.back` calls both. `@step` runs
    them, clips by the global norm of the gradients and updates by AdamW.
  }];
  let options = [
    Option<"beta1", "beta1", "double", "0.9", "AdamW's decay of the first moment">,
    Option<"beta2", "beta2", "double", "0.95", "AdamW's decay of the second moment">,
    Option<"eps", "eps", "double", "1e-8", "AdamW's term in the denominator">,
    Option<"decay", "decay", "double", "0.1", "Weight decay, on the parameters marked so">,
    Option<"clip", "clip", "double", "1.0", "Largest global norm of the gradients; 0 = no clipping">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::hocket::model::ModelDialect"];
}

def VerifyDifferentiatePass : Pass<"hocket-verify-differentiate", "::mlir::ModuleOp"> {
  let summary = "Check what the phases after differentiate rely on";
  let description = [{
    Residuals are what `.bwd` or `.wgrad` take, no more; `.wgrad` holds dots of
    non-parameters only; every parameter has one new value and two new moments of its
    type, in the order of the arguments.
  }];
}

#endif // HOCKET_DIFFERENTIATE_PASSES_TD
