//===- main.cpp - hocket-run: loads, verifies and runs a plan ---------------===//

#include "runtime/error.h"
#include "runtime/format/read.h"
#include "runtime/ranks.h"
#include "runtime/trace/trace.h"
#include "runtime/verify/verify.h"
#include "tools/hocket-run/say.h"
#include "tools/hocket-run/signals.h"
#include "tools/hocket-run/training.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <new>

using namespace hocket;

namespace {

/// Throws when the file is no plan; what is unsound in it.
std::vector<std::string> loadPlan(const std::string &path, format::Plan &plan) {
  format::ReadResult read = format::readFile(path);
  if (!read)
    throw Error(read.error.exitCode(), read.error.message);
  plan = std::move(*read.plan);
  std::vector<std::string> unsound;
  for (const verify::Finding &f : verify::verify(plan))
    unsound.push_back(path + ": " + f.str());
  return unsound;
}

/// A name from a plan that cannot control a terminal.
std::string printable(std::string name) {
  for (char &c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return name;
}

int dryRun(const format::Plan &plan, const run::Options &o) {
  if (o.rank >= plan.ranks())
    throw Error(kExitBadInput,
                fmt::format("--rank {}: the plan has ranks 0 to {}", o.rank, plan.ranks() - 1));
  const format::ClassProgram &program = plan.classes[classOf(plan, o.rank)];
  std::vector<uint32_t> at = coordinates(plan, o.rank);
  std::string place, placeJson;
  for (size_t a = 0; a < at.size(); ++a) {
    place += fmt::format("{}{}={}", a ? ", " : "", printable(plan.axes[a].name), at[a]);
    placeJson += fmt::format("{}{}:{}", a ? "," : "", trace::jsonString(plan.axes[a].name), at[a]);
  }
  uint64_t init = unrolledCount(program, program.init), step = unrolledCount(program, program.step),
           eval = unrolledCount(program, program.eval);
  if (o.json) {
    run::out("{{\"format_version\":\"1.0\",\"rank\":{},\"coordinates\":{{{}}},\"step_instructions\":{},"
             "\"init_instructions\":{},\"eval_instructions\":{},\"arena_bytes\":{}}}\n",
             o.rank, placeJson, step, init, eval, program.arenaBytes);
    return kExitOk;
  }
  run::out("rank          {} of {} ({}), class {}\n", o.rank, run::grouped(plan.ranks()), place,
           printable(program.name));
  run::out("instructions  {} in a step, {} in init, {} in eval\n", run::grouped(step), run::grouped(init),
           run::grouped(eval));
  run::out("arena         {} bytes\n", run::grouped(program.arenaBytes));
  return kExitOk;
}

int mainOrThrow(const run::Options &o) {
  format::Plan plan;
  if (std::vector<std::string> unsound = loadPlan(o.plan, plan); !unsound.empty())
    return run::refuse(o, kExitNo, unsound);
  if (o.dryRun)
    return dryRun(plan, o);
  run::Result result = run::train(plan, o);
  run::print(plan, o, result);
  if (result.signal) {
    run::say("hocket-run: stopped by a signal after step {}{}\n", result.steps,
             result.saved ? "; weights saved in " + o.save : "");
    return 128 + result.signal;
  }
  if (o.countAllocations && !result.counted)
    throw Error(kExitIncompatible, "this build does not count allocations");
  if (o.countAllocations && result.ourAllocations) {
    run::say("hocket-run: error: {} allocations by our code in steps after the first\n",
             result.ourAllocations);
    return kExitNo;
  }
  return kExitOk;
}

/// The exit code once standard output is written.
int flushed(int code) {
  int error = run::finishOutput();
  // A reader that has seen enough, as head has, is no failure: quiet, with the code of who dies of SIGPIPE.
  if (error && error != EPIPE)
    run::say("hocket-run: error: cannot write to standard output: {}\n", std::strerror(error));
  return code != kExitOk || !error ? code : error == EPIPE ? 128 + SIGPIPE : int(kExitRunTime);
}

} // namespace

int main(int argc, char **argv) {
  run::Options options;
  try {
    if (std::optional<int> code = run::parse(argc, argv, options))
      return flushed(*code);
    run::catchSignals();
    return flushed(mainOrThrow(options));
  } catch (const Error &e) {
    return flushed(run::refuse(options, e.code(), {e.what()}));
  } catch (const std::bad_alloc &) {
    return flushed(run::refuse(options, kExitRunTime, {"out of memory"}));
  } catch (const std::exception &e) {
    return flushed(run::refuse(options, kExitBug, {std::string("internal: ") + e.what()}));
  }
}
