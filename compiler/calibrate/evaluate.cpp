#include "compiler/calibrate/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hocket::calibrate {

namespace {

uint64_t hash(std::string_view text, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ (seed * 0x9E3779B97F4A7C15ull);
  for (unsigned char c : text)
    h = (h ^ c) * 1099511628211ull;
  h ^= h >> 32, h *= 0xD6E8FEB86659FD93ull, h ^= h >> 32;
  return h;
}

/// Ranks with ties at their mean.
std::vector<double> ranks(const std::vector<double> &v) {
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return v[a] != v[b] ? v[a] < v[b] : a < b; });
  std::vector<double> out(v.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && v[order[end]] == v[order[i]])
      ++end;
    for (size_t k = i; k < end; ++k)
      out[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return out;
}

/// What makes two rows the same plan.
std::string planOf(const Published &r) {
  std::string out;
  for (int64_t v : {r.model.layers, r.model.heads, r.tactics.tensor, r.tactics.context, r.tactics.pipeline,
                    r.tactics.data, r.tactics.chunks, r.tactics.microBatch, r.tactics.expert,
                    int64_t(r.tactics.zero), int64_t(r.tactics.recompute), r.model.hidden})
    out += std::to_string(v) + "|";
  return out;
}

} // namespace

bool outlier(const Published &r) {
  return r.family == "bloom" && r.name == "BLOOM-search-182B" && r.tactics.tensor == 4 &&
         r.tactics.pipeline == 12 && r.tactics.microBatch == 1 && r.model.heads == 64;
}

Families measured(const std::vector<Published> &rows) {
  Families out;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].unmapped.empty() && rows[i].seconds > 0 && !rows[i].fineTuning)
      out[rows[i].family].push_back(i);
  return out;
}

std::vector<size_t> shuffled(const std::vector<Published> &rows, const std::vector<size_t> &family,
                             uint64_t seed) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i : family)
    order.push_back({hash(rows[i].family + ":" + std::to_string(rows[i].line), seed), i});
  std::sort(order.begin(), order.end());
  std::vector<size_t> out;
  for (const auto &[key, i] : order)
    out.push_back(i);
  return out;
}

std::vector<size_t> drawn(const std::vector<Published> &rows, const std::vector<size_t> &family,
                          uint64_t seed) {
  std::vector<size_t> out = shuffled(rows, family, seed);
  out.resize(std::min(out.size(), std::max<size_t>(3, (out.size() + 9) / 10)));
  return out;
}

void Errors::add(double predicted, double measured, double halfWidth) {
  ratios.push_back(predicted / measured);
  inside += std::abs(std::log(predicted / measured)) <= halfWidth;
}

Summary Errors::summary() const {
  Summary s;
  if (ratios.empty())
    return s;
  std::vector<double> errors;
  double n = static_cast<double>(ratios.size());
  for (double r : ratios)
    errors.push_back(std::abs(r - 1) * 100), s.bias += (r - 1) * 100 / n;
  std::sort(errors.begin(), errors.end());
  s.rows = n, s.mape = std::accumulate(errors.begin(), errors.end(), 0.0) / n;
  size_t half = errors.size() / 2;
  s.median = errors.size() % 2 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  s.p90 = errors[static_cast<size_t>(std::ceil(0.9 * n)) - 1];
  s.inside = 100 * static_cast<double>(inside) / n;
  return s;
}

InSource inSource(const std::vector<Published> &rows, uint64_t seed) {
  InSource out;
  Families families = measured(rows);
  std::vector<size_t> chosen;
  out.used.resize(rows.size());
  for (const auto &[name, members] : families)
    for (size_t i : drawn(rows, members, seed))
      chosen.push_back(i), out.used[i] = true;
  out.records = fit(rows, chosen);
  for (const auto &[name, members] : families) {
    Errors e;
    for (size_t i : members)
      if (!out.used[i])
        e.add(predict(out.records, rows[i]), rows[i].seconds, halfWidth(out.records, rows[i], true));
    out.errors[name] = e.summary();
  }
  return out;
}

Records fitWithout(const std::vector<Published> &rows, const std::vector<bool> &without) {
  std::vector<size_t> chosen;
  for (const auto &[name, members] : measured(rows)) {
    size_t taken = 0;
    for (size_t i : shuffled(rows, members, 0))
      if (!without[i] && taken < kRowsPerFamily)
        chosen.push_back(i), ++taken;
  }
  return fit(rows, chosen);
}

double spearman(const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> x = ranks(a), y = ranks(b);
  double mean = (static_cast<double>(a.size()) - 1) / 2, xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean), yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

std::vector<Ranking> rankings(const std::vector<Published> &rows, const std::vector<size_t> &family,
                              const Records &records, double &pooled) {
  struct Plan {
    double predicted = 0, measured = 0, count = 0;
  };
  std::map<std::string, std::map<std::string, Plan>> groups;
  for (size_t i : family) {
    if (outlier(rows[i]))
      continue;
    Plan &plan = groups[rows[i].group][planOf(rows[i])];
    plan.predicted += predict(records, rows[i]), plan.measured += rows[i].seconds, plan.count += 1;
  }
  std::vector<Ranking> out;
  std::vector<double> allPredicted, allMeasured;
  for (const auto &[name, plans] : groups) {
    if (plans.size() < 5)
      continue;
    Ranking r{name, plans.size()};
    std::vector<double> p, m;
    for (const auto &[key, plan] : plans)
      p.push_back(plan.predicted / plan.count), m.push_back(plan.measured / plan.count);
    double n = static_cast<double>(p.size());
    double fastest = *std::min_element(m.begin(), m.end());
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return p[a] != p[b] ? p[a] < p[b] : a < b; });
    r.first = m[order[0]] / fastest;
    r.bestOfThree = std::min({m[order[0]], m[order[1]], m[order[2]]}) / fastest;
    r.correlation = spearman(p, m);
    double meanP = std::accumulate(p.begin(), p.end(), 0.0) / n,
           meanM = std::accumulate(m.begin(), m.end(), 0.0) / n;
    for (size_t i = 0; i < p.size(); ++i)
      allPredicted.push_back(p[i] / meanP), allMeasured.push_back(m[i] / meanM);
    out.push_back(r);
  }
  pooled = spearman(allPredicted, allMeasured);
  return out;
}

} // namespace hocket::calibrate
