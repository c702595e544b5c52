#include "compiler/calibrate/memory_fit.h"
#include "compiler/calibrate/robust_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hocket::calibrate {

using namespace cost;

namespace {

/// A context and NCCL's buffers took 1.3 to 1.6 GB on A100s in BLOOM's logs.
constexpr double kReserve = 1.5 * 0x1p30;
/// DeepSpeed's reduce and all-gather buckets: 5e8 elements of 16 bits each.
constexpr double kBucket = 1e9;
/// A prediction aims this far above the measured peak (as a log ratio): a plan that was promised to fit and
/// does not costs more than one that was sent back.
constexpr double kMargin = 0.03;

/// Counted, not fitted: what the sources of a stack keep, and where.
struct StackRow {
  const char *stack;
  double optimizerScratch, accumulationCopy, logitBytes, stageTensors;
};
constexpr StackRow kStacks[] = {
    // DeepSpeed's ZeRO optimizer keeps the averaged gradients of its shard once flat in 16 bits and once in
    // f32
    // (2 + 4); its BF16 optimizer adds 16-bit gradients to f32 ones (2); its pipeline engine keeps a stage's
    // output until the backward pass.
    {"megatron-deepspeed", 6, 2, 8, 1},
    // Megatron-LM's optimizer for fp16 copies the gradients to f32 (20 bytes a parameter in all).
    {"megatron", 4, 0, 8, 0},
    // Logits in 16 bits, in f32, their log-softmax and its gradient (2 + 4 + 4 + 4).
    {"torchtitan", 0, 0, 14, 0},
};

std::vector<Varied> varied(MemoryRecords &records) {
  std::vector<Varied> out;
  auto vary = [&](double &value, double sigma) {
    if (value > 0)
      out.push_back({&value, std::log(value), sigma});
  };
  for (auto &[name, m] : records.stack)
    vary(m.reserve, 0.6), vary(m.activationFactor, 0.2);
  return out;
}

} // namespace

MemoryConstants MemoryRecords::of(const Published &row) const {
  MemoryConstants c;
  if (auto it = stack.find(row.memoryStack); it != stack.end())
    c = it->second;
  if (row.attention == "megatron" || row.attention == "vtrain-single")
    c.scoreBytes = 5;
  return c;
}

MemoryRecords memoryPriors(const std::vector<Published> &rows) {
  MemoryRecords out;
  for (const Published &r : rows) {
    if (!r.unmapped.empty())
      continue;
    auto [it, fresh] = out.stack.try_emplace(r.memoryStack);
    if (!fresh)
      continue;
    MemoryConstants &c = it->second;
    c.reserve = r.memoryStack == "megatron-deepspeed" ? kReserve + 2 * kBucket : kReserve;
    for (const StackRow &s : kStacks)
      if (r.memoryStack == s.stack) {
        c.optimizerScratch = s.optimizerScratch, c.accumulationCopy = s.accumulationCopy;
        c.logitBytes = s.logitBytes, c.stageTensors = s.stageTensors;
      }
  }
  return out;
}

MemoryRecords fitMemory(const std::vector<Published> &rows, const std::vector<size_t> &chosen) {
  MemoryRecords records = memoryPriors(rows);
  std::vector<double> weight(chosen.size(), 1);
  std::vector<double> r =
      robustFit(varied(records), weight, [&] {
        std::vector<double> out;
        for (size_t i : chosen)
          out.push_back(std::log(predictMemory(records, rows[i]).memory.total() / rows[i].peakBytes) -
                        kMargin);
        return out;
      }).residuals;
  // As in `fit`: pulled to 9 % as by six rows.
  std::map<std::string, std::array<double, 2>> sums;
  for (size_t i = 0; i < chosen.size(); ++i) {
    auto &[sum, count] = sums[rows[chosen[i]].family];
    sum += std::min(r[i] * r[i], 0.25), count += 1;
  }
  for (const auto &[family, s] : sums)
    records.spread[family] = std::sqrt((s[0] + 6 * 0.09 * 0.09) / (0.6 * s[1] + 6));
  return records;
}

MemoryVerdict predictMemory(const MemoryRecords &records, const Published &row) {
  return fullest(row.model, row.work, row.tactics, records.of(row));
}

double judgedBytes(const MemoryRecords &records, const Published &row) {
  Tactics tactics = row.tactics;
  if (!row.recomputeStated)
    tactics.recompute = Recompute::Full;
  return fullest(row.model, row.work, tactics, records.of(row)).memory.total();
}

cost::Fit verdictOf(const MemoryRecords &records, const Published &row) {
  return fitOf(judgedBytes(records, row), row.machine.device.memory);
}

Families withPeak(const std::vector<Published> &rows) {
  Families out;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].unmapped.empty() && rows[i].peakBytes > 0 && !rows[i].fineTuning)
      out[rows[i].family].push_back(i);
  return out;
}

MemorySummary memoryErrors(const std::vector<Published> &rows, const std::vector<size_t> &members,
                           const MemoryRecords &records) {
  MemorySummary out;
  Errors all;
  for (size_t i : members) {
    auto it = records.spread.find(rows[i].family);
    double half = it == records.spread.end() ? std::log(1.3) : 1.645 * it->second;
    double predicted = predictMemory(records, rows[i]).memory.total(), ratio = predicted / rows[i].peakBytes;
    all.add(predicted, rows[i].peakBytes, half);
    double share = 100 / static_cast<double>(members.size());
    out.asymmetric += ratio >= 0.95 && ratio <= 1.12 ? share : 0;
    out.near += std::abs(ratio - 1) <= 0.15 ? share : 0;
  }
  out.errors = all.summary();
  return out;
}

std::map<std::string, Verdicts> verdicts(const std::vector<Published> &rows, const MemoryRecords &records) {
  std::map<std::string, Verdicts> out;
  for (const Published &r : rows) {
    if (!r.unmapped.empty() || r.fineTuning || !(r.seconds > 0 || r.outOfMemory))
      continue;
    Verdicts &v = out[r.family];
    cost::Fit fit = verdictOf(records, r);
    if (r.outOfMemory) {
      v.outOfMemory += 1, v.found += fit == Fit::TooLarge, v.foundAtLimit += fit == Fit::AtLimit;
      continue;
    }
    v.ran += 1, v.falseAlarms += fit == Fit::TooLarge, v.ranAtLimit += fit == Fit::AtLimit;
    v.ranOver += judgedBytes(records, r) > r.machine.device.memory;
  }
  return out;
}

MemoryInSource memoryInSource(const std::vector<Published> &rows, uint64_t seed) {
  MemoryInSource out;
  std::vector<size_t> chosen;
  std::vector<bool> used(rows.size());
  Families families = withPeak(rows);
  for (const auto &[name, members] : families)
    for (size_t i : drawn(rows, members, seed))
      chosen.push_back(i), used[i] = true;
  out.records = fitMemory(rows, chosen);
  for (const auto &[name, members] : families) {
    std::vector<size_t> others;
    std::copy_if(members.begin(), members.end(), std::back_inserter(others),
                 [&](size_t i) { return !used[i]; });
    out.errors[name] = memoryErrors(rows, others, out.records);
  }
  return out;
}

} // namespace hocket::calibrate
