#include "compiler/driver/report.h"
#include "compiler/input/units.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

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

namespace {

const format::ClassProgram &fullest(const format::Plan &plan, size_t &index) {
  index = 0;
  for (size_t i = 1; i < plan.classes.size(); ++i)
    if (plan.classes[i].arenaBytes > plan.classes[index].arenaBytes)
      index = i;
  return plan.classes[index];
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

std::string meshLine(const Strategy &s) {
  std::string text;
  for (StringRef axis : s.order)
    if (s.size(axis) > 1)
      text += (text.empty() ? "" : " x ") + axis.str() + " " + std::to_string(s.size(axis));
  return text.empty() ? "one device" : text;
}

void printJson(raw_ostream &os, const format::Plan &plan, const PlanInputs &in, const Cost &cost,
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
    j.attributeObject("step", [&] {
      j.attribute("seconds", cost.seconds);
      j.attribute("calibrated", false);
      j.attributeObject("terms", [&] {
        for (const CostTerm &t : cost.time)
          j.attribute(t.first, t.second);
      });
    });
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

void printPlan(raw_ostream &os, const format::Plan &plan, const PlanInputs &in, const Cost &cost,
               uint64_t usable, uint64_t fileBytes, StringRef path, bool json) {
  if (json)
    return printJson(os, plan, in, cost, usable, fileBytes, path);
  const Strategy &s = *in.strategy;
  os << plan.modelName << "  " << withCommas(plan.parameters) << " parameters · " << withCommas(plan.ranks())
     << " " << in.cluster.device.name << " · sequence " << withCommas(plan.sequence) << " · batch "
     << withCommas(plan.globalBatch) << " (" << withCommas(uint64_t(plan.globalBatch) * plan.sequence)
     << " tokens) · " << (plan.dtype == format::DType::F64 ? "f64" : "f32") << "\n";
  os << "strategy  " << meshLine(s);
  if (s.pipeline > 1)
    os << " · " << name(s.schedule);
  os << " · " << withCommas(plan.microBatches) << " micro-batch" << (plan.microBatches == 1 ? "" : "es")
     << " of " << s.microBatch;
  if (in.choices > 0)
    os << (in.meshGiven ? " · micro-batch chosen from " : " · chosen from ") << withCommas(in.choices);
  os << "\n";
  os << "step      " << secondsText(cost.seconds)
     << " predicted (closed form, uncalibrated: no measurement of this device)\n";
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
