#include "compiler/driver/report.h"
#include "compiler/input/units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace hocket {

namespace {

const format::ClassProgram &fullest(const format::Plan &plan, size_t &index) {
  index = 0;
  for (size_t i = 1; i < plan.classes.size(); ++i)
    if (plan.classes[i].arenaBytes > plan.classes[index].arenaBytes)
      index = i;
  return plan.classes[index];
}

void printJson(raw_ostream &os, const format::Plan &plan, const PlanInputs &in, const Choice &choice,
               uint64_t usable, uint64_t fileBytes, StringRef path) {
  json::OStream j(os, 2);
  j.object([&] {
    j.attribute("format_version", "1.0");
    j.attributeObject("model", [&] {
      j.attribute("name", plan.modelName);
      j.attribute("family", plan.modelFamily);
      j.attribute("parameters", int64_t(plan.parameters));
    });
    j.attribute("ranks", int64_t(plan.ranks()));
    j.attribute("sequence", int64_t(plan.sequence));
    j.attribute("global_batch", int64_t(plan.globalBatch));
    j.attribute("micro_batches", int64_t(plan.microBatches));
    j.attribute("strategy", plan.strategy);
    j.attribute("mesh", meshText(*in.strategy));
    answerJson(j, choice);
    j.attribute("usable_bytes", int64_t(usable));
    j.attributeArray("classes", [&] {
      for (size_t c = 0; c < plan.classes.size(); ++c)
        j.object([&] {
          j.attribute("name", plan.classes[c].name);
          j.attribute("arena_bytes", int64_t(plan.classes[c].arenaBytes));
          j.attributeObject("memory", [&] {
            for (const format::MemoryTerm &t : plan.summaries[c].memory)
              j.attribute(t.name, int64_t(t.bytes));
          });
        });
    });
    if (!path.empty()) {
      j.attribute("path", path);
      j.attribute("file_bytes", int64_t(fileBytes));
    }
  });
  os << "\n";
}

} // namespace

void printPlan(raw_ostream &os, const format::Plan &plan, const PlanInputs &in, const Choice &choice,
               uint64_t usable, uint64_t fileBytes, StringRef path, bool json) {
  if (json)
    return printJson(os, plan, in, choice, usable, fileBytes, path);
  os << plan.modelName << "  " << withCommas(plan.parameters) << " parameters · " << withCommas(plan.ranks())
     << " " << in.cluster.device.name << " · sequence " << withCommas(plan.sequence) << " · batch "
     << withCommas(plan.globalBatch) << " (" << withCommas(uint64_t(plan.globalBatch) * plan.sequence)
     << " tokens) · " << (plan.dtype == format::DType::F64 ? "f64" : "f32") << "\n";
  os << "strategy  " << strategyText(choice.best->tactics, choice.facts.problem.work) << "\n";
  printStep(os, choice, *choice.best);
  size_t index;
  const format::ClassProgram &worst = fullest(plan, index);
  os << "memory    " << bytesText(double(worst.arenaBytes)) << " of " << bytesText(double(usable))
     << " on the fullest (" << worst.name << ") · fits, "
     << llvm::format("%.0f", 100.0 * (1 - double(worst.arenaBytes) / double(usable))) << " % free · "
     << withCommas(worst.arenaBytes) << " bytes\n          ";
  ListSeparator separator(" · ");
  for (const format::MemoryTerm &t : plan.summaries[index].memory)
    os << separator << t.name << " " << bytesText(double(t.bytes));
  os << "\n";
  printComparison(os, choice, in);
  if (!path.empty())
    os << "wrote     " << path << " (" << withCommas(fileBytes) << " bytes)\n";
}

void explainDeficit(Diagnostics &diags, const PlanInputs &in, ArrayRef<format::MemoryTerm> terms,
                    uint64_t need, uint64_t usable, StringRef stage) {
  std::string breakdown;
  for (const format::MemoryTerm &t : terms)
    breakdown += (breakdown.empty() ? "" : " · ") + t.name + " " + bytesText(double(t.bytes));
  const Strategy &s = *in.strategy;
  auto b = diags.error("no plan: " + in.model.name + " does not fit with " + meshText(s) + ": " + stage +
                           " needs " + withCommas(need) + " bytes (" + bytesText(double(need)) +
                           "), a device has " + withCommas(usable) + "; " + withCommas(need - usable) +
                           " bytes (" + bytesText(double(need - usable)) + ") too many",
                       kExitNo);
  b.note(breakdown);
  std::string help;
  if (s.microBatch > 1)
    help = "a smaller --micro-batch than " + std::to_string(s.microBatch) + ", ";
  // Replicas all hold the same: devices help in tensor and pipeline only, which data can give up.
  if (s.data > 1)
    help += "less data and more tensor or pipeline than " + meshText(s) + ", ";
  help += "more than " + withCommas(uint64_t(s.devices())) +
          " devices with more tensor or pipeline, or devices with at least " + bytesText(double(need)) +
          " of memory";
  b.note("would help: " + help);
}

} // namespace hocket
