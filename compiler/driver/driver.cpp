#include "compiler/driver/driver.h"

#include "compiler/input/mlir_bridge.h"
#include "compiler/input/output_file.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

int answer(const PlanRequest &request, Diagnostics &diags) {
  diags.print(errs(), request.messageFormat, useColor(request.color, STDERR_FILENO));
  return diags.exitCode();
}

} // namespace

int runPlan(const PlanRequest &request) {
  Diagnostics diags;
  PlanInputs inputs;
  if (request.startFrom != Phase::None)
    diags.error("no phase can be resumed in this version");
  else if (readInputs(request, diags, inputs) && request.stopAfter == Phase::Topo) {
    mlir::MLIRContext context;
    context.disableMultithreading();
    MlirDiagnosticBridge bridge(&context, diags, kExitInternal);
    auto module = buildTopo(inputs.cluster, diags, &context);
    if (mlir::failed(mlir::verify(*module)))
      return answer(request, diags);
    std::string text;
    raw_string_ostream os(text);
    module->print(os);
    std::string path = request.output.empty() ? "-" : request.output;
    if (writeOutput(path, text, diags) && request.depfile)
      writeDepfile(request.depfilePath.empty() ? path + ".d" : request.depfilePath, path, diags.filesRead(),
                   diags);
  } else if (!diags.failed()) {
    diags.error("only --stop-after=topo is executable in this version");
  }
  return answer(request, diags);
}

} // namespace hocket
