#include "tools/hocket-run/training.h"

#include "runtime/device/allocations.h"
#include "runtime/error.h"
#include "runtime/exec/session.h"
#include "tools/hocket-run/memory.h"
#include "tools/hocket-run/say.h"
#include "tools/hocket-run/signals.h"
#include "tools/hocket-run/step_trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <unistd.h>

namespace hocket::run {

extern const bool kCountsAllocations;

namespace {

namespace allocations = device::allocations;

/// JSON has no nan or infinity.
std::string number(double v) { return std::isfinite(v) ? fmt::format("{}", v) : "null"; }

/// A line that renews itself on a terminal; elsewhere about ten lines a run, and one after ten silent
/// seconds.
class Progress {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kSilence{10};

public:
  Progress(bool quiet, uint64_t steps)
      : quiet(quiet), live(isatty(2) && !quiet), every(std::max<uint64_t>(1, steps / 10)) {}
  ~Progress() { clear(); }

  void note(const std::string &text) {
    if (!quiet)
      tell(text);
  }
  /// What must be said even to those who want no progress.
  void tell(const std::string &text) {
    clear();
    say("{}\n", text);
  }
  void stage(const std::string &text) {
    if (live)
      line(text);
  }
  void step(const exec::StepResult &r, uint64_t steps, double tokensPerSecond) {
    if (quiet)
      return;
    std::string text =
        fmt::format("step {}/{}  loss {:.4f}  |g| {:.3g}  lr {:.3g}  {} tokens/s", r.step, steps, r.loss,
                    r.gradNorm, r.learningRate, grouped(static_cast<uint64_t>(tokensPerSecond)));
    if (live)
      line(text);
    else if (auto now = Clock::now();
             r.step == 1 || r.step == steps || r.step % every == 0 || now - last >= kSilence) {
      say("{}\n", text);
      last = now;
    }
  }

private:
  void line(const std::string &text) {
    say("\r\033[K{}", text);
    std::fflush(stderr);
    open = true;
  }
  void clear() {
    if (open)
      say("\r\033[K");
    open = false;
  }
  bool quiet, live, open = false;
  uint64_t every;
  Clock::time_point last = Clock::now();
};

/// Whether two names lead to one file that exists; devices and pipes may be named twice.
bool sameFile(const std::string &a, const std::string &b) {
  std::error_code ignored;
  return !a.empty() && !b.empty() && std::filesystem::is_regular_file(a, ignored) &&
         std::filesystem::equivalent(a, b, ignored);
}

/// The optional outputs, opened before any work so that a bad path ends the run early.
struct Outputs {
  std::unique_ptr<data::LogFile> metrics;
  std::optional<StepTrace> trace;
  std::unique_ptr<data::OutputDirectory> save;

  Outputs(const Options &o, const format::Plan &plan) {
    std::string weights = o.save.empty() ? "" : o.save + "/model.safetensors";
    std::vector<std::pair<const char *, std::string>> outputs = {{"--metrics", o.metrics},
                                                                 {"--trace", o.trace},
                                                                 {"--save-gradients", o.saveGradients},
                                                                 {"--save", weights}};
    // Weights may be trained further in place: they are read before they are written.
    for (size_t i = 0; i < outputs.size(); ++i) {
      auto &[option, path] = outputs[i];
      if (path == "-")
        throw Error(kExitBadInput, fmt::format("{} writes a file; '-' is not one", option));
      for (const std::string &input : {o.plan, o.data})
        if (sameFile(path, input))
          throw Error(kExitBadInput,
                      fmt::format("{} would overwrite {}, which this run reads", option, input));
      for (size_t k = 0; k < i; ++k)
        if (!path.empty() && path == outputs[k].second)
          throw Error(kExitBadInput, fmt::format("{} and {} are both {}", outputs[k].first, option, path));
    }
    if (!o.metrics.empty())
      metrics = std::make_unique<data::LogFile>(o.metrics);
    if (!o.trace.empty())
      trace.emplace(o, plan);
    if (!o.save.empty()) {
      save = std::make_unique<data::OutputDirectory>(o.save);
      data::OutputFile probe(o.save + "/model.safetensors");
    }
    if (!o.saveGradients.empty())
      data::OutputFile probe(o.saveGradients);
  }
  void evaluation(uint64_t step, double loss) {
    if (metrics)
      metrics->write(fmt::format("{{\"eval\":{},\"step\":{}}}\n", number(loss), step));
  }
  void step(const exec::StepResult &r, double tokens) {
    if (metrics)
      metrics->write(fmt::format(
          "{{\"step\":{},\"loss\":{},\"grad_norm\":{},\"lr\":{},\"seconds\":{},\"tokens_per_s\":{}}}\n",
          r.step, number(r.loss), number(r.gradNorm), number(r.learningRate), number(r.seconds),
          number(tokens / r.seconds)));
  }
};

void measureMemory(const exec::Session &session, const data::Tokens &text, Result &result) {
  result.arenaBytes = session.arenaBytes();
  result.peakResident = peakResident();
  result.residentBeside = static_cast<int64_t>(result.peakResident) -
                          static_cast<int64_t>(session.residentArenaBytes() + text.bytes());
}

exec::Options sessionOptions(const Options &o) {
  exec::Options e;
  e.seed = o.seed;
  e.deadlineSeconds = o.deadline;
  e.delays = o.delaySeed.has_value();
  e.delaySeed = o.delaySeed.value_or(0);
  e.trace = !o.trace.empty();
  return e;
}

Result train(exec::Session &session, const data::Tokens &text, const Options &o, Outputs &outputs,
             Progress &progress) {
  const double tokens = double(session.plan().globalBatch) * session.plan().sequence;
  session.initialize();
  if (!o.init.empty()) {
    checkpoint::LoadReport report = session.load(o.init);
    progress.note(fmt::format(
        "loaded {} tensors from {}{}; weights only: moments, steps and schedule begin anew", report.loaded,
        o.init,
        report.ignored.empty()
            ? ""
            : fmt::format("; ignored {}, among them '{}'", report.ignored.size(), report.ignored.front())));
  }
  auto goOn = [] { return stopRequested() == 0; };

  Result result;
  result.counted = kCountsAllocations;
  result.validationBefore = result.validationAfter = result.trainLoss =
      std::numeric_limits<double>::quiet_NaN();
  if (session.hasEvaluation() && text.validationTokens()) {
    progress.stage("evaluating on the tail of the text");
    result.validationBefore = session.evaluate(text, goOn);
    outputs.evaluation(0, result.validationBefore);
    if (std::isfinite(result.validationBefore))
      progress.note(fmt::format("validation loss {:.4f} before training", result.validationBefore));
  }

  std::vector<double> seconds;
  seconds.reserve(std::min<uint64_t>(o.steps, 1 << 20));
  for (uint64_t t = 1; t <= o.steps && !stopRequested(); ++t) {
    // The first step pays for page faults and lazy start-up of libraries.
    allocations::counts.counting.store(t > 1);
    exec::StepResult r = session.step(text, o.order);
    allocations::counts.counting.store(false);
    if (outputs.trace)
      outputs.trace->stepDone(session, t);
    seconds.push_back(r.seconds);
    outputs.step(r, tokens);
    progress.step(r, o.steps, tokens / r.seconds);
    result.steps = t;
    result.trainLoss = r.loss;
    if (!std::isfinite(r.loss))
      throw Error(kExitRunTime, fmt::format("the loss of step {} is {}; no weights were saved", t, r.loss));
  }
  result.ourAllocations = allocations::counts.ours.load();
  result.libraryAllocations = allocations::counts.library.load();
  if (seconds.size() > 1)
    seconds.erase(seconds.begin());
  if (!seconds.empty()) {
    double sum = 0;
    for (double s : seconds)
      sum += s;
    result.tokensPerSecond = tokens * static_cast<double>(seconds.size()) / sum;
    std::nth_element(seconds.begin(), seconds.begin() + static_cast<long>(seconds.size() / 2), seconds.end());
    result.medianStep = seconds[seconds.size() / 2];
  }
  if (!o.saveGradients.empty() && result.steps)
    session.saveTensors(o.saveGradients, checkpoint::What::Gradient);
  if (session.hasEvaluation() && text.validationTokens() && !stopRequested()) {
    progress.stage("evaluating on the tail of the text");
    result.validationAfter = o.steps ? session.evaluate(text, goOn) : result.validationBefore;
    if (o.steps)
      outputs.evaluation(result.steps, result.validationAfter);
  }
  // Stopped before the first step: what stands there may be better than initial weights.
  if (!o.save.empty() && (result.steps || !stopRequested())) {
    session.save(o.save);
    outputs.save->keep();
    result.saved = true;
  }
  measureMemory(session, text, result); // after the last thing that takes memory
  result.signal = stopRequested();
  return result;
}

} // namespace

Result train(format::Plan plan, const Options &o) {
  allocations::ourThread = true;
  Progress progress(o.quiet, o.steps);
  progress.stage("loading");
  Outputs outputs(o, plan);
  data::Tokens text(o.data, o.dataType.value_or(data::tokenTypeOf(o.data)),
                    {plan.globalBatch, plan.sequence, plan.vocabulary});
  exec::Session session(std::move(plan), sessionOptions(o));
  if (!outputs.trace)
    return train(session, text, o, outputs, progress);
  outputs.trace->begin(session);
  try {
    Result result = train(session, text, o, outputs, progress);
    progress.tell(outputs.trace->finish());
    return result;
  } catch (const std::exception &) {
    // What ended the run is the error to report, not that its trace could not be written.
    try {
      outputs.trace->failed(session);
      progress.tell(outputs.trace->finish());
    } catch (const Error &e) {
      progress.tell(std::string("no trace: ") + e.what());
    }
    throw;
  }
}

} // namespace hocket::run
