#include "compiler/search/choose.h"

using namespace hocket;

double hocket::usableBytes(const Cluster &cluster, const Job &job) {
  return static_cast<double>(cluster.device.memory) * (1 - job.headroom);
}

namespace {

class Chooser {
public:
  Chooser(const ModelConfig &model, const Cluster &cluster, const Job &job)
      : model(model), cluster(cluster), job(job) {}

  /// All micro-batches of one mesh, largest first.
  void consider(Strategy strategy) {
    std::vector<int64_t> sizes = {strategy.microBatch};
    if (strategy.microBatch == 0) {
      if (strategy.data < 1 || job.globalBatch % strategy.data != 0)
        return;
      sizes = divisors(job.globalBatch / strategy.data);
    }
    for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) {
      strategy.microBatch = *it;
      one(strategy);
    }
  }

  Choice choice;

private:
  void one(const Strategy &strategy) {
    Diagnostics quiet;
    if (!checkLegal(model, cluster, job, strategy, quiet))
      return;
    ++choice.legal;
    Cost cost = predictStep(model, cluster, job, strategy);
    if (cost.bytes <= usableBytes(cluster, job)) {
      if (!choice.best || cost.seconds < choice.cost.seconds) {
        choice.best = strategy;
        choice.cost = cost;
      }
    } else if (!choice.best && (!choice.closest || cost.bytes < choice.cost.bytes)) {
      choice.closest = strategy;
      choice.cost = cost;
    }
  }

  const ModelConfig &model;
  const Cluster &cluster;
  const Job &job;
};

Choice finish(Choice choice) {
  if (choice.best)
    choice.closest.reset();
  return choice;
}

} // namespace

Choice hocket::chooseStrategy(const ModelConfig &model, const Cluster &cluster, const Job &job,
                              int64_t microBatch) {
  Chooser chooser(model, cluster, job);
  int64_t ranks = cluster.ranks();
  for (int64_t tensor : divisors(ranks))
    for (int64_t pipeline : divisors(ranks / tensor)) {
      Strategy strategy;
      strategy.tensor = tensor;
      strategy.pipeline = pipeline;
      strategy.data = ranks / tensor / pipeline;
      strategy.dataGiven = true;
      strategy.microBatch = microBatch;
      chooser.consider(strategy);
    }
  return finish(chooser.choice);
}

Choice hocket::chooseMicroBatch(const ModelConfig &model, const Cluster &cluster, const Job &job,
                                const Strategy &mesh) {
  Chooser chooser(model, cluster, job);
  chooser.consider(mesh);
  return finish(chooser.choice);
}
