#include "compiler/driver/driver.h"

#include "compiler/cost/facts.h"
#include "compiler/driver/Register.h"
#include "compiler/driver/emit_plan.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/report.h"
#include "compiler/import/import.h"
#include "compiler/input/mlir_bridge.h"
#include "compiler/input/output_file.h"
#include "compiler/search/choose.h"
#include "runtime/format/write.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

/// Carries one request through the phases.  Every step answers false once `diags` has an error.
class Compilation {
public:
  Compilation(const PlanRequest &request, Diagnostics &diags) : request(request), diags(diags) {}
  int run();
  std::optional<format::Plan> plan();

private:
  bool chooseMissing();
  bool startModule();
  bool phases();
  bool emit();
  bool printModule();
  bool write(StringRef bytes);
  int answer();

  const PlanRequest &request;
  Diagnostics &diags;
  PlanInputs inputs;
  Cost cost;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

int Compilation::answer() {
  diags.print(errs(), request.messageFormat, useColor(request.color, STDERR_FILENO));
  return diags.exitCode();
}

/// The strategy, or its micro-batch, where the user left them open.
bool Compilation::chooseMissing() {
  if (!inputs.strategy || inputs.strategy->microBatch == 0) {
    Choice choice =
        inputs.strategy
            ? chooseMicroBatch(inputs.model, inputs.cluster, inputs.job, *inputs.strategy)
            : chooseStrategy(inputs.model, inputs.cluster, inputs.job, inputs.microBatch.value_or(0));
    if (choice.best) {
      inputs.strategy = choice.best;
    } else if (choice.closest) {
      // Nothing fits by the closed form; the allocator says by how much.
      inputs.strategy = choice.closest;
    } else {
      diags.error("no legal strategy for " + inputs.model.name + " on " + Twine(inputs.cluster.ranks()) +
                  " devices with batch " + Twine(inputs.job.globalBatch) +
                  ": tensor must divide the heads, pipeline the layers, data the batch");
      return false;
    }
  }
  cost = predictStep(inputs.model, inputs.cluster, inputs.job, *inputs.strategy);
  return true;
}

bool Compilation::startModule() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  if (request.startFrom != Phase::None) {
    std::optional<int32_t> source = loadText(request.job, diags);
    if (source)
      module = parseModule(*source, &context, diags);
    return bool(module);
  }
  MlirDiagnosticBridge bridge(&context, diags, kExitBadInput);
  ImportOptions options;
  options.batch = inputs.job.globalBatch;
  options.sequence = inputs.job.sequence;
  options.f64 = inputs.job.dtype == format::DType::F64;
  module = importModel(&context, inputs.model, options);
  if (!module && !diags.failed())
    diags.error("importing " + inputs.model.name + " failed", kExitInternal);
  return bool(module);
}

bool Compilation::phases() {
  Phase last =
      request.stopAfter == Phase::None ? Phase::Allocate : std::min(request.stopAfter, Phase::Allocate);
  Phase first = request.startFrom == Phase::None ? Phase::Differentiate : request.startFrom;
  for (int p = int(first); p <= int(last); ++p) {
    MlirDiagnosticBridge bridge(&context, diags,
                                request.startFrom != Phase::None ? kExitBadInput : kExitInternal);
    mlir::PassManager passes(&context);
    addPhase(passes, Phase(p), inputs, diags);
    if (mlir::failed(passes.run(*module))) {
      if (!diags.failed())
        diags.error("phase " + name(Phase(p)) + " failed without a message", kExitInternal);
      return false;
    }
  }
  return true;
}

bool Compilation::write(StringRef bytes) {
  std::string path = request.output.empty() ? "-" : outputPath(request);
  if (!writeOutput(path, bytes, diags))
    return false;
  return !request.depfile || writeDepfile(request.depfilePath.empty() ? path + ".d" : request.depfilePath,
                                          path, diags.filesRead(), diags);
}

bool Compilation::printModule() {
  std::string text;
  raw_string_ostream os(text);
  module->print(os);
  os << "\n";
  return write(text);
}

bool Compilation::emit() {
  uint64_t usable = uint64_t(usableBytes(inputs.cluster, inputs.job));
  MlirDiagnosticBridge bridge(&context, diags,
                              request.startFrom != Phase::None ? kExitBadInput : kExitInternal);
  std::optional<format::Plan> plan = emitPlan(*module, inputs, cost, diags);
  if (!plan)
    return false;
  for (size_t c = 0; c < plan->classes.size(); ++c)
    if (plan->classes[c].arenaBytes > usable) {
      explainDeficit(diags, inputs, plan->summaries[c].memory, plan->classes[c].arenaBytes, usable,
                     plan->classes[c].name);
      return false;
    }
  std::vector<uint8_t> bytes = format::write(*plan);
  std::string path = outputPath(request);
  if (!path.empty() && !write(StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size())))
    return false;
  if (!request.quiet || request.json)
    printPlan(path == "-" ? errs() : outs(), *plan, inputs, cost, usable, bytes.size(), path, request.json);
  return true;
}

std::optional<format::Plan> Compilation::plan() {
  if (!readInputs(request, diags, inputs) || !chooseMissing() || !startModule() || !phases())
    return std::nullopt;
  MlirDiagnosticBridge bridge(&context, diags, kExitInternal);
  return emitPlan(*module, inputs, cost, diags);
}

int Compilation::run() {
  PlanRequest reading = request;
  if (request.startFrom != Phase::None)
    reading.job.clear(); // it names the MLIR text
  if (!readInputs(reading, diags, inputs))
    return answer();
  if (request.stopAfter == Phase::Topo) {
    MlirDiagnosticBridge bridge(&context, diags, kExitInternal);
    module = buildTopo(inputs.cluster, diags, &context);
    if (mlir::succeeded(mlir::verify(*module)))
      printModule();
    return answer();
  }
  bool stop = request.stopAfter != Phase::None && request.stopAfter != Phase::Emit;
  if (chooseMissing() && startModule()) {
    bool ok = request.stopAfter == Phase::Import || phases();
    if (ok)
      stop ? printModule() : emit();
  }
  return answer();
}

} // namespace

int runPlan(const PlanRequest &request) {
  Diagnostics diags;
  return Compilation(request, diags).run();
}

std::optional<format::Plan> makePlan(const PlanRequest &request, Diagnostics &diags) {
  return Compilation(request, diags).plan();
}

} // namespace hocket
