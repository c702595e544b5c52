#include "compiler/driver/answer.h"

#include "compiler/cost/shape_of.h"
#include "compiler/input/table_reader.h"
#include "compiler/input/units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace hocket {

std::string bytesText(double bytes) {
  static const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  std::string text;
  raw_string_ostream os(text);
  os << llvm::format(unit == 0 ? "%.0f " : "%.1f ", bytes) << units[unit];
  return text;
}

std::string secondsText(double s) {
  std::string text;
  raw_string_ostream os(text);
  if (s < 1)
    os << llvm::format("%.1f ms", s * 1e3);
  else
    os << llvm::format("%.2f s", s);
  return text;
}

namespace {

constexpr StringRef kIndent = "          ";

struct TimeTerm {
  StringRef name;
  double cost::StepTime::*seconds;
};
constexpr TimeTerm kTimeTerms[] = {{"matrix products", &cost::StepTime::products},
                                   {"attention", &cost::StepTime::attention},
                                   {"memory-bound operations", &cost::StepTime::traffic},
                                   {"launches", &cost::StepTime::host},
                                   {"tensor collectives", &cost::StepTime::tensor},
                                   {"bubble", &cost::StepTime::bubble},
                                   {"stage transfers", &cost::StepTime::stages},
                                   {"gradients and parameters", &cost::StepTime::gradients},
                                   {"offload", &cost::StepTime::offload},
                                   {"optimizer", &cost::StepTime::optimizer}};

struct MemoryTerm {
  StringRef name;
  double bytes;
};
SmallVector<MemoryTerm> memoryTermsOf(const cost::StageMemory &m) {
  SmallVector<MemoryTerm> out;
  auto add = [&](StringRef name, double bytes) {
    if (bytes > 0)
      out.push_back({name, bytes});
  };
  add("parameters + gradients", m.parameters + m.gradients);
  add("optimizer", m.optimizer);
  add("activations", m.activations);
  add("working set", m.working);
  add("logits", m.logits);
  add("gathered layers", m.gathered);
  add("context and allocator", m.reserve);
  return out;
}

std::string memoryLine(const cost::StageMemory &m) {
  std::string text;
  ListSeparator dot(" · ");
  for (const MemoryTerm &t : memoryTermsOf(m))
    text += (StringRef(dot) + t.name + " " + bytesText(t.bytes)).str();
  return text;
}

double bytesOf(const planner::Priced &p) { return p.memory.memory.total(); }

const TimeTerm &largest(const cost::StepTime &time) {
  return *std::max_element(
      std::begin(kTimeTerms), std::end(kTimeTerms),
      [&](const TimeTerm &x, const TimeTerm &y) { return time.*x.seconds < time.*y.seconds; });
}

/// What of `other` differs from `best`, as "tensor 8, context 1".
std::string difference(const cost::Tactics &best, const cost::Tactics &other) {
  std::string text;
  for (const planner::Dimension &d : planner::dimensions()) {
    int64_t value = d.get(other);
    if (value == d.get(best) || d.name == "devices" ||
        (!planner::speaks(d, other) && !planner::speaks(d, best)))
      continue;
    text += (text.empty() ? "" : ", ") + std::string(d.name) + " " + d.text(value);
  }
  return text.empty() ? "the same" : text;
}

/// Of which term a worse strategy takes more.
std::string loss(const cost::StepTime &best, const cost::StepTime &other) {
  const TimeTerm *most = nullptr;
  for (const TimeTerm &t : kTimeTerms)
    if (!most || other.*t.seconds - best.*t.seconds > other.*most->seconds - best.*most->seconds)
      most = &t;
  if (!(other.*most->seconds > best.*most->seconds))
    return "";
  return (most->name + " " + secondsText(best.*most->seconds) + " → " + secondsText(other.*most->seconds))
      .str();
}

std::string percent(double share) {
  std::string text;
  raw_string_ostream(text) << llvm::format("%+.1f %%", 100 * share);
  return text;
}

/// Rates of a step with the field's usual meaning of use: causal attention counted, recompute not.
struct Throughput {
  double tokens, device, use;
};
Throughput throughput(const Choice &choice, const planner::Priced &p) {
  const planner::Problem &problem = choice.facts.problem;
  double devices = double(p.tactics.devices());
  double tokens = double(problem.work.globalBatch) * double(problem.work.sequence) / p.time.total;
  double flops = cost::stepFlops(problem.model, problem.work, cost::Recompute::None, true);
  double peak = choice.facts.machine.device.peak[size_t(p.tactics.precision)];
  return {tokens, tokens / devices, flops / p.time.total / devices / peak};
}

json::Object strategyJson(const cost::Tactics &t) {
  json::Object o;
  for (const planner::Dimension &d : planner::dimensions())
    o[StringRef(d.name)] = d.isNumber() ? json::Value(d.get(t)) : json::Value(d.text(d.get(t)));
  return o;
}

json::Object pricedJson(const Choice &choice, const planner::Priced &p) {
  json::Object time, memory;
  for (const TimeTerm &t : kTimeTerms)
    time[t.name] = p.time.*t.seconds;
  for (const MemoryTerm &t : memoryTermsOf(p.memory.memory))
    memory[t.name] = t.bytes;
  std::string missing = planner::notExecuted(p.tactics);
  return json::Object{{"dimensions", strategyJson(p.tactics)},
                      {"seconds", p.time.total},
                      {"seconds_low", p.time.total * (1 - choice.interval)},
                      {"seconds_high", p.time.total * (1 + choice.interval)},
                      {"seconds_by_term", std::move(time)},
                      {"bytes", bytesOf(p)},
                      {"bytes_by_term", std::move(memory)},
                      {"fullest_position", p.memory.device},
                      {"host_bytes", p.host},
                      {"fits", p.fits},
                      {"not_executed", missing.empty() ? json::Value(nullptr) : json::Value(missing)}};
}

} // namespace

std::string strategyText(const cost::Tactics &t, const cost::Workload &work) {
  std::string text;
  for (cost::Axis axis : t.order) {
    auto [name, size] = axis == cost::Axis::Pipeline  ? std::pair("pipeline", t.pipeline)
                        : axis == cost::Axis::Data    ? std::pair("data", t.data)
                        : axis == cost::Axis::Context ? std::pair("context", t.context)
                                                      : std::pair("tensor", t.tensor);
    if (size > 1)
      text += (text.empty() ? "" : " x ") + std::string(name) + " " + std::to_string(size);
  }
  if (text.empty())
    text = "one device";
  if (t.expert > 1)
    text += " · experts over " + std::to_string(t.expert);
  if (t.pipeline > 1)
    text += " · " + std::string(pipeline::name(t.schedule));
  if (t.chunks > 1)
    text += ", " + std::to_string(t.chunks) + " chunks";
  int64_t micros = work.globalBatch / (t.data * t.microBatch);
  return text + " · " + withCommas(micros) + " micro-batch" + (micros == 1 ? "" : "es") + " of " +
         std::to_string(t.microBatch);
}

/// What the second line of a strategy says.
static std::string choicesText(const cost::Tactics &t) {
  std::string text;
  ListSeparator dot(" · ");
  auto add = [&](const Twine &what) { text += (StringRef(dot) + what).str(); };
  static constexpr StringRef sharded[] = {"", "optimizer", "optimizer and gradients",
                                          "optimizer, gradients and parameters"};
  if (t.zero != cost::Zero::None)
    add(sharded[size_t(t.zero)] + " sharded over " +
        withCommas(t.shardGroup ? t.shardGroup : t.data * t.context) + " devices");
  if (t.context > 1)
    add("context by " + StringRef(planner::dimension("context_kind")->text(int64_t(t.contextKind))));
  if (t.sequenceParallel)
    add("sequence parallel");
  switch (t.recompute) {
  case cost::Recompute::None:
    add("no recompute");
    break;
  case cost::Recompute::Selective:
    add("selective recompute");
    break;
  case cost::Recompute::Layers:
    add("recompute of " + Twine(t.recomputeLayers) + " layers a stage");
    break;
  case cost::Recompute::Full:
    add("full recompute");
    break;
  }
  bool activations = t.offloadActivations > 0;
  add(t.offloadOptimizer && activations ? "optimizer and activations in host memory"
      : t.offloadOptimizer              ? "optimizer in host memory"
      : activations                     ? "activations in host memory"
                                        : "no offload");
  return text;
}

void printStep(raw_ostream &os, const Choice &choice, const planner::Priced &p) {
  double s = p.time.total, w = choice.interval;
  os << "step      " << secondsText(s) << "  (" << secondsText(s * (1 - w)) << " to "
     << secondsText(s * (1 + w));
  if (choice.constants.calibrated())
    os << " at 90 %: " << choice.constants.device << ", " << choice.constants.stack
       << "; none from your cluster)\n";
  else
    os << ", uncalibrated: nominal rates, no measurement of this device)\n";
  Throughput t = throughput(choice, p);
  os << kIndent << withCommas(uint64_t(t.tokens)) << " tokens/s · " << withCommas(uint64_t(t.device))
     << " per device · MFU " << llvm::format("%.1f", 100 * t.use)
     << " % (causal attention, recompute not counted)\n";
}

void printComparison(raw_ostream &os, const Choice &choice, const PlanInputs &in) {
  const planner::Priced &best = *choice.best;
  const TimeTerm &most = largest(best.time);
  os << "binds     " << most.name << " ("
     << llvm::format("%.0f", 100 * best.time.*most.seconds / best.time.total) << " % of the step)\n";
  StringRef label = "next best ";
  auto line = [&](const planner::Priced &p, const std::string &why) {
    os << label << difference(best.tactics, p.tactics) << "  " << secondsText(p.time.total) << "  "
       << percent(p.time.total / best.time.total - 1) << "  " << bytesText(bytesOf(p))
       << (why.empty() ? "" : "  ") << why << "\n";
    label = kIndent;
  };
  for (const planner::Priced &p : choice.others)
    line(p, loss(best.time, p.time));
  if (choice.faster)
    line(*choice.faster, "not executed by this version: " + planner::notExecuted(choice.faster->tactics));
  if (choice.certificate) {
    const planner::Certificate &c = *choice.certificate;
    os << "proof     " << (c.complete ? "optimal: " : "not complete: ") << withCommas(uint64_t(c.evaluated))
       << " strategies priced, " << withCommas(uint64_t(c.bounded)) << " branches left out by their bounds, "
       << withCommas(uint64_t(c.meshes)) << " meshes · gap " << llvm::format("%.1f", 100 * c.gap) << " %\n";
  }
  if (in.job.tokens > 0) {
    double seconds = in.job.tokens / throughput(choice, best).tokens;
    os << "run       " << numberText(in.job.tokens) << " tokens: " << llvm::format("%.1f", seconds / 86400)
       << " days";
    if (in.cluster.price > 0)
      os << ", " << withCommas(uint64_t(seconds / 3600 * in.cluster.price * double(best.tactics.devices())))
         << " " << in.cluster.currency << " at " << numberText(in.cluster.price) << " " << in.cluster.currency
         << "/device/h";
    os << "\n";
  }
}

void printAnswer(raw_ostream &os, const Choice &choice, const PlanInputs &in) {
  const planner::Priced &best = *choice.best;
  uint64_t tokens = uint64_t(in.job.globalBatch) * uint64_t(in.job.sequence);
  os << in.model.name << "  " << withCommas(parameterCount(in.model)) << " parameters · "
     << withCommas(uint64_t(best.tactics.devices())) << " " << in.cluster.device.name << " · sequence "
     << withCommas(uint64_t(in.job.sequence)) << " · batch " << withCommas(uint64_t(in.job.globalBatch))
     << " (" << withCommas(tokens) << " tokens) · " << name(in.job.compute) << "\n";
  os << "strategy  " << strategyText(best.tactics, choice.facts.problem.work) << "\n"
     << kIndent << choicesText(best.tactics) << "\n";
  printStep(os, choice, best);
  double bytes = bytesOf(best), whole = choice.facts.machine.device.memory;
  os << "memory    " << bytesText(bytes) << " of " << bytesText(whole) << " on the fullest (position "
     << best.memory.device << ") · " << (best.fits ? "fits, " : "does not fit, ")
     << llvm::format("%.0f", 100 * (1 - bytes / whole)) << " % free ("
     << llvm::format("%.0f", 100 * choice.facts.headroom) << " % asked)\n"
     << kIndent << memoryLine(best.memory.memory) << "\n";
  if (best.host > 0)
    os << kIndent << "and " << bytesText(best.host * double(choice.facts.machine.devicesPerHost))
       << " of a host's memory\n";
  printComparison(os, choice, in);
  for (const Assumed &a : in.cluster.assumed)
    os << "assumed   " << a.name << " = " << a.value << " (" << a.source << ")\n";
}

void answerJson(json::OStream &j, const Choice &choice) {
  j.attributeBegin("answer");
  j.value(choice.best ? json::Value(pricedJson(choice, *choice.best)) : json::Value(nullptr));
  j.attributeEnd();
  j.attribute("calibrated", choice.constants.calibrated());
  j.attributeObject("constants", [&] {
    j.attribute("device", choice.constants.device);
    j.attribute("attention", choice.constants.attention);
    j.attribute("stack", choice.constants.stack);
    j.attribute("cluster", choice.constants.cluster);
    j.attribute("memory", choice.constants.memoryStack);
  });
  j.attributeArray("next_best", [&] {
    for (const planner::Priced &p : choice.others)
      j.value(pricedJson(choice, p));
  });
  j.attributeBegin("faster_not_executed");
  j.value(choice.faster ? json::Value(pricedJson(choice, *choice.faster)) : json::Value(nullptr));
  j.attributeEnd();
  if (choice.certificate)
    j.attributeObject("proof", [&] {
      const planner::Certificate &c = *choice.certificate;
      j.attribute("complete", c.complete);
      j.attribute("bound_seconds", c.bound);
      j.attribute("gap", c.gap);
      j.attribute("meshes", c.meshes);
      j.attribute("bounded", c.bounded);
      j.attribute("evaluated", c.evaluated);
    });
  j.attributeArray("space", [&] {
    for (const planner::Dimension &d : planner::dimensions())
      j.object([&] {
        j.attribute("name", StringRef(d.name));
        j.attribute("what", StringRef(d.what));
        if (d.isNumber())
          return;
        j.attributeArray("values", [&] {
          for (const planner::NamedValue &v : d.values)
            j.object([&] {
              j.attribute("name", StringRef(v.name));
              j.attribute("executed", v.executable);
            });
        });
      });
  });
}

void printAnswerJson(raw_ostream &os, const Choice &choice, const PlanInputs &in) {
  json::OStream j(os, 2);
  j.object([&] {
    j.attribute("format_version", "1.0");
    j.attributeObject("model", [&] {
      j.attribute("name", json::fixUTF8(in.model.name));
      j.attribute("family", name(in.model.family));
      j.attribute("parameters", int64_t(parameterCount(in.model)));
    });
    j.attributeObject("cluster", [&] {
      j.attribute("device", json::fixUTF8(in.cluster.device.name));
      j.attribute("devices", in.cluster.ranks());
    });
    j.attribute("sequence", in.job.sequence);
    j.attribute("global_batch", in.job.globalBatch);
    j.attribute("compute", name(in.job.compute));
    answerJson(j, choice);
    j.attributeArray("assumed", [&] {
      for (const Assumed &a : in.cluster.assumed)
        j.object([&] {
          j.attribute("name", json::fixUTF8(a.name));
          j.attribute("value", json::fixUTF8(a.value));
          j.attribute("source", json::fixUTF8(a.source));
        });
    });
  });
  os << "\n";
}

void explainInfeasible(Diagnostics &diags, const Choice &choice, const PlanInputs &in,
                       ArrayRef<planner::Requirement> requirements, int64_t hosts) {
  std::string devices = withCommas(uint64_t(in.cluster.ranks())) + " " + in.cluster.device.name;
  double usable = choice.facts.capacity();
  auto b = diags.error("no plan: " + in.model.name + " does not fit on " + devices + " (" +
                           bytesText(usable) + " usable each)",
                       kExitNo);
  if (choice.nearest) {
    const planner::Priced &p = choice.nearest->priced;
    std::string text = "closest: " + strategyText(p.tactics, choice.facts.problem.work) + "; " +
                       choicesText(p.tactics) + ": " + bytesText(bytesOf(p));
    if (choice.nearest->over > 0)
      text += ", " + bytesText(choice.nearest->over) + " too many per device";
    b.note(text).note(memoryLine(p.memory.memory));
    if (choice.nearest->overHost > 0)
      b.note("and host memory: " + bytesText(choice.nearest->overHost) + " too many per host");
  }
  if (hosts > 0)
    b.note("would fit: " + withCommas(uint64_t(hosts * in.cluster.devicesPerHost)) + " " +
           in.cluster.device.name + " (" + withCommas(uint64_t(hosts)) + " hosts)");
  for (size_t i : choice.conflict)
    b.note(requirements[i].loc, choice.conflict.size() == 1 ? "nothing fits with this requirement; drop it"
                                                            : "these cannot hold together; drop one");
}

} // namespace hocket
