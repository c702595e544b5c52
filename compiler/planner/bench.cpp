//===- bench.cpp - How long a search takes ----------------------------------===//
//
// search_bench LIBRARY_DIR: published sizes, one job from 64 to 16,384 devices,
// and how many strategies a second are evaluated when none is left out.
//
//===----------------------------------------------------------------------===//
#include "compiler/cost/constants_of.h"
#include "compiler/cost/machine_of.h"
#include "compiler/planner/mixed.h"
#include "compiler/planner/plan.h"

#include <chrono>
#include <cinttypes>
#include <cstdio>

using namespace hocket;
using namespace hocket::cost;

namespace {

ModelShape llama(const char *name, int64_t layers, int64_t hidden, int64_t heads, int64_t ffn) {
  ModelShape m;
  m.name = name, m.layers = layers, m.hidden = hidden, m.heads = heads, m.kvHeads = 8, m.headDim = 128;
  m.ffn = ffn, m.vocab = 128256, m.gated = true;
  return m;
}
ModelShape gpt(const char *name, int64_t layers, int64_t hidden, int64_t heads) {
  ModelShape m;
  m.name = name, m.layers = layers, m.hidden = hidden, m.heads = m.kvHeads = heads;
  m.headDim = hidden / heads, m.ffn = 4 * hidden, m.vocab = 51200, m.biased = m.tied = true;
  m.learnedPositions = 2048;
  return m;
}
ModelShape deepSeekV3() {
  ModelShape m;
  m.name = "DeepSeek-V3", m.layers = 61, m.hidden = 7168, m.heads = m.kvHeads = 128, m.headDim = 128;
  m.ffn = 18432, m.vocab = 129280, m.gated = true, m.predictedTokens = 1;
  m.experts = {256, 8, 2048, 1, 3};
  m.latent = {1536, 512, 128, 64, 128};
  return m;
}

struct Case {
  const char *what;
  ModelShape model;
  const char *cluster;
  Workload work;
  double most; ///< seconds
};

double since(std::chrono::steady_clock::time_point before) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

std::optional<planner::Question> question(const Case &c, const ConstantsLibrary &library,
                                          const std::string &libraryDir) {
  Diagnostics diags;
  // The library of devices lies beside the folder of clusters.
  std::optional<Cluster> cluster = openCluster(c.cluster, libraryDir + "/../clusters", diags);
  std::optional<ChosenConstants> chosen;
  if (cluster)
    chosen = chooseConstants(library, cluster->device, c.model.experts.count > 0, "", "", {}, diags);
  if (!chosen) {
    std::fprintf(stderr, "%s", diags.str().c_str());
    return std::nullopt;
  }
  planner::Question q;
  q.facts.machine = machineOf(*cluster);
  q.facts.constants = chosen->constants, q.facts.memory = chosen->memory;
  q.facts.problem = {c.model, c.work, q.facts.machine.devices, q.facts.machine.devicesPerHost};
  q.space = planner::Space::whole(Precision::F16);
  return q;
}

void show(const planner::Priced &s) {
  const Tactics &t = s.tactics;
  std::printf("    %.3f s, %.1f GiB: pipeline %" PRId64 ", data %" PRId64 ", context %" PRId64
              ", tensor %" PRId64 ", expert %" PRId64 ", micro_batch %" PRId64,
              s.time.total, s.memory.memory.total() / 0x1p30, t.pipeline, t.data, t.context, t.tensor,
              t.expert, t.microBatch);
  for (const char *name : {"order", "schedule", "chunks", "zero", "shard_group", "sequence_parallel",
                           "context_kind", "recompute", "recompute_layers", "offload"}) {
    const planner::Dimension *d = planner::dimension(name);
    if (speaks(*d, t) && d->get(t) != d->get(Tactics()))
      std::printf(", %s %s", name, d->text(d->get(t)).c_str());
  }
  std::printf("\n");
}

bool run(const Case &c, const ConstantsLibrary &library, const std::string &libraryDir) {
  std::optional<planner::Question> q = question(c, library, libraryDir);
  if (!q)
    return false;
  auto before = std::chrono::steady_clock::now();
  planner::Plan p = planner::plan(*q);
  double seconds = since(before);
  const planner::Certificate &proof = p.certificate;
  std::printf("%-31s %7.3f s", c.what, seconds);
  if (c.most > 0)
    std::printf(" (at most %.1f: %s)", c.most, seconds <= c.most ? "met" : "MISSED");
  std::printf("  %6" PRId64 " meshes, %7" PRId64 " bounded, %7" PRId64 " evaluated, checksum %016" PRIx64
              "\n",
              proof.meshes, proof.bounded, proof.evaluated, proof.checksum);
  if (c.most > 0 && p.best)
    show(*p.best);
  return p.best.has_value();
}

/// Nothing is left out, until enough are evaluated.
bool rate(const Case &c, const ConstantsLibrary &library, const std::string &libraryDir, int64_t enough) {
  std::optional<planner::Question> q = question(c, library, libraryDir);
  if (!q)
    return false;
  auto before = std::chrono::steady_clock::now();
  planner::StepEvaluator evaluator(q->facts, q->space);
  int64_t evaluated = 0;
  double sum = 0;
  for (const Tactics &mesh : planner::meshes(q->facts.problem, q->space)) {
    std::unique_ptr<planner::MeshCost> costs = evaluator.open(mesh);
    completions(
        q->facts.problem, q->space, mesh,
        [&](const Tactics &t) {
          planner::Evaluation e = costs->evaluate(t);
          ++evaluated, sum += e.seconds + e.bytes;
          return evaluated < enough;
        },
        [&](const Tactics &first) {
          costs->enter(first, 1e300);
          return true;
        });
    if (evaluated >= enough)
      break;
  }
  double seconds = since(before);
  std::printf("%-31s %9" PRId64 " evaluated, %6.2f million a second and core, sum %.17g\n", c.what, evaluated,
              double(evaluated) / seconds / 1e6, sum);
  return true;
}

/// One pipeline over pools of unlike devices.
bool mixed(const char *what, const ModelShape &model, const Workload &work,
           std::initializer_list<const char *> pools, const ConstantsLibrary &library,
           const std::string &libraryDir, double most) {
  planner::MixedProblem p;
  p.model = model, p.work = work;
  for (const char *pool : pools) {
    std::optional<planner::Question> q = question({"", model, pool, work, 0}, library, libraryDir);
    if (!q)
      return false;
    p.pools.push_back({q->facts.machine, q->facts.constants, q->facts.memory});
  }
  auto before = std::chrono::steady_clock::now();
  planner::MixedAnswer a = planner::searchMixed(p, {});
  double seconds = since(before);
  std::printf("%-31s %7.3f s (at most %.1f: %s)  %6" PRId64 " nodes, %7" PRId64 " bounded, %7" PRId64
              " cuts, checksum %016" PRIx64 "\n",
              what, seconds, most, seconds <= most ? "met" : "MISSED", a.certificate.meshes,
              a.certificate.bounded, a.certificate.evaluated, a.certificate.checksum);
  if (!a.best)
    return false;
  std::printf("    %.3f s:", a.best->seconds);
  for (const planner::Segment &s : a.best->segments) {
    std::printf(" %s, pipeline %" PRId64 ", data %" PRId64 ", tensor %" PRId64 ", micro_batch %" PRId64
                ", layers",
                p.pools[s.pool].machine.device.name.c_str(), s.tactics.pipeline, s.tactics.data,
                s.tactics.tensor, s.tactics.microBatch);
    for (int64_t n : s.layers)
      std::printf(" %" PRId64, n);
    std::printf(", %.1f GiB;", s.bytes / 0x1p30);
  }
  std::printf("\n");
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: search_bench LIBRARY_DIR\n");
    return 2;
  }
  Diagnostics diags;
  std::optional<ConstantsLibrary> library = readConstants(argv[1], diags);
  if (!library) {
    std::fprintf(stderr, "%s", diags.str().c_str());
    return 2;
  }
  const Case cases[] = {
      {"Llama-3.1-405B on 16,384 H100",
       llama("Llama-3.1-405B", 126, 16384, 128, 53248),
       "dgx-h100:2048",
       {8192, 2048, true},
       1},
      {"DeepSeek-V3 on 2,048 H800", deepSeekV3(), "hgx-h800:256", {4096, 15360, true}, 1},
      {"GPT-3 175B on 1,024 A100", gpt("GPT-3", 96, 12288, 96), "dgx-a100:128", {2048, 1536, true}, 0.3},
      {"96 layers on 1,024 A100", gpt("GPT-96", 96, 8192, 64), "dgx-a100:128", {2048, 1024, true}, 0.5},
      {"32 layers on 2,048 A100", gpt("GPT-32", 32, 8192, 64), "dgx-a100:256", {2048, 2048, true}, 0.5},
      {"Llama-3-8B on 64 H100",
       llama("Llama-3-8B", 32, 4096, 32, 14336),
       "dgx-h100:8",
       {8192, 256, true},
       0.1},
  };
  bool ok = true;
  std::printf("Searches on one core, with proof\n");
  for (const Case &c : cases)
    ok &= run(c, *library, argv[1]);
  ok &= mixed("96 layers on 256 of three kinds", gpt("GPT-96", 96, 8192, 64), {2048, 512, true},
              {"dgx-a100:16", "dgx-h100:8", "l40s-host:8"}, *library, argv[1], 10);
  std::printf("\nEvaluations when none is left out, tables included\n");
  for (const Case &c : cases)
    ok &= rate(c, *library, argv[1], 3000000);
  std::printf("\nGrowth: Llama-3.1-70B, 8 sequences a device\n");
  for (int64_t hosts = 8; hosts <= 2048; hosts *= 2) {
    std::string cluster = "dgx-h100:" + std::to_string(hosts), what = std::to_string(8 * hosts) + " devices";
    ok &= run({what.c_str(),
               llama("Llama-3.1-70B", 80, 8192, 64, 28672),
               cluster.c_str(),
               {8192, 8 * hosts * 8, true},
               0},
              *library, argv[1]);
  }
  return ok ? 0 : 1;
}
