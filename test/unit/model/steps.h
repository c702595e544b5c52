//===- steps.h - Building and running whole training steps ------------------===//
#pragma once

#include "support.h"

#include "compiler/differentiate/Passes.h"
#include "compiler/import/import.h"
#include "dialects/model/Param.h"

#include "mlir/Pass/PassManager.h"

namespace hocket::test {

/// Imported and, with `options`, differentiated and verified.
inline mlir::OwningOpRef<mlir::ModuleOp> build(mlir::MLIRContext &context, const ModelConfig &config,
                                               const ImportOptions &sizes,
                                               const DifferentiatePassOptions *options = nullptr) {
  auto module = importModel(&context, config, sizes);
  EXPECT_TRUE(module);
  if (!options)
    return module;
  mlir::PassManager manager(&context);
  manager.addPass(createDifferentiatePass(*options));
  manager.addPass(createVerifyDifferentiatePass());
  EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
  return module;
}

/// Options under which m' of the step is the gradient itself.
inline DifferentiatePassOptions bareGradients() {
  DifferentiatePassOptions options;
  options.beta1 = 0;
  options.clip = 0;
  return options;
}

struct Roles {
  std::vector<unsigned> parameters, m, v;
};
inline Roles rolesOf(mlir::func::FuncOp step) {
  Roles roles;
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    if (step.getArgAttr(i, model::kParam))
      roles.parameters.push_back(i);
    else if (auto state = step.getArgAttrOfType<mlir::DictionaryAttr>(i, model::kState))
      (state.getAs<mlir::StringAttr>("kind").getValue() == "m" ? roles.m : roles.v).push_back(i);
  }
  return roles;
}

inline Tensor number(double value) {
  Tensor tensor{std::vector<int64_t>{}};
  tensor.data[0] = value;
  return tensor;
}

} // namespace hocket::test
