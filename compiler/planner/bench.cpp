//===- bench.cpp - How long a search takes ----------------------------------===//
//
// search_bench LIBRARY_DIR CLUSTERS_DIR: the jobs of docs/planner.md, and one of
// them from 64 to 16,384 devices.
//
//===----------------------------------------------------------------------===//
#include "compiler/cost/constants_of.h"
#include "compiler/cost/machine_of.h"
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

bool run(const Case &c, const ConstantsLibrary &library, const std::string &clusters) {
  Diagnostics diags;
  std::optional<Cluster> cluster = openCluster(c.cluster, clusters, diags);
  std::optional<ChosenConstants> chosen;
  if (cluster)
    chosen = chooseConstants(library, cluster->device, c.model.experts.count > 0, "", "", {}, diags);
  if (!chosen) {
    std::fprintf(stderr, "%s", diags.str().c_str());
    return false;
  }
  planner::Question q;
  q.facts.machine = machineOf(*cluster);
  q.facts.constants = chosen->constants, q.facts.memory = chosen->memory;
  q.facts.problem = {c.model, c.work, q.facts.machine.devices, q.facts.machine.devicesPerHost};
  q.space = planner::Space::whole(Precision::F16);
  auto before = std::chrono::steady_clock::now();
  planner::Plan p = planner::plan(q);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  const planner::Certificate &proof = p.certificate;
  std::printf("%-38s %7.3f s %s  %9" PRId64 " meshes  %9" PRId64 " bounded  %10" PRId64
              " evaluated  %6.2f M/s  %016" PRIx64 "\n",
              c.what, seconds,
              c.most <= 0         ? "       "
              : seconds <= c.most ? "(met)  "
                                  : "(MISSED)",
              proof.meshes, proof.bounded, proof.evaluated, double(proof.evaluated) / seconds / 1e6,
              proof.checksum);
  auto show = [](const char *what, const planner::Priced &s) {
    const Tactics &t = s.tactics;
    std::printf("    %-10s %9.3f s %6.1f GiB  p %" PRId64 " d %" PRId64 " c %" PRId64 " t %" PRId64
                " e %" PRId64 "x%" PRId64 " micro %" PRId64,
                what, s.time.total, s.memory.memory.total() / 0x1p30, t.pipeline, t.data, t.context, t.tensor,
                t.expert, t.expertTensor, t.microBatch);
    for (const char *name : {"order", "schedule", "chunks", "zero", "shard_group", "sequence_parallel",
                             "context_kind", "recompute", "recompute_layers", "offload"}) {
      const planner::Dimension *d = planner::dimension(name);
      std::printf(" %s", d->text(d->get(t)).c_str());
    }
    std::printf("\n");
  };
  if (p.best)
    show("best", *p.best);
  for (const planner::Priced &s : p.others)
    show("next", s);
  if (p.nearest)
    show("does not fit", p.nearest->priced);
  return true;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: search_bench LIBRARY_DIR CLUSTERS_DIR\n");
    return 2;
  }
  Diagnostics diags;
  std::optional<ConstantsLibrary> library = readConstants(argv[1], diags);
  if (!library) {
    std::fprintf(stderr, "%s", diags.str().c_str());
    return 2;
  }
  ModelShape l405 = llama("Llama-3.1-405B", 126, 16384, 128, 53248);
  const Case cases[] = {
      {"Llama-3.1-405B on 16,384 H100", l405, "dgx-h100:2048", {8192, 2048, true}, 1},
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
  for (const Case &c : cases)
    ok &= run(c, *library, argv[2]);
  std::printf("\nGrowth: Llama-3.1-70B, 8 sequences a device\n");
  for (int64_t hosts = 8; hosts <= 2048; hosts *= 2) {
    std::string cluster = "dgx-h100:" + std::to_string(hosts), what = std::to_string(8 * hosts) + " devices";
    ok &= run({what.c_str(),
               llama("Llama-3.1-70B", 80, 8192, 64, 28672),
               cluster.c_str(),
               {8192, 8 * hosts * 8, true},
               0},
              *library, argv[2]);
  }
  return ok ? 0 : 2;
}
