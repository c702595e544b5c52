#include "compiler/calibrate/memory_tables.h"

#include <cinttypes>
#include <cstdio>

namespace hocket::calibrate {

using namespace cost;

namespace {

constexpr double kGiB = 0x1p30;

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::vector<size_t> allWithPeak(const std::vector<Published> &rows) {
  std::vector<size_t> out;
  for (const auto &[name, members] : withPeak(rows))
    out.insert(out.end(), members.begin(), members.end());
  return out;
}

const char *word(cost::Fit fit) {
  return fit == Fit::Fits ? "fits" : fit == Fit::AtLimit ? "at the limit" : "too large";
}

} // namespace

void printMemory(const std::vector<Published> &rows, int draws) {
  std::map<std::string, MemorySummary> mean;
  std::map<std::string, Verdicts> sum;
  double n = draws;
  for (int seed = 0; seed < draws; ++seed) {
    MemoryInSource run = memoryInSource(rows, static_cast<uint64_t>(seed));
    for (const auto &[name, s] : run.errors) {
      MemorySummary &m = mean[name];
      m.errors.rows += s.errors.rows / n, m.errors.mape += s.errors.mape / n;
      m.errors.median += s.errors.median / n, m.errors.p90 += s.errors.p90 / n;
      m.errors.bias += s.errors.bias / n, m.errors.inside += s.errors.inside / n;
      m.asymmetric += s.asymmetric / n, m.near += s.near / n;
    }
    for (const auto &[name, v] : verdicts(rows, run.records)) {
      Verdicts &to = sum[name];
      to.ran += v.ran, to.falseAlarms += v.falseAlarms, to.ranAtLimit += v.ranAtLimit,
          to.ranOver += v.ranOver;
      to.outOfMemory += v.outOfMemory, to.found += v.found, to.foundAtLimit += v.foundAtLimit;
    }
  }
  std::printf(
      "\nPeak memory: two constants a stack from a tenth of each source's rows that state a peak, at least "
      "three,\nmean over draws 0 to %d; shares of the other rows in percent\n%-44s %5s  %6s  %6s  %6s  "
      "%6s  %5s  %7s  %5s\n",
      draws - 1, "", "rows", "MAPE", "median", "P90", "bias", "in90", "-5..+12", "+-15");
  for (const auto &[name, s] : mean)
    std::printf("%-44s %5.0f  %6.2f  %6.2f  %6.2f  %+6.2f  %5.1f  %7.1f  %5.1f\n", name.c_str(),
                s.errors.rows, s.errors.mape, s.errors.median, s.errors.p90, s.errors.bias, s.errors.inside,
                s.asymmetric, s.near);
  std::printf(
      "\nVerdicts with the constants of those draws: too large above %.0f %% of the device's memory, at the "
      "limit\nfrom %.0f %%; in percent of the rows that ran, and of those that ran out of memory\n"
      "%-30s %5s  %12s  %12s  %12s  %6s  %9s  %12s\n",
      100 * kLimitTo, 100 * kLimitFrom, "", "ran", "false alarms", "at the limit", "(above 100)", "no run",
      "too large", "at the limit");
  for (const auto &[name, v] : sum) {
    double ran = static_cast<double>(v.ran), out = static_cast<double>(v.outOfMemory);
    std::printf("%-30s %5.0f  %12.1f  %12.1f  %12.1f  %6.0f", name.c_str(), ran / n,
                percent(static_cast<double>(v.falseAlarms), ran),
                percent(static_cast<double>(v.ranAtLimit), ran), percent(static_cast<double>(v.ranOver), ran),
                out / n);
    if (v.outOfMemory)
      std::printf("  %9.1f  %12.1f", percent(static_cast<double>(v.found), out),
                  percent(static_cast<double>(v.foundAtLimit), out));
    std::printf("\n");
  }
}

void listMemory(const std::vector<Published> &rows, const std::string &family) {
  MemoryRecords records = fitMemory(rows, allWithPeak(rows));
  std::printf(
      "line model | shape and plan | predicted / stated GiB = ratio | share of the device: verdict | terms "
      "in GiB\n");
  for (const Published &r : rows) {
    if (r.family != family || !r.unmapped.empty() || r.fineTuning || !(r.peakBytes > 0 || r.outOfMemory))
      continue;
    const Tactics &x = r.tactics;
    MemoryVerdict v = predictMemory(records, r);
    const StageMemory &m = v.memory;
    std::printf("%5zu %-20s | L%" PRId64 " h%" PRId64 " a%" PRId64 " B%" PRId64 " s%" PRId64 " %s x %" PRId64
                " b%" PRId64 " t%" PRId64 " c%" PRId64 " p%" PRId64 " d%" PRId64 " | %.1f / ",
                r.line, r.name.c_str(), r.model.layers, r.model.hidden, r.model.heads, r.work.globalBatch,
                r.work.sequence, r.machine.device.name.c_str(), r.machine.devices, x.microBatch, x.tensor,
                x.context, x.pipeline, x.data, m.total() / kGiB);
    if (r.outOfMemory)
      std::printf("none: out of memory");
    else
      std::printf("%.1f = %.3f", r.peakBytes / kGiB, m.total() / r.peakBytes);
    std::printf(" | %.2f: %s | stage %" PRId64
                " parameters %.2f gradients %.2f optimizer %.2f activations %.2f "
                "working %.2f logits %.2f gathered %.2f reserve %.2f\n",
                m.total() / r.machine.device.memory, word(verdictOf(records, r)), v.device,
                m.parameters / kGiB, m.gradients / kGiB, m.optimizer / kGiB, m.activations / kGiB,
                m.working / kGiB, m.logits / kGiB, m.gathered / kGiB, m.reserve / kGiB);
  }
}

void printMemoryConstants(const std::vector<Published> &rows) {
  MemoryRecords records = fitMemory(rows, allWithPeak(rows));
  std::map<std::string, std::map<std::string, size_t>> from; // stack -> family -> rows
  for (size_t i : allWithPeak(rows))
    from[rows[i].memoryStack][rows[i].family] += 1;
  std::printf("\n# Memory of stacks in bytes: optimizer_scratch, accumulation_copy, logit_bytes and "
              "stage_tensors are "
              "counted in\n# the stack's source, reserve and activation_factor are fitted.\n");
  for (const auto &[name, families] : from) {
    const MemoryConstants &c = records.stack.at(name);
    std::printf("\n[memory.%s]\nreserve = %.4g\nactivation_factor = %.4g\noptimizer_scratch = %g\n"
                "accumulation_copy = %g\nlogit_bytes = %g\nstage_tensors = %g\n",
                name.c_str(), c.reserve, c.activationFactor, c.optimizerScratch, c.accumulationCopy,
                c.logitBytes, c.stageTensors);
    std::string sources;
    for (const auto &[family, count] : families)
      sources += (sources.empty() ? "" : ", ") + family + " (" + std::to_string(count) + " rows)";
    std::printf("source = \"fitted on the stated peaks of %s\"\n", sources.c_str());
  }
}

} // namespace hocket::calibrate
