#include "compiler/calibrate/fit.h"
#include "compiler/calibrate/robust_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace hocket::calibrate {

using namespace cost;

Constants Records::of(const Published &row) const {
  Constants c;
  if (auto it = device.find(row.device); it != device.end())
    c.device = it->second;
  if (auto it = attention.find(row.attention); it != attention.end())
    c.attention = it->second;
  if (auto it = stack.find(row.stack); it != stack.end())
    c.stack = it->second;
  if (auto it = cluster.find(row.cluster); it != cluster.end())
    c.cluster = it->second;
  return c;
}

Records priors(const std::vector<Published> &rows) {
  Records r;
  for (const Published &row : rows) {
    if (!row.unmapped.empty())
      continue;
    auto [device, unseen] = r.device.try_emplace(row.device);
    if (unseen)
      device->second.wave = 1; // idle units do nothing else
    if (unseen && row.device == "h100-500w")
      device->second.mxfp8 = 0.4; // scaled by rows, not a unit of its own there
    auto [it, fresh] = r.attention.try_emplace(row.attention);
    if (fresh && (row.attention == "megatron" || row.attention == "vtrain-single"))
      // Batched products around a softmax kernel; heads that are no multiple of 8 leave the matrix units, at
      // a quarter of the rate on an A100.
      it->second = {0.4, 0.35, 4, 13};
    auto [at, first] = r.stack.try_emplace(row.stack);
    if (first && (row.stack == "nemo" || row.stack.starts_with("megatron-bridge")))
      at->second.tensorExposed = 0.5, at->second.gradientExposed = 0.2;
    // Gradients are summed after the last backward pass, beside nothing; ZeRO's buckets go to their owners
    // one by one instead of being scattered.
    if (first && row.stack == "megatron")
      at->second.gradientExposed = 1;
    if (first && row.stack == "megatron-deepspeed")
      at->second.gradientExposed = 1.5;
    if (first && row.stack == "torchtitan-async")
      at->second.tensorExposed = 0.4;
    if (first && row.stack == "vtrain-single")
      at->second.launch = 35e-6;
    r.cluster.try_emplace(row.cluster);
  }
  return r;
}

namespace {

std::vector<Varied> parameters(Records &r) {
  std::vector<Varied> out;
  auto vary = [&](double &value, double sigma) {
    if (value > 0)
      out.push_back({&value, std::log(value), sigma});
  };
  for (auto &[name, d] : r.device) {
    for (double *v : {&d.f16, &d.fp8, &d.mxfp8, &d.nvfp4})
      vary(*v, 0.12);
    vary(d.memory, 0.08), vary(d.operands, 0.5), vary(d.kernel, 0.5), vary(d.wave, 0.7),
        vary(d.misaligned, 0.25);
  }
  for (auto &[name, a] : r.attention)
    vary(a.forward, 0.4), vary(a.backward, 0.4), vary(a.scoreBytes, 0.3), vary(a.misaligned, 0.4);
  for (auto &[name, s] : r.stack) {
    vary(s.launch, 0.5), vary(s.traffic, 0.3), vary(s.tensorExposed, 0.6);
    vary(s.gradientExposed, name.starts_with("megatron") && !name.starts_with("megatron-bridge") ? 0.3 : 0.6);
    vary(s.gatherExposed, 0.7), vary(s.stageExposed, 0.7), vary(s.step, 0.5), vary(s.micro, 1);
  }
  for (auto &[name, c] : r.cluster) {
    // Composed from profiles of layers, not a site's steps.
    vary(c.site, name == "vtrain-single" ? 0.25 : 0.12), vary(c.inner, 0.2), vary(c.innerLatency, 0.5),
        vary(c.outer, 0.4);
    vary(c.outerLatency, 0.5), vary(c.transfer, 0.4);
  }
  return out;
}

/// A source's rows weigh no more than this many together: repeated plans tell little.
constexpr double kSourceWeight = 30;
/// Identical plans with experts differ twofold between releases.
constexpr double kExpertWeight = 0.1;

/// What steps scatter by around a model that knows their constants, before any of a source's rows is seen.
double spreadBefore(const Published &row) {
  if (row.model.experts.count)
    return 0.35; // twofold between releases
  // A stack that runs one model eagerly, compiled and with asynchronous collectives under one name.
  if (row.stack.starts_with("torchtitan"))
    return 0.13;
  return 0.055;
}
/// That counts as this many rows.
constexpr double kSpreadRows = 4;
/// Constants follow the rows they were fitted on: a residual is this share of a degree of freedom.
constexpr double kFreedom = 0.5;

} // namespace

Records fit(const std::vector<Published> &rows, const std::vector<size_t> &chosen) {
  Records records = priors(rows);
  std::vector<Varied> all = parameters(records);
  std::map<std::string, double> count;
  for (size_t i : chosen)
    count[rows[i].family] += 1;
  std::vector<double> weight;
  for (size_t i : chosen)
    weight.push_back(
        std::min(rows[i].model.experts.count ? kExpertWeight : 1.0, kSourceWeight / count[rows[i].family]));
  Fitted fitted = robustFit(all, weight, [&] {
    std::vector<double> out;
    for (size_t i : chosen)
      out.push_back(std::log(predict(records, rows[i]) / rows[i].seconds));
    return out;
  });
  records.covariance = std::move(fitted.covariance);
  const std::vector<double> &r = fitted.residuals;
  std::map<std::string, std::array<double, 3>> sums;
  for (size_t i = 0; i < chosen.size(); ++i) {
    auto &[sum, count, before] = sums[rows[chosen[i]].family];
    sum += std::min(r[i] * r[i], 0.25), count += 1, before = spreadBefore(rows[chosen[i]]);
  }
  for (const auto &[family, s] : sums)
    records.spread[family] = std::sqrt((s[0] + kSpreadRows * s[2] * s[2]) / (kFreedom * s[1] + kSpreadRows));
  return records;
}

double predict(const Records &records, const Published &row) {
  return stepTime(row.model, row.work, row.machine, records.of(row), row.tactics).total;
}

/// Variance of the row's log time from the constants that rows and priors leave open.
static double openVariance(const Records &fitted, const Published &row) {
  Records r;
  r.device = fitted.device, r.attention = fitted.attention, r.stack = fitted.stack,
  r.cluster = fitted.cluster;
  std::vector<Varied> all = parameters(r);
  size_t n = all.size();
  if (fitted.covariance.size() != n * n)
    return 0;
  // Only the constants of the row's own records move its time.
  auto inside = [](const auto &records, const std::string &name, const double *value) {
    auto it = records.find(name);
    if (it == records.end())
      return false;
    auto *begin = reinterpret_cast<const double *>(&it->second);
    return !std::less<>()(value, begin) && std::less<>()(value, begin + sizeof(it->second) / sizeof(double));
  };
  constexpr double h = 1e-4;
  double before = std::log(predict(r, row));
  std::vector<std::pair<size_t, double>> gradient;
  for (size_t j = 0; j < n; ++j) {
    double *value = all[j].value, keep = *value;
    if (!inside(r.device, row.device, value) && !inside(r.attention, row.attention, value) &&
        !inside(r.stack, row.stack, value) && !inside(r.cluster, row.cluster, value))
      continue;
    *value = keep * std::exp(h);
    gradient.push_back({j, (std::log(predict(r, row)) - before) / h});
    *value = keep;
  }
  double sum = 0;
  for (const auto &[i, a] : gradient)
    for (const auto &[j, b] : gradient)
      sum += a * b * fitted.covariance[i * n + j];
  return sum;
}

double halfWidth(const Records &records, const Published &row, bool calibrated) {
  auto it = records.spread.find(row.family);
  double spread = it != records.spread.end() ? it->second : spreadBefore(row);
  double half = 1.645 * std::sqrt(spread * spread + openVariance(records, row));
  return calibrated ? half : std::max(half, std::log(1.3));
}

} // namespace hocket::calibrate
