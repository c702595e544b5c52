//===- accuracy.cpp - How near predicted step times are to published ones ---===//
//
// accuracy CSV [--rows FAMILY]: replays every row that can be mapped and
// prints the tables of docs/cost-model.md.
//
//===----------------------------------------------------------------------===//
#include "compiler/calibrate/fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

using namespace hocket;
using namespace hocket::calibrate;

namespace {

constexpr int kDraws = 5;

uint64_t hash(std::string_view text, uint64_t seed) {
  uint64_t h = 14695981039346656037ull ^ (seed * 0x9E3779B97F4A7C15ull);
  for (unsigned char c : text)
    h = (h ^ c) * 1099511628211ull;
  h ^= h >> 32, h *= 0xD6E8FEB86659FD93ull, h ^= h >> 32;
  return h;
}

using Families = std::map<std::string, std::vector<size_t>>;

/// A tenth of a family's rows, at least three: those with the least hash of seed and line.
std::vector<size_t> drawn(const std::vector<Published> &rows, const std::vector<size_t> &family,
                          uint64_t seed) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i : family)
    order.push_back({hash(rows[i].family + ":" + std::to_string(rows[i].line), seed), i});
  std::sort(order.begin(), order.end());
  size_t take = std::min(order.size(), std::max<size_t>(3, (order.size() + 9) / 10));
  std::vector<size_t> out;
  for (size_t k = 0; k < take; ++k)
    out.push_back(order[k].second);
  return out;
}

struct Errors {
  std::vector<double> ratios; ///< predicted over measured
  size_t inside = 0;
  void add(double predicted, double measured, double half) {
    ratios.push_back(predicted / measured);
    inside += std::abs(std::log(predicted / measured)) <= half;
  }
};

struct Summary {
  double rows = 0, mape = 0, median = 0, p90 = 0, bias = 0, inside = 0;
};

Summary summarize(const Errors &e) {
  Summary s;
  if (e.ratios.empty())
    return s;
  std::vector<double> errors;
  for (double r : e.ratios)
    errors.push_back(std::abs(r - 1) * 100), s.bias += (r - 1) * 100;
  std::sort(errors.begin(), errors.end());
  double n = static_cast<double>(errors.size());
  for (double x : errors)
    s.mape += x / n;
  s.rows = n, s.bias /= n, s.median = errors[errors.size() / 2];
  s.p90 = errors[std::min(errors.size() - 1, static_cast<size_t>(n * 0.9))];
  s.inside = 100 * static_cast<double>(e.inside) / n;
  return s;
}

void print(const std::string &name, const Summary &s) {
  std::printf("%-24s %5.0f  %6.2f  %6.2f  %6.2f  %+6.2f  %5.1f\n", name.c_str(), s.rows, s.mape, s.median,
              s.p90, s.bias, s.inside);
}
void heading(const char *what) {
  std::printf("\n%s\n%-24s %5s  %6s  %6s  %6s  %6s  %5s\n", what, "", "rows", "MAPE", "median", "P90", "bias",
              "in90");
}

} // namespace

int main(int argc, char **argv) {
  std::string show;
  std::string path;
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--rows" && i + 1 < argc)
      show = argv[++i];
    else
      path = argv[i];
  std::ifstream in(path);
  if (path.empty() || !in) {
    std::fprintf(stderr, "accuracy: usage: accuracy CSV [--rows FAMILY]\n");
    return 2;
  }
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Table table = readPublished(text);
  if (!table.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), table.error.c_str());
    return 2;
  }
  const std::vector<Published> &rows = table.rows;

  Families families;
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].unmapped.empty() && rows[i].seconds > 0 && !rows[i].fineTuning)
      families[rows[i].family].push_back(i);

  std::map<std::string, Summary> mean;
  Records last;
  for (int seed = 0; seed < kDraws; ++seed) {
    std::vector<size_t> chosen;
    std::set<size_t> used;
    for (const auto &[name, members] : families)
      for (size_t i : drawn(rows, members, static_cast<uint64_t>(seed)))
        chosen.push_back(i), used.insert(i);
    last = fit(rows, chosen);
    for (const auto &[name, members] : families) {
      Errors e;
      for (size_t i : members)
        if (!used.count(i))
          e.add(predict(last, rows[i]), rows[i].seconds, halfWidth(last, rows[i], true));
      Summary s = summarize(e), &m = mean[name];
      m.rows += s.rows / kDraws, m.mape += s.mape / kDraws, m.median += s.median / kDraws;
      m.p90 += s.p90 / kDraws, m.bias += s.bias / kDraws, m.inside += s.inside / kDraws;
    }
  }
  heading("In source: constants from a tenth of each source's rows, at least three; mean over five draws");
  for (const auto &[name, s] : mean)
    print(name, s);

  if (!show.empty()) {
    std::vector<size_t> everything;
    for (const auto &[name, members] : families)
      everything.insert(everything.end(), members.begin(), members.end());
    Records best = show == "last" ? last : fit(rows, everything);
    for (const auto &[name, members] : families) {
      Errors e;
      for (size_t i : members)
        e.add(predict(best, rows[i]), rows[i].seconds, 0.1);
      print("fitted on all: " + name, summarize(e));
    }
    for (const auto &[name, members] : families)
      if (name == show)
        for (size_t i : members) {
          const Published &r = rows[i];
          cost::StepTime t = stepTime(r.model, r.work, r.machine, best.of(r), r.tactics);
          std::printf("%5zu %-20s L%ld h%ld a%ld n%ld B%ld s%ld b%ld t%ld c%ld p%ld v%ld d%ld e%ld z%d r%d "
                      "q%d %s | %.3f / %.3f = %.3f | prod %.3f att %.3f mem %.3f host %.3f tp %.3f bub %.3f "
                      "pp %.3f grad %.3f opt %.3f\n",
                      r.line, r.name.c_str(), r.model.layers, r.model.hidden, r.model.heads,
                      r.machine.devices, r.work.globalBatch, r.work.sequence, r.tactics.microBatch,
                      r.tactics.tensor, r.tactics.context, r.tactics.pipeline, r.tactics.chunks,
                      r.tactics.data, r.tactics.expert, int(r.tactics.zero), int(r.tactics.recompute),
                      int(r.tactics.precision), r.machine.device.name.c_str(), t.total, r.seconds,
                      t.total / r.seconds, t.products, t.attention, t.traffic, t.host, t.tensor, t.bubble,
                      t.stages, t.gradients, t.optimizer);
        }
    for (auto &[n, d] : best.device)
      std::printf(
          "device %s f16 %.3f fp8 %.3f mx %.3f fp4 %.3f mem %.3f operands %.3f kernel %.2e wave %.3f\n",
          n.c_str(), d.f16, d.fp8, d.mxfp8, d.nvfp4, d.memory, d.operands, d.kernel, d.wave);
    for (auto &[n, a] : best.attention)
      std::printf("attention %s %.3f %.3f %.2f\n", n.c_str(), a.forward, a.backward, a.scoreBytes);
    for (auto &[n, s] : best.stack)
      std::printf("stack %s launch %.2e traffic %.2f tensor %.2f grad %.2f gather %.2f stage %.2f step %.4f "
                  "micro %.2e\n",
                  n.c_str(), s.launch, s.traffic, s.tensorExposed, s.gradientExposed, s.gatherExposed,
                  s.stageExposed, s.step, s.micro);
    for (auto &[n, c] : best.cluster)
      std::printf("cluster %s site %.3f inner %.3f %.2e outer %.3f %.2e transfer %.3f\n", n.c_str(), c.site,
                  c.inner, c.innerLatency, c.outer, c.outerLatency, c.transfer);
  }
  return 0;
}
