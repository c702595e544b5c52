#include "compiler/driver/driver.h"

#include "compiler/driver/Register.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/emit_plan.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/record.h"
#include "compiler/driver/report.h"
#include "compiler/import/import.h"
#include "compiler/input/library.h"
#include "compiler/input/mlir_bridge.h"
#include "compiler/input/output_file.h"
#include "compiler/search/choose.h"
#include "compiler/search/tactics_of.h"
#include "dialects/model/Order.h"
#include "runtime/format/write.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

#include <unistd.h>

using namespace llvm;

namespace hocket {

namespace {

/// Carries one request through the phases.  Every step answers false once `diags` has an error.
class Compilation {
public:
  Compilation(const PlanRequest &request, Diagnostics &diags) : request(request), diags(diags) {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  int run();
  std::optional<format::Plan> plan();

private:
  bool decide(bool compile);
  bool executable() { return checkExecutable(inputs.cluster, diags) && checkExecutable(inputs.job, diags); }
  int answerOnly();
  void mixed();
  bool parseText();
  bool import();
  bool verifyPhase(Phase phase);
  bool phases();
  bool emit();
  bool printModule();
  /// The first is what a depfile speaks of.
  bool write(ArrayRef<Output> outputs);
  int answer();
  /// Where the report goes: not between the bytes of an output on standard output.
  raw_ostream &report() const { return request.output == "-" ? errs() : outs(); }

  const PlanRequest &request;
  Diagnostics &diags;
  PlanInputs inputs;
  std::optional<Choice> choice;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

int Compilation::answer() {
  bool document = request.json && diags.failed();
  if (document)
    diags.printErrorDocument(report(), diags.exitCode());
  // On standard error a document stands alone.
  if (!document || &report() != &errs())
    diags.print(errs(), request.messageFormat, useColor(request.color, STDERR_FILENO));
  return diags.exitCode();
}

/// Judges the user's strategy, or finds one; what the user left open of it.
bool Compilation::decide(bool compile) {
  choice = judge(inputs.model, inputs.cluster, inputs.job, libraryBeside(request.shippedClusters), diags);
  if (!choice)
    return false;
  SearchRequest search;
  if (inputs.strategy) {
    judgeStrategy(*choice, inputs.model, inputs.cluster, inputs.job, *inputs.strategy);
  } else {
    for (const Job::Demand &demand : inputs.job.require)
      if (auto requirement = planner::parseRequirement(demand.text, demand.loc, diags))
        search.requirements.push_back(*requirement);
    if (diags.failed())
      return false;
    Diagnostics quiet;
    search.microBatch = inputs.microBatch.value_or(0);
    search.execute =
        !request.whatIf && checkExecutable(inputs.cluster, quiet) && checkExecutable(inputs.job, quiet);
    chooseStrategy(*choice, inputs.model, inputs.cluster, inputs.job, search);
  }
  if (!choice->best && compile && choice->nearest && choice->conflict.empty())
    // Nothing fits by the closed form; the allocator says by how much.
    choice->best = choice->nearest->priced;
  if (!choice->best && !choice->nearest && choice->conflict.empty()) {
    diags.error("no legal strategy for " + inputs.model.name + " on " + Twine(inputs.cluster.ranks()) +
                " devices with batch " + Twine(inputs.job.globalBatch) + ": tensor divides the " +
                Twine(inputs.model.kvHeads) + " key/value heads, pipeline is at most the " +
                Twine(inputs.model.layers) + " layers, data divides the batch" +
                (inputs.microBatch ? ", --micro-batch=" + std::to_string(*inputs.microBatch) +
                                         " divides what a replica gets"
                                   : std::string()));
  } else if (!choice->best) {
    int64_t hosts = inputs.strategy || !choice->conflict.empty()
                        ? 0
                        : hostsThatFit(*choice, inputs.cluster, inputs.job, search);
    explainInfeasible(diags, *choice, inputs, search.requirements, hosts);
  } else if (inputs.strategy) {
    inputs.strategy->microBatch = choice->best->tactics.microBatch;
  } else if (planner::notExecuted(choice->best->tactics).empty()) {
    inputs.strategy = strategyOf(choice->best->tactics);
  }
  return !diags.failed();
}

/// The module to resume from; what the inputs lack comes from its record.
bool Compilation::parseText() {
  std::optional<int32_t> source = loadText(request.job, diags);
  if (source)
    module = parseModule(*source, &context, diags);
  return bool(module);
}

bool Compilation::import() {
  MlirDiagnosticBridge bridge(&context, diags, kExitBadInput);
  ImportOptions options;
  options.batch = inputs.job.globalBatch;
  options.sequence = inputs.job.sequence;
  options.f64 = inputs.job.dtype() == format::DType::F64;
  module = importModel(&context, inputs.model, options);
  if (!module && !diags.failed())
    diags.error("importing " + inputs.model.name + " failed", kExitInternal);
  if (!module)
    return false;
  model::orderMaps(*module);
  recordJob(*module, inputs);
  return true;
}

/// Before the phase that follows: the module is what `phase` must leave.
bool Compilation::verifyPhase(Phase phase) {
  MlirDiagnosticBridge bridge(&context, diags,
                              request.startFrom != Phase::None ? kExitBadInput : kExitInternal);
  mlir::PassManager passes(&context);
  addVerify(passes, phase);
  if (mlir::succeeded(passes.run(*module)))
    return true;
  if (!diags.failed())
    diags.error("the module is not what " + name(phase) + " leaves", kExitInternal);
  return false;
}

bool Compilation::phases() {
  Phase last = request.stopAfter == Phase::None ? Phase::Allocate : request.stopAfter;
  bool resumed = request.startFrom != Phase::None;
  Phase first = resumed ? request.startFrom : Phase::Differentiate;
  return verifyPhase(Phase(int(first) - 1)) &&
         runPhases(*module, first, last, inputs, diags, resumed ? kExitBadInput : kExitInternal);
}

bool Compilation::write(ArrayRef<Output> outputs) {
  const std::string &path = outputs.front().path;
  auto overwrites = [&](const std::string &output) {
    for (const std::string &input : diags.filesRead())
      if (bool same = false; output != "-" && sys::fs::is_regular_file(output) &&
                             !sys::fs::equivalent(output, input, same) && same) {
        diags.error("'" + output + "' is an input of this plan; it would be overwritten");
        return true;
      }
    return false;
  };
  for (const Output &output : outputs)
    if (overwrites(output.path))
      return false;
  if (request.depfile && !request.depfilePath.empty() && overwrites(request.depfilePath))
    return false;
  return writeOutputs(outputs, diags) &&
         (!request.depfile || writeDepfile(request.depfilePath.empty() ? path + ".d" : request.depfilePath,
                                           path, diags.filesRead(), diags));
}

bool Compilation::printModule() {
  std::string text;
  raw_string_ostream os(text);
  // Locations name the plan's instructions; a cluster is never read back.
  mlir::OpPrintingFlags flags;
  module->print(os, request.stopAfter == Phase::Topo ? flags : flags.enableDebugInfo());
  os << "\n";
  Output output{request.output.empty() ? "-" : outputPath(request), text};
  if (!write(output))
    return false;
  if (request.json)
    report() << json::Value(json::Object{{"format_version", "1.0"},
                                         {"phase", name(request.stopAfter)},
                                         {"path", json::fixUTF8(output.path)},
                                         {"file_bytes", int64_t(text.size())}})
             << "\n";
  return true;
}

bool Compilation::emit() {
  uint64_t usable = uint64_t(choice->facts.capacity());
  int code = request.startFrom != Phase::None ? kExitBadInput : kExitInternal;
  MlirDiagnosticBridge bridge(&context, diags, code);
  std::optional<format::Plan> plan = emitPlan(*module, inputs, choice->best->time.total, diags);
  if (!plan || !provePlan(*plan, diags, code))
    return false;
  for (size_t c = 0; c < plan->classes.size(); ++c)
    if (plan->classes[c].arenaBytes > usable) {
      explainDeficit(diags, inputs, plan->summaries[c].memory, plan->classes[c].arenaBytes, usable,
                     plan->classes[c].name);
      return false;
    }
  std::vector<uint8_t> bytes = format::write(*plan);
  std::string path = outputPath(request);
  // A failure to make it is the write's, with the path.
  bool made = StringRef(request.output).ends_with("/") &&
              !sys::fs::create_directory(request.output, false, sys::fs::all_all);
  std::string strategy = toToml(*inputs.strategy);
  std::vector<Output> outputs;
  if (!path.empty())
    outputs.push_back({path, StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size())});
  if (std::string beside = strategyPath(request); !beside.empty())
    outputs.push_back({beside, strategy});
  if (!outputs.empty() && !write(outputs)) {
    if (made)
      (void)sys::fs::remove(request.output); // refuses what is not empty
    return false;
  }
  if (!request.quiet || request.json)
    printPlan(report(), *plan, inputs, *choice, usable, bytes.size(), path, request.json);
  return true;
}

/// One pipeline over unlike devices. What a strategy of one mesh can say does not fit it.
void Compilation::mixed() {
  if (inputs.strategy || inputs.microBatch || !inputs.job.require.empty()) {
    Loc where = inputs.strategy     ? inputs.strategy->meshLoc
                : inputs.microBatch ? Loc{}
                                    : inputs.job.require.front().loc;
    diags.error(where,
                "a strategy, a micro-batch or a requirement cannot be given for a cluster of several pools");
    return;
  }
  std::optional<MixedChoice> choice =
      chooseMixed(inputs.model, inputs.cluster, inputs.job, libraryBeside(request.shippedClusters), diags);
  if (choice)
    printMixed(report(), *choice, inputs, request.json, diags);
}

/// What is best and why; nothing is compiled.
int Compilation::answerOnly() {
  if (inputs.cluster.pools() > 1) {
    mixed();
    return answer();
  }
  if (decide(false)) {
    if (request.json)
      printAnswerJson(report(), *choice, inputs);
    else
      printAnswer(report(), *choice, inputs);
  }
  return answer();
}

std::optional<format::Plan> Compilation::plan() {
  if (!readInputs(request, diags, inputs) || !executable() || !decide(true) || !import())
    return std::nullopt;
  std::optional<format::Plan> plan = compileModule(*module, inputs, choice->best->time.total, diags);
  if (plan && !provePlan(*plan, diags, kExitInternal))
    return std::nullopt;
  return plan;
}

int Compilation::run() {
  bool resumed = request.startFrom != Phase::None;
  PlanRequest reading = request;
  if (resumed && (!parseText() || !resumeRequest(*module, reading, inputs, diags)))
    return answer();
  if (!readInputs(reading, diags, inputs))
    return answer();
  bool compile = !request.output.empty() || request.stopAfter != Phase::None || resumed;
  if (compile && !executable())
    return answer();
  if (request.stopAfter == Phase::Topo) {
    MlirDiagnosticBridge bridge(&context, diags, kExitInternal);
    module = buildTopo(inputs.cluster, diags, &context);
    if (mlir::succeeded(mlir::verify(*module)))
      printModule();
    return answer();
  }
  bool stop = request.stopAfter != Phase::None && request.stopAfter != Phase::Emit;
  if (resumed && !resumeInputs(*module, request.startFrom, inputs, diags))
    return answer();
  if (!compile)
    return answerOnly();
  if (decide(true) && (resumed ? resumeStrategy(*module, request.startFrom, inputs, diags) : import())) {
    bool ok = request.stopAfter == Phase::Import ? verifyPhase(Phase::Import) : phases();
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
