//===- Passes.td - Import --------------------------------------*- tablegen -*-===//
#ifndef HOCKET_IMPORT_PASSES_TD
#define HOCKET_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportPass : Pass<"hocket-import", "::mlir::ModuleOp"> {
  let summary = "Fill an empty module with the model of a Hugging Face config.json";
  let description = [{ As the phase *import* does: `@layer` and `@loss` on whole tensors. }];
  let constructor = "::hocket::createImportPass()";
  let options = [
    Option<"config", "config", "std::string", "", "config.json or the folder that holds it">,
    Option<"batch", "batch", "int64_t", "1", "Sequences in the global batch">,
    Option<"sequence", "sequence", "int64_t", "1", "Tokens in a sequence">,
    Option<"dtype", "dtype", "std::string", "\"f32\"", "f32 or f64">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::hocket::model::ModelDialect"];
}

def VerifyImportPass : Pass<"hocket-verify-import", "::mlir::ModuleOp"> {
  let summary = "Check what every argument says about itself after import";
  let description = [{
    Arguments have a name and letters; those of `@loss` exactly one role, an input or a
    parameter; a letter has one extent; the parts of a checkpoint's tensor are all there, once.
  }];
  let constructor = "::hocket::createVerifyImportPass()";
}

#endif // HOCKET_IMPORT_PASSES_TD
