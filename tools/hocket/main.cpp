//===- main.cpp - The hocket command ----------------------------------------===//
//
// Verbs: plan, run, verify, devices, version, help.  Arguments in, exit code out; the
// work is in the libraries.  This file and verify.cpp alone are compiled
// with exceptions, for CLI11.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/driver.h"
#include "tools/hocket/verbs.h"

#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstring>
#include <signal.h>
#include <unistd.h>

using namespace hocket;
using llvm::StringRef;

namespace {

/// --json stands among the arguments, so that usage errors are documents as well.
bool wantsJson = false;

int usage(const llvm::Twine &what, const llvm::Twine &hint) { return usageError(what, hint, wantsJson); }

std::string ownFolder(const char *argv0) {
  static int anchor;
  return llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(argv0, &anchor)).str();
}

int runVerb(const std::string &folder, int argc, char **argv) {
  std::string program = folder + "/hocket-run";
  std::vector<char *> args = {program.data()};
  for (int i = 2; i < argc; ++i)
    args.push_back(argv[i]);
  args.push_back(nullptr);
  ::execv(program.c_str(), args.data());
  llvm::errs() << "error: cannot start '" << program << "': " << std::strerror(errno) << "\n";
  return kExitRuntime;
}

/// `-MD` and `-MF FILE` as compilers spell them; CLI11 knows one-letter names only.
std::vector<std::string> arguments(int argc, char **argv) {
  std::vector<std::string> out;
  for (int i = 1; i < argc; ++i) {
    StringRef a = argv[i];
    if (a == "-MD")
      out.emplace_back("--depfile");
    else if (a.starts_with("-MF"))
      out.emplace_back("--depfile-path"), a.size() > 3 ? out.push_back(a.substr(3).str()) : void();
    else
      out.push_back(a.str());
  }
  return out;
}

/// Every long option and verb of an app, for "did you mean".
std::vector<std::string> names(const CLI::App &app) {
  std::vector<std::string> out;
  for (const CLI::Option *o : app.get_options())
    for (const std::string &n : o->get_lnames())
      out.push_back("--" + n);
  return out;
}

std::string suggestion(const std::string &word, const std::vector<std::string> &candidates) {
  std::vector<StringRef> refs(candidates.begin(), candidates.end());
  return didYouMean(StringRef(word).split('=').first, refs);
}

struct PlanOptions {
  PlanRequest request;
  std::string stopAfter, startFrom, dropout, color = "auto", format = "human";
  int64_t sequence = 0, globalBatch = 0, microBatch = 0;
};

void definePlan(CLI::App &plan, PlanOptions &o) {
  PlanRequest &r = o.request;
  plan.add_option("JOB", r.job, "job.toml (or, with --start-from, MLIR text; '-' is standard input)");
  plan.add_option("--model", r.model, "Folder with config.json; overrides the job's");
  plan.add_option("--cluster", r.cluster,
                  "cluster.toml, or NAME[:HOSTS] of a shipped cluster or a host type");
  plan.add_option("--strategy", r.strategy,
                  "strategy.toml, or a mesh as in 'data=2,tensor=2'; chosen when absent");
  plan.add_option("--sequence", o.sequence, "Tokens per sequence");
  plan.add_option("--global-batch", o.globalBatch, "Sequences per optimizer step");
  plan.add_option("--micro-batch", o.microBatch, "Sequences per replica and micro-batch");
  plan.add_option(
      "--dtype", r.dtype,
      "Type of matrix products: f32 and f64 are compiled, bf16, fp8-tensorwise, mxfp8 and nvfp4 priced");
  plan.add_option("--require", r.require,
                  "What a strategy must hold, as in 'tensor <= 8' or 'pipeline in {1,2,4}'; may be repeated");
  plan.add_flag("--what-if", r.whatIf,
                "The fastest of all that is priced, executed by this version or not; compiles nothing");
  plan.add_option("--dropout", o.dropout, "0: train without the dropout that config.json asks for");
  plan.add_flag("--allow-idle", r.allowIdle, "A strategy may use fewer devices than the cluster has");
  plan.add_option("--stop-after", o.stopAfter,
                  "Print the IR after this phase: topo, import, differentiate, search, "
                  "shard, place, partition, schedule, allocate or emit");
  plan.add_option("--start-from", o.startFrom,
                  "Resume before this phase from the MLIR text JOB, which names model, job and, behind "
                  "search, strategy; needs --cluster");
  plan.add_option("-o,--output", r.output,
                  "FILE.hkt, DIR/ (gets plan.hkt and strategy.toml) or '-'; without it the strategy is shown "
                  "and nothing compiled");
  plan.add_flag("--json", r.json,
                "One JSON document on standard output (standard error with -o -), of errors too");
  plan.add_flag("-q,--quiet", r.quiet, "No progress");
  plan.add_option("--color", o.color, "auto, always or never");
  plan.add_option("--message-format", o.format, "human, short or json");
  plan.add_flag("--depfile", r.depfile, "-MD: write a make rule with every file read to OUTPUT.d");
  plan.add_option("--depfile-path", r.depfilePath, "-MF FILE: write that rule to FILE");
}

template <typename T>
bool pick(StringRef flag, StringRef value, llvm::ArrayRef<std::pair<StringRef, T>> choices, T &out) {
  std::vector<StringRef> words;
  std::string list;
  for (const auto &[word, choice] : choices) {
    if (word == value) {
      out = choice;
      return true;
    }
    words.push_back(word);
    list += (list.empty() ? "" : ", ") + word.str();
  }
  usage(flag + ": unknown value '" + value + "'" + didYouMean(value, words), "one of: " + list);
  return false;
}

int planVerb(const CLI::App &plan, PlanOptions &o, const std::string &folder) {
  PlanRequest &r = o.request;
  std::vector<std::pair<StringRef, Phase>> phases;
  for (StringRef p : phaseNames())
    phases.emplace_back(p, *parsePhase(p));
  if (!o.stopAfter.empty() && !pick<Phase>("--stop-after", o.stopAfter, phases, r.stopAfter))
    return kExitBadInput;
  if (!o.startFrom.empty() &&
      !pick<Phase>("--start-from", o.startFrom, llvm::ArrayRef(phases).drop_front(2), r.startFrom))
    return kExitBadInput;
  if (r.stopAfter != Phase::None && r.stopAfter < r.startFrom)
    return usage("--stop-after=" + o.stopAfter + " comes before --start-from=" + o.startFrom, "");
  if (!pick<ColorMode>(
          "--color", o.color,
          {{"auto", ColorMode::Auto}, {"always", ColorMode::Always}, {"never", ColorMode::Never}}, r.color) ||
      !pick<MessageFormat>(
          "--message-format", o.format,
          {{"human", MessageFormat::Human}, {"short", MessageFormat::Short}, {"json", MessageFormat::Json}},
          r.messageFormat))
    return kExitBadInput;
  if (!o.dropout.empty()) {
    if (o.dropout != "0" && o.dropout != "0.0")
      return usage("--dropout is '" + o.dropout + "'; only 0 is supported", "");
    r.dropoutZero = true;
  }
  auto given = [&](const char *flag, int64_t value, std::optional<int64_t> &out) {
    if (plan.count(flag))
      out = value;
  };
  given("--sequence", o.sequence, r.sequence);
  given("--global-batch", o.globalBatch, r.globalBatch);
  given("--micro-batch", o.microBatch, r.microBatch);
  r.depfile |= !r.depfilePath.empty();
  if (r.startFrom != Phase::None && r.job.empty())
    return usage("--start-from needs the MLIR text as its argument", "");
  if (r.whatIf && (!r.output.empty() || r.stopAfter != Phase::None || r.startFrom != Phase::None))
    return usage("--what-if compiles nothing: it goes without -o, --stop-after and --start-from", "");
  if (r.whatIf && !r.strategy.empty())
    return usage("--what-if looks for a strategy: it goes without --strategy", "");
  if (r.json && r.output.empty() && r.stopAfter != Phase::None && r.stopAfter != Phase::Emit)
    return usage("--json: standard output would hold the IR and the document", "-o FILE writes the IR there");
  if (r.depfile && r.depfilePath.empty() && (r.output.empty() || r.output == "-"))
    return usage("-MD needs -o FILE or -MF FILE", "");
  r.shippedClusters = folder + "/../share/hocket/clusters";
  // A crash is our bug and answered as such, never by a signal; MLIR text is
  // for developers, and one that crashes a pass is bad input. What is said then is ready
  // before: nothing that the crashed thread may have locked is touched again.
  const bool text = r.startFrom != Phase::None;
  const int crashCode = text ? kExitBadInput : kExitInternal;
  Diagnostics diags;
  diags.error(text ? "the MLIR text crashed the compiler"
                   : "internal: hocket crashed; this is a bug, please report it with its inputs",
              crashCode);
  std::string message = diags.str(), document;
  if (r.json && r.output != "-") {
    llvm::raw_string_ostream os(document);
    diags.printErrorDocument(os, crashCode);
  }
  int code = kExitInternal;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext crash;
  if (crash.RunSafelyOnThread([&] { code = runPlan(r); }, 64u << 20))
    return code;
  llvm::sys::RunInterruptHandlers(); // removes temporary files
  (void)!::write(STDERR_FILENO, message.data(), message.size());
  (void)!::write(STDOUT_FILENO, document.data(), document.size());
  ::_exit(crashCode);
}

int dispatch(int argc, char **argv) {
  std::string folder = ownFolder(argv[0]);
  if (argc > 1 && StringRef(argv[1]) == "run")
    return runVerb(folder, argc, argv);

  CLI::App app("hocket: split a model's training over a cluster, and prove and run the plan", "hocket");
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Help of every verb");
  CLI::App *plan = app.add_subcommand("plan", "Compile a model, a cluster and a job into a plan file");
  app.add_subcommand("run", "Train with a plan: hocket-run with the same arguments");
  CLI::App *verify = app.add_subcommand("verify", "Prove that a plan file is sound");
  CLI::App *devices = app.add_subcommand("devices", "Devices and hosts that a cluster may name");
  CLI::App *version = app.add_subcommand("version", "Versions of hocket, LLVM and the plan format");
  CLI::App *help = app.add_subcommand("help", "Help of a verb");
  PlanOptions options;
  definePlan(*plan, options);
  std::string planFile, topic, deviceName;
  bool verifyJson = false, versionJson = false, devicesJson = false;
  verify->add_option("FILE", planFile, "A plan file, or a folder with plan.hkt")->required();
  verify->add_flag("--json", verifyJson, "One JSON document on standard output");
  devices->add_option("NAME", deviceName, "One device or host, with the sources of its numbers");
  devices->add_flag("--json", devicesJson, "One JSON document on standard output");
  version->add_flag("--json", versionJson, "One JSON document on standard output");
  help->add_option("VERB", topic, "Which verb");

  std::vector<std::string> verbs = {"plan", "run", "verify", "devices", "version", "help"};
  std::vector<std::string> args = arguments(argc, argv);
  wantsJson = llvm::is_contained(args, "--json");
  if (args.size() == 1 && args[0] == "--version")
    args[0] = "version";
  // `help` and `help VERB` are other words for --help and VERB --help.
  if (args.size() == 1 && args[0] == "help")
    args[0] = "--help";
  if (args.size() == 2 && args[0] == "help" && !StringRef(args[1]).starts_with("-"))
    args = {args[1], "--help"};
  if (args.size() == 2 && args[0] == "run") {
    char *forward[] = {argv[0], argv[0], args[1].data(), nullptr};
    return runVerb(folder, 3, forward);
  }
  if (!args.empty() && !StringRef(args[0]).starts_with("-") && !llvm::is_contained(verbs, args[0]))
    return usage("there is no verb '" + args[0] + "'" + suggestion(args[0], verbs),
                 "verbs: plan, run, verify, devices, version, help");
  CLI::App *verb = args.empty() || StringRef(args[0]).starts_with("-") ? &app : app.get_subcommand(args[0]);
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    llvm::outs() << app.help(); // of the verb that was given, if any
    return kExitOk;
  } catch (const CLI::CallForAllHelp &) {
    llvm::outs() << app.help("", CLI::AppFormatMode::All);
    return kExitOk;
  } catch (const CLI::ParseError &e) {
    std::string help =
        "hocket " + (verb == &app ? std::string() : args[0] + " ") + "--help lists what there is";
    for (const std::string &a : args)
      if (StringRef(a).starts_with("--") &&
          !llvm::is_contained(names(*verb), StringRef(a).split('=').first.str()))
        return usage("unknown option '" + a + "'" + suggestion(a, names(*verb)), help);
    return usage(e.what(), help);
  }
  if (*plan)
    return planVerb(*plan, options, folder);
  if (*verify)
    return verifyVerb(planFile, verifyJson);
  if (*devices)
    return devicesVerb(deviceName, devicesJson, folder + "/../share/hocket/clusters");
  if (*version)
    return versionVerb(versionJson);
  // No verb is a question about usage, not an answer.
  llvm::outs() << app.help();
  return kExitBadInput;
}

} // namespace

int main(int argc, char **argv) {
  ::signal(SIGPIPE, SIG_IGN);
  llvm::sys::SetInterruptFunction(nullptr);
  int code = dispatch(argc, argv);
  // A full disk behind standard output is an error like any other. A reader of a pipe that has seen enough,
  // as head has, is none: quiet, with the code of who dies of SIGPIPE.
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  llvm::outs().clear_error();
  if (!error || error == std::errc::broken_pipe)
    return error && code == kExitOk ? 128 + SIGPIPE : code;
  llvm::errs() << "error: cannot write to standard output: " << error.message() << "\n";
  return code == kExitOk ? kExitRuntime : code;
}
