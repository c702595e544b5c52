#include "runtime/trace/trace.h"
#include "tools/hocket-run/say.h"
#include "tools/hocket-run/training.h"

#include <cmath>
#include <fmt/format.h>

namespace hocket::run {

std::string grouped(uint64_t n) {
  std::string digits = std::to_string(n);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

int refuse(const Options &o, int code, const std::vector<std::string> &messages, const std::string &help) {
  std::string list;
  for (const std::string &message : messages) {
    say("hocket-run: error: {}\n", message);
    list +=
        fmt::format("{}{{\"severity\":\"error\",\"message\":{},\"notes\":[]{}}}", list.empty() ? "" : ",",
                    trace::jsonString(message), help.empty() ? "" : ",\"help\":" + trace::jsonString(help));
  }
  if (!help.empty())
    say("hint: {}\n", help);
  if (o.json)
    out("{{\"format_version\":\"1.0\",\"error\":{{\"code\":{},\"messages\":[{}]}}}}\n", code, list);
  return code;
}

static std::string loss(double v) { return std::isfinite(v) ? fmt::format("{:.4f}", v) : "-"; }
static std::string number(double v) { return std::isfinite(v) ? fmt::format("{}", v) : "null"; }

static void printJson(const format::Plan &plan, const Result &r) {
  out("{{\"format_version\":\"1.0\",\"ranks\":{},\"steps\":{},\"validation_loss_before\":{},"
      "\"validation_loss_after\":{},\"train_loss\":{},\"step_seconds\":{},\"predicted_step_seconds\":{},"
      "\"tokens_per_s\":{},\"arena_bytes\":{},\"peak_resident_bytes\":{},\"resident_beside_bytes\":{},"
      "\"step_allocations\":{},\"library_allocations\":{}}}\n",
      plan.ranks(), r.steps, number(r.validationBefore), number(r.validationAfter), number(r.trainLoss),
      number(r.medianStep), number(plan.predictedStepSeconds), number(r.tokensPerSecond), r.arenaBytes,
      r.peakResident, r.residentBeside, r.counted ? std::to_string(r.ourAllocations) : "null",
      r.counted ? std::to_string(r.libraryAllocations) : "null");
}

void print(const format::Plan &plan, const Options &o, const Result &r) {
  if (o.json)
    return printJson(plan, r);
  if (r.steps)
    out("loss       {} -> {} on the validation tail · {} in the last training step ({} step{})\n",
        loss(r.validationBefore), loss(r.validationAfter), loss(r.trainLoss), r.steps,
        r.steps == 1 ? "" : "s");
  else
    out("loss       {} on the validation tail\n", loss(r.validationBefore));
  if (r.steps)
    out("speed      {} tokens/s · step {:.4g} s measured (median), {:.4g} s predicted\n",
        grouped(static_cast<uint64_t>(r.tokensPerSecond)), r.medianStep, plan.predictedStepSeconds);
  out("memory     arenas {} bytes on {} ranks · {:.1f} MiB resident beside arenas and data at the peak\n",
      grouped(r.arenaBytes), plan.ranks(), static_cast<double>(r.residentBeside) / (1 << 20));
  if (r.steps > 1 && r.counted)
    out("allocation {} by our code in steps after the first · {} inside oneDNN\n", r.ourAllocations,
        r.libraryAllocations);
  if (r.saved)
    out("saved      {}/model.safetensors\n", o.save);
}

} // namespace hocket::run
