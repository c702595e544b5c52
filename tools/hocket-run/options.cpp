#include "tools/hocket-run/options.h"

#include "runtime/error.h"
#include "tools/hocket-run/say.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <numeric>

namespace hocket::run {

/// CLI11 wraps "-1" into an unsigned number; only digits are whole numbers here.
static const CLI::Validator kWhole(
    [](std::string &text) {
      bool digits =
          !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string::npos;
      return digits ? std::string() : "'" + text + "' is not a whole number from 0 to 999999999999999999";
    },
    "", "whole number");

/// Insertions, deletions and replacements from one word to the other.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// "unknown option '--stesp'; did you mean '--steps'?" for the first argument that is none; empty when all
/// are.  A suggestion may differ in a third of the letters, as hocket's.
static std::string unknownOption(const CLI::App &app, int argc, char **argv) {
  std::vector<std::string> known;
  for (const CLI::Option *o : app.get_options())
    for (const std::string &name : o->get_lnames())
      known.push_back("--" + name);
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    word.resize(std::min(word.size(), word.find('=')));
    if (!word.starts_with("--") || word == "--" || std::find(known.begin(), known.end(), word) != known.end())
      continue;
    std::string nearest;
    size_t best = word.size() > 100 ? 0 : std::max<size_t>(1, word.size() / 3) + 1;
    for (const std::string &name : known)
      if (size_t d = editDistance(word, name); d < best) {
        best = d;
        nearest = name;
      }
    return "unknown option '" + word + "'" + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
  }
  return "";
}

/// The steps of --trace-steps, or the default: after the first step, which pays for page faults and the
/// start-up of libraries; ten, since a step of many ranks has thousands of spans.
static void chooseTraced(const std::string &text, Options &o) {
  auto bad = [&](const std::string &what) { throw CLI::ValidationError("--trace-steps", what); };
  if (o.steps == 0)
    throw CLI::ValidationError("--trace", "there are no steps to trace: --steps is 0");
  o.traceDefault = text.empty();
  if (text.empty()) {
    o.traceFirst = std::min<uint64_t>(2, o.steps);
    o.traceLast = std::min<uint64_t>(11, o.steps);
    return;
  }
  size_t dots = text.find("..");
  std::string first = text.substr(0, dots), last = dots == std::string::npos ? first : text.substr(dots + 2);
  if (last.empty())
    last = std::to_string(o.steps);
  for (std::string *number : {&first, &last})
    if (!kWhole(*number).empty())
      bad("'" + text + "' is no range of steps; write A..B, A.. or A");
  o.traceFirst = std::stoull(first);
  o.traceLast = std::stoull(last);
  if (o.traceFirst < 1 || o.traceFirst > o.traceLast || o.traceLast > o.steps)
    bad("'" + text + "' is not within the run's steps, 1.." + std::to_string(o.steps));
}

std::optional<int> parse(int argc, char **argv, Options &o) {
  CLI::App app("Trains the model of a plan file on this machine.", "hocket-run");
  app.set_version_flag("--version", "hocket-run " HOCKET_VERSION);
  std::string type, order = "random";
  app.add_option("plan", o.plan, "Plan file (.hkt), or a folder with plan.hkt")
      ->required()
      ->type_name("FILE.hkt");
  CLI::Option *data =
      app.add_option("--data", o.data,
                     "Text as bytes, or raw tokens (.u16, .u32); its last tenth is for validation")
          ->type_name("TEXT");
  app.add_option("--data-type", type, "Token type of --data; default by its suffix, else u8")
      ->check(CLI::IsMember({"u8", "u16", "u32"}))
      ->type_name("u8|u16|u32");
  app.add_option("--data-order", order, "Windows drawn at random, or in file order")
      ->check(CLI::IsMember({"random", "sequential"}))
      ->type_name("random|sequential");
  CLI::Option *steps =
      app.add_option("--steps", o.steps, "Optimizer steps; 0 only evaluates")->check(kWhole)->type_name("N");
  app.add_option("--seed", o.seed, "Seed of the initial weights and of the windows (default 0)")
      ->check(kWhole)
      ->type_name("N");
  app.add_option("--init", o.init, "Start from DIR/model.safetensors")->type_name("DIR");
  app.add_option("--save", o.save, "Write weights and config.json there at the end")->type_name("DIR");
  app.add_option("--save-gradients", o.saveGradients, "Write the last step's gradients as safetensors")
      ->type_name("FILE");
  app.add_option("--metrics", o.metrics, "Write one JSON object a step")->type_name("F.jsonl");
  CLI::Option *trace =
      app.add_option("--trace", o.trace, "Write a Chrome trace: a track a stream, and one for the steps")
          ->type_name("F.json");
  std::string traced;
  app.add_option("--trace-steps", traced,
                 "Steps in --trace: A..B, A.. or A; default 2..11, ten steps after the first, which warms up "
                 "(of a run of one step: 1).  A step that fails is always in it")
      ->needs(trace)
      ->type_name("A..B");
  app.add_option("--deadline", o.deadline,
                 "Seconds without progress before the run is ended; default 20 steps' estimate, at least 30")
      ->check(CLI::Range(0.01, 1e9))
      ->type_name("SECONDS");
  CLI::Option *dry = app.add_flag("--dry-run", o.dryRun, "Load, verify, unroll one rank's step; run nothing");
  app.add_option("--rank", o.rank, "The rank of --dry-run (default 0)")
      ->check(kWhole)
      ->needs(dry)
      ->type_name("R");
  uint64_t delay = 0;
  CLI::Option *delays = app.add_option("--delay-seed", delay, "Test: random delays before every operation")
                            ->check(kWhole)
                            ->type_name("N");
  app.add_flag("--count-allocations", o.countAllocations,
               "Fail (exit 1) when a step after the first allocates memory");
  app.add_flag("--json", o.json, "The result as one JSON document");
  app.add_flag("-q,--quiet", o.quiet, "No progress");
  try {
    app.parse(argc, argv);
    if (!o.dryRun && !*data)
      throw CLI::RequiredError("--data");
    if (!o.dryRun && !*steps)
      throw CLI::RequiredError("--steps");
    if (!o.saveGradients.empty() && !o.dryRun && o.steps == 0)
      throw CLI::ValidationError("--save-gradients", "there are no gradients without a step: --steps is 0");
    if (o.countAllocations && (o.dryRun || o.steps < 2))
      throw CLI::ValidationError("--count-allocations",
                                 "counts in steps after the first: --steps must be at least 2");
    if (*trace && !o.dryRun)
      chooseTraced(traced, o);
  } catch (const CLI::ParseError &e) {
    if (e.get_exit_code() == 0) // --help, --version
      return app.exit(e);
    std::string unknown = unknownOption(app, argc, argv);
    // The parser may have stopped before it.
    o.json =
        std::any_of(argv + 1, argv + argc, [](const char *a) { return std::string_view(a) == "--json"; });
    return refuse(o, kExitBadInput, {unknown.empty() ? e.what() : unknown},
                  "hocket-run --help lists what there is");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(o.plan, ignored))
    o.plan += "/plan.hkt";
  if (*delays)
    o.delaySeed = delay;
  if (!type.empty())
    o.dataType = type == "u8"    ? data::TokenType::U8
                 : type == "u16" ? data::TokenType::U16
                                 : data::TokenType::U32;
  o.order = order == "random" ? data::Order::Random : data::Order::Sequential;
  return std::nullopt;
}

} // namespace hocket::run
