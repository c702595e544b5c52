//===- accuracy.cpp - How near predicted step times are to published ones ---===//
//
// accuracy CSV [--rows FAMILY | --memory-rows FAMILY | --constants]: replays every row that can be mapped and
// prints the tables that docs/cost-model.md explains.
//
//===----------------------------------------------------------------------===//
#include "compiler/calibrate/memory_tables.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

using namespace hocket;
using namespace hocket::calibrate;

namespace {

constexpr int kDraws = 5;

void print(const std::string &name, const Summary &s) {
  std::printf("%-44s %5.0f  %6.2f  %6.2f  %6.2f  %+6.2f  %5.1f\n", name.c_str(), s.rows, s.mape, s.median,
              s.p90, s.bias, s.inside);
}
void heading(const char *what) {
  std::printf("\n%s\n%-44s %5s  %6s  %6s  %6s  %6s  %5s\n", what, "", "rows", "MAPE", "median", "P90", "bias",
              "in90");
}

void mapping(const std::vector<Published> &rows) {
  struct Count {
    size_t timed = 0, mapped = 0, strict = 0;
  };
  std::map<std::string, Count> sources;
  std::map<std::string, size_t> defaults, reasons;
  Count all, most;
  size_t tuning = 0;
  for (const Published &r : rows) {
    for (const std::string &name : r.defaults)
      defaults[name] += 1;
    if (!r.unmapped.empty())
      reasons[r.source.substr(0, 40) + ": " + r.name + ": " + r.unmapped] += 1;
    tuning += r.fineTuning;
    if (r.seconds <= 0 || r.fineTuning)
      continue;
    for (Count *c : {&sources[r.source.substr(0, r.source.find('@'))], &all,
                     r.family == "vtrain-single" ? nullptr : &most})
      if (c)
        c->timed += 1, c->mapped += r.unmapped.empty(), c->strict += r.unmapped.empty() && r.defaults.empty();
  }
  std::printf(
      "Rows with a step time that can be mapped (strict: without any default); %zu fine-tuning rows apart\n",
      tuning);
  // One publisher's files count together.
  auto line = [](const std::string &name, const Count &c) {
    double n = static_cast<double>(c.timed ? c.timed : 1);
    std::printf("%-80s %5zu  %5zu  %5.1f %%  strict %5zu  %5.1f %%\n", name.substr(0, 80).c_str(), c.timed,
                c.mapped, 100 * static_cast<double>(c.mapped) / n, c.strict,
                100 * static_cast<double>(c.strict) / n);
  };
  for (const auto &[name, c] : sources)
    line(name, c);
  line("all", all);
  line("all but vTrain single-node", most);
  std::printf("\nDefaults for what rows do not state\n");
  for (const auto &[name, count] : defaults) {
    auto it = defaultsExplained().find(name);
    std::printf("%-22s %5zu rows: %s\n", name.c_str(), count,
                it == defaultsExplained().end() ? "" : it->second.c_str());
  }
  std::printf("\nRows that cannot be mapped\n");
  for (const auto &[why, count] : reasons)
    std::printf("%5zu  %s\n", count, why.c_str());
}

void leaveOut(const std::vector<Published> &rows, const Families &families) {
  heading("Each source left out whole: constants from the others (at most 60 rows each), intervals of +-30 % "
          "or more");
  for (const auto &[name, members] : families) {
    std::vector<bool> without(rows.size());
    for (size_t i : members)
      without[i] = true;
    Records records = fitWithout(rows, without);
    Errors e;
    for (size_t i : members)
      e.add(predict(records, rows[i]), rows[i].seconds, halfWidth(records, rows[i], false));
    print(name, e.summary());
  }
  heading("Each model left out (sources with more than one), constants from all other rows (at most 60 a "
          "source)");
  for (const auto &[name, members] : families) {
    std::set<std::string> models;
    for (size_t i : members)
      models.insert(rows[i].name);
    if (models.size() < 2)
      continue;
    Errors together;
    for (const std::string &model : models) {
      std::vector<bool> without(rows.size());
      for (size_t i : members)
        without[i] = rows[i].name == model;
      Records records = fitWithout(rows, without);
      Errors e;
      for (size_t i : members)
        if (without[i])
          for (Errors *to : {&e, &together})
            to->add(predict(records, rows[i]), rows[i].seconds, halfWidth(records, rows[i], true));
      print(name + " without " + model, e.summary());
    }
    print(name + ": mean of all", together.summary());
  }
}

void groupsOut(const std::vector<Published> &rows, const std::vector<size_t> &single) {
  // A fifth of the (hidden, tensor, micro-batch) groups at a time.
  Errors e;
  auto fold = [&](size_t i) {
    const Published &r = rows[i];
    return (static_cast<size_t>(r.model.hidden / 1024) * 7 + static_cast<size_t>(r.tactics.tensor) * 3 +
            static_cast<size_t>(r.tactics.microBatch)) %
           5;
  };
  for (size_t k = 0; k < 5; ++k) {
    std::vector<bool> without(rows.size());
    for (size_t i : single)
      without[i] = fold(i) == k;
    Records records = fitWithout(rows, without);
    for (size_t i : single)
      if (without[i])
        e.add(predict(records, rows[i]), rows[i].seconds, halfWidth(records, rows[i], true));
  }
  heading("vTrain single-node with whole (hidden, tensor, micro-batch) groups held out, a fifth at a time");
  print("vtrain-single", e.summary());
}

/// Means over the constants of all draws.
void ranks(const std::vector<Published> &rows, const Families &families, const std::vector<Records> &draws) {
  double n = static_cast<double>(draws.size());
  std::printf(
      "\nRank within (source, model, device, count, batch, precision), five or more plans; means over the "
      "draws\n");
  for (const char *name : {"bloom", "vtrain-multi", "vtrain-single"}) {
    auto it = families.find(name);
    if (it == families.end())
      continue;
    double pooled = 0, within = 0, mean = 0;
    std::vector<Ranking> sums;
    for (const Records &records : draws) {
      double together = 0;
      std::vector<Ranking> all = rankings(rows, it->second, records, together);
      double share = 1 / (n * static_cast<double>(all.empty() ? 1 : all.size()));
      pooled += together / n;
      sums.resize(all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        within += all[i].first <= 1.05 ? share : 0, mean += all[i].first * share;
        sums[i].group = all[i].group, sums[i].plans = all[i].plans, sums[i].first += all[i].first / n;
        sums[i].bestOfThree += all[i].bestOfThree / n, sums[i].correlation += all[i].correlation / n;
      }
    }
    if (it->first != "vtrain-single")
      for (const Ranking &r : sums)
        std::printf("%-86s %3zu plans  first %.3f  best of three %.3f  rank correlation %+.2f\n",
                    r.group.substr(r.group.find(' ') + 1).substr(0, 86).c_str(), r.plans, r.first,
                    r.bestOfThree, r.correlation);
    std::printf("%-24s %zu groups: first within 1.05 in %.0f %%, mean %.3f; pooled rank correlation %.3f\n",
                name, sums.size(), 100 * within, mean, pooled);
  }
  std::printf("\nMixture of experts: rank correlation of tokens/s per GPU, by GPU with 15 rows or more\n");
  auto it = families.find("bridge-moe");
  if (it == families.end())
    return;
  std::map<std::string, std::pair<size_t, double>> kinds;
  for (const Records &records : draws) {
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> values;
    for (size_t i : it->second) {
      double tokens = static_cast<double>(rows[i].work.globalBatch * rows[i].work.sequence) /
                      static_cast<double>(rows[i].machine.devices);
      auto &[p, m] = values[rows[i].machine.device.name];
      p.push_back(tokens / predict(records, rows[i])), m.push_back(tokens / rows[i].seconds);
    }
    for (const auto &[gpu, v] : values)
      kinds[gpu].first = v.first.size(), kinds[gpu].second += spearman(v.first, v.second) / n;
  }
  for (const auto &[gpu, v] : kinds)
    if (v.first >= 15)
      std::printf("%-24s %3zu rows  %.3f\n", gpu.c_str(), v.first, v.second);
}

void listRows(const std::vector<Published> &rows, const std::vector<size_t> &family, const Records &records) {
  std::printf("\nline model | shape and plan | predicted / measured = ratio | terms in seconds\n");
  for (size_t i : family) {
    const Published &r = rows[i];
    const cost::Tactics &x = r.tactics;
    cost::StepTime t = stepTime(r.model, r.work, r.machine, records.of(r), x);
    std::printf("%5zu %-20s | L%" PRId64 " h%" PRId64 " a%" PRId64 " B%" PRId64 " s%" PRId64 " %s x %" PRId64
                " b%" PRId64 " t%" PRId64 " c%" PRId64 " p%" PRId64 " v%" PRId64 " d%" PRId64 " e%" PRId64
                " | %.3f / %.3f = %.3f | products %.3f attention %.3f traffic %.3f host %.3f tensor %.3f "
                "bubble %.3f stages %.3f gradients %.3f optimizer %.3f\n",
                r.line, r.name.c_str(), r.model.layers, r.model.hidden, r.model.heads, r.work.globalBatch,
                r.work.sequence, r.machine.device.name.c_str(), r.machine.devices, x.microBatch, x.tensor,
                x.context, x.pipeline, x.chunks, x.data, x.expert, t.total, r.seconds, t.total / r.seconds,
                t.products, t.attention, t.traffic, t.host, t.tensor, t.bubble, t.stages, t.gradients,
                t.optimizer);
  }
}

/// As a TOML file: every record with what it was fitted on.
void printConstants(const std::vector<Published> &rows, const Families &families) {
  std::map<std::string, std::map<std::string, size_t>> from; // "device.a100" -> family -> rows
  for (const auto &[name, members] : families) {
    std::vector<size_t> order = shuffled(rows, members, 0);
    for (size_t k = 0; k < std::min(order.size(), kRowsPerFamily); ++k) {
      const Published &r = rows[order[k]];
      for (const std::string &record :
           {"device." + r.device, "attention." + r.attention, "stack." + r.stack, "cluster." + r.cluster})
        from[record][name] += 1;
    }
  }
  auto table = [&](const std::string &record, std::initializer_list<std::pair<const char *, double>> values) {
    auto it = from.find(record);
    if (it == from.end())
      return; // still the prior
    std::printf("\n[%s]\n", record.c_str());
    for (const auto &[key, value] : values)
      std::printf("%s = %.4g\n", key, value);
    std::string sources;
    for (const auto &[family, count] : it->second)
      sources += (sources.empty() ? "" : ", ") + family + " (" + std::to_string(count) + " rows)";
    std::printf("source = \"fitted on %s\"\n", sources.c_str());
  };
  Records r = fitWithout(rows, std::vector<bool>(rows.size()));
  std::printf(
      "# Constants of the time and memory of a step; docs/cost-model.md says what each one is. Written by\n"
      "# tools/bench/accuracy.sh --constants from test/data/published/measured_training.csv.\n"
      "# Fractions are of nominal rates, times are seconds. A value at its prior was not determined "
      "by these rows.\n"
      "format = 1\n");
  for (const auto &[n, d] : r.device)
    table("device." + n, {{"f16", d.f16},
                          {"fp8", d.fp8},
                          {"mxfp8", d.mxfp8},
                          {"nvfp4", d.nvfp4},
                          {"memory", d.memory},
                          {"operands", d.operands},
                          {"kernel", d.kernel},
                          {"misaligned", d.misaligned},
                          {"wave", d.wave}});
  for (const auto &[n, a] : r.attention)
    table("attention." + n, {{"forward", a.forward},
                             {"backward", a.backward},
                             {"misaligned", a.misaligned},
                             {"score_bytes", a.scoreBytes}});
  for (const auto &[n, s] : r.stack)
    table("stack." + n, {{"launch", s.launch},
                         {"traffic", s.traffic},
                         {"tensor_exposed", s.tensorExposed},
                         {"gradient_exposed", s.gradientExposed},
                         {"gather_exposed", s.gatherExposed},
                         {"stage_exposed", s.stageExposed},
                         {"step", s.step},
                         {"micro", s.micro}});
  for (const auto &[n, c] : r.cluster)
    table("cluster." + n, {{"site", c.site},
                           {"inner", c.inner},
                           {"inner_latency", c.innerLatency},
                           {"outer", c.outer},
                           {"outer_latency", c.outerLatency},
                           {"transfer", c.transfer}});
}

} // namespace

int main(int argc, char **argv) {
  std::string show, memoryOf, path;
  bool usage = false, constants = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg == "--rows" && i + 1 < argc)
      show = argv[++i];
    else if (arg == "--memory-rows" && i + 1 < argc)
      memoryOf = argv[++i];
    else if (arg == "--constants")
      constants = true;
    else if (arg.starts_with("-") || !path.empty())
      usage = true;
    else
      path = arg;
  }
  if (usage || path.empty()) {
    std::fprintf(stderr, "usage: accuracy CSV [--rows FAMILY | --memory-rows FAMILY | --constants]\n");
    return 2;
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    return 2;
  }
  Table table = readPublished(text);
  if (!table.error.empty()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), table.error.c_str());
    return 2;
  }
  const std::vector<Published> &rows = table.rows;
  Families families = measured(rows);
  if (constants) {
    printConstants(rows, families);
    printMemoryConstants(rows);
    return 0;
  }
  const std::string &family = show.empty() ? memoryOf : show;
  if (!family.empty() && !families.count(family)) {
    std::fprintf(stderr, "accuracy: there is no family '%s'; there are:", family.c_str());
    for (const auto &[name, members] : families)
      std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (!show.empty()) {
    Records all = fitWithout(rows, std::vector<bool>(rows.size()));
    listRows(rows, families[show], all);
    return 0;
  }
  if (!memoryOf.empty()) {
    listMemory(rows, memoryOf);
    return 0;
  }
  mapping(rows);

  std::map<std::string, Summary> mean;
  std::vector<Records> draws;
  for (int seed = 0; seed < kDraws; ++seed) {
    InSource run = inSource(rows, static_cast<uint64_t>(seed));
    draws.push_back(std::move(run.records));
    for (const auto &[name, s] : run.errors) {
      Summary &m = mean[name];
      m.rows += s.rows / kDraws, m.mape += s.mape / kDraws, m.median += s.median / kDraws;
      m.p90 += s.p90 / kDraws, m.bias += s.bias / kDraws, m.inside += s.inside / kDraws;
    }
  }
  heading("In source: constants from a tenth of each source's rows, at least three, mean over draws 0 to 4 "
          "of the\n"
          "hash (FNV-1a of \"family:line\", mixed with the draw's number)");
  for (const auto &[name, s] : mean)
    print(name, s);
  leaveOut(rows, families);
  if (families.count("vtrain-single"))
    groupsOut(rows, families["vtrain-single"]);
  ranks(rows, families, draws);
  printMemory(rows, kDraws);
  return 0;
}
