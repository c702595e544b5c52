#include "compiler/planner/mixed.h"
#include "compiler/input/legal.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>

namespace hocket::planner {

using namespace cost;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// What a pool does with one choice of sizes, recompute and state, for micro-batches of one size.
struct Choice {
  size_t pool = 0;
  Tactics tactics;
  Piece one, embedding, head; ///< of a layer and the ends of the model
  double layer = 0;           ///< seconds of `one`
  double fixed = 0, each = 0; ///< seconds to exchange and update the state: of no layers, of each
  double launch = 0;          ///< host seconds a micro-batch
  LayerBytes bytes;
  double rate() const { return double(tactics.pipeline) / layer; }
};

class Mixed {
public:
  Mixed(const MixedProblem &problem) : p(problem) {
    for (const MixedPool &pool : p.pools)
      models.emplace_back(p.model, p.work, pool.machine, pool.constants);
  }

  Choice choice(size_t pool, const Tactics &t) const {
    Choice c;
    c.pool = pool, c.tactics = t;
    const StepModel &model = models[pool];
    LayerTime time = model.layer(t);
    c.one = model.passes(t, time), c.embedding = time.embedding, c.head = time.head;
    c.layer = c.one.seconds();
    c.launch = p.pools[pool].constants.stack.micro;
    c.bytes = layerBytes(p.model, p.work, t, p.pools[pool].memory);
    // State grows by the layer: read off models of one layer a stage, and of an equal part of all.
    double seconds[2];
    int64_t counts[2] = {1, std::max<int64_t>(2, p.model.layers / (t.pipeline * int64_t(p.pools.size())))};
    for (int i : {0, 1}) {
      ModelShape shape = p.model;
      shape.layers = counts[i] * t.pipeline, shape.experts.denseLayers = 0;
      StateTime s = StepModel(shape, p.work, p.pools[pool].machine, p.pools[pool].constants).state(t);
      seconds[i] = s.gradients + s.optimizer;
    }
    c.each = (seconds[1] - seconds[0]) / double(counts[1] - 1), c.fixed = seconds[0] - c.each;
    return c;
  }

  int64_t micros(const Choice &c) const {
    return p.work.globalBatch / (c.tactics.data * c.tactics.microBatch);
  }

  double passes(const Choice &c, int64_t layers, bool first, bool last) const {
    if (!first && !last)
      return double(layers) * c.layer + c.launch;
    Piece stage;
    stage.add(c.one, double(layers));
    if (first)
      stage.add(c.embedding, 1);
    if (last)
      stage.add(c.head, 1);
    return stage.seconds() + c.launch;
  }
  double after(const Choice &c, int64_t layers) const { return c.fixed + c.each * double(layers); }

  double bytes(const Choice &c, int64_t layers, int64_t stage, int64_t stages) const {
    Tactics t = c.tactics;
    t.pipeline = stages;
    Position at{stage, layers, p.model.experts.count ? 0 : layers, stage == stages - 1, {}};
    at.parameters = stageParameters(p.model, t, at);
    return stageMemory(p.model, p.work, t, p.pools[c.pool].memory, at, c.bytes).total();
  }
  double capacity(const Choice &c) const {
    double memory = p.pools[c.pool].machine.device.memory;
    return memory > 0 ? memory * (1 - p.headroom) : kNever;
  }
  /// Most layers that the stage can hold, at most `most`.
  int64_t room(const Choice &c, int64_t most, int64_t stage, int64_t stages) const {
    double one = bytes(c, 1, stage, stages), more = bytes(c, 2, stage, stages) - one, all = capacity(c);
    if (one > all)
      return 0;
    if (more <= 0)
      return most;
    int64_t n = std::clamp<int64_t>(1 + int64_t(std::min((all - one) / more, double(most))), 1, most);
    while (n > 1 && bytes(c, n, stage, stages) > all)
      --n;
    return n;
  }

  /// Both directions of all hops: filling the pipeline, and what shows of every further micro-batch.
  double transfers(std::span<const Choice *const> order) const {
    double sum = 0, most = 0, exposed = 0;
    auto hop = [&](double seconds) { sum += 2 * seconds, most = std::max(most, 2 * seconds); };
    for (size_t i = 0; i < order.size(); ++i) {
      const Choice &c = *order[i];
      const MixedPool &pool = p.pools[c.pool];
      Fabric fabric(pool.machine, pool.constants.cluster);
      exposed = std::max(exposed, pool.constants.stack.stageExposed);
      double part = double(c.tactics.microBatch * p.work.sequence * p.model.hidden) *
                    elementBytes(c.tactics.precision) /
                    double(c.tactics.sequenceParallel ? c.tactics.tensor : 1);
      for (int64_t k = 1; k < c.tactics.pipeline; ++k)
        hop(fabric.transfer(part, double(c.tactics.data * c.tactics.tensor)));
      if (i + 1 == order.size())
        continue;
      double whole = double(c.tactics.microBatch * c.tactics.data * p.work.sequence * p.model.hidden) *
                     elementBytes(c.tactics.precision);
      double rate = p.between > 0 ? p.between : kNever, latency = 0;
      for (const Choice *side : {order[i], order[i + 1]}) {
        const MixedPool &at = p.pools[side->pool];
        const ClusterConstants &k = at.constants.cluster;
        if (!at.machine.levels.empty())
          rate = std::min(rate, at.machine.levels.back().rate / at.machine.levels.back().oversubscription *
                                    k.transfer * double(side->tactics.data * side->tactics.tensor));
        latency = std::max(latency, k.outerLatency);
      }
      hop(whole / rate + latency);
    }
    return sum + double(micros(*order[0]) - 1) * exposed * most;
  }
  double site(std::span<const Choice *const> order) const {
    double site = 0;
    for (const Choice *c : order)
      site = std::max(site, p.pools[c->pool].constants.cluster.site);
    return site;
  }

  const MixedProblem &p;
  std::vector<StepModel> models;
};

/// A pool as a fluid: seconds of a layer, and layers a second of all its stages.
struct Fluid {
  double layer = kNever, rate = 0;
};

/// No step of `micros` micro-batches over these takes less.  At a pace of M seconds for m - 1 passes pool i
/// takes up to M rate / (m - 1) layers; the cheapest fill up first, so the step is convex and piecewise
/// linear in M, and least where the cheapest k pools are full.
double fluidBound(double layers, int64_t micros, std::span<const Fluid> pools) {
  std::array<Fluid, MixedProblem::kMostPools> sorted;
  size_t n = std::min(pools.size(), sorted.size());
  std::copy_n(pools.begin(), n, sorted.begin());
  std::sort(sorted.begin(), sorted.begin() + std::ptrdiff_t(n),
            [](const Fluid &a, const Fluid &b) { return a.layer < b.layer; });
  double rate = 0, stages = 0, best = kNever;
  for (size_t k = 0; k < n; ++k) {
    if (sorted[k].rate <= 0)
      continue;
    if (micros == 1)
      return layers * sorted[k].layer;
    rate += sorted[k].rate, stages += sorted[k].rate * sorted[k].layer;
    best = std::min(best, layers / rate * (double(micros - 1) + stages));
  }
  return best;
}

/// Stages that take the same time for the same layers.
struct Kind {
  const Choice *choice = nullptr;
  bool first = false, last = false;
  std::vector<int64_t> room; ///< of each of its stages
};

/// The best cut of one order of choices that takes less than `most`.
struct Cut {
  double seconds = kNever;
  std::vector<int64_t> layers; ///< by stage
};

Cut cut(const Mixed &mixed, std::span<const Choice *const> order, double most) {
  int64_t layers = mixed.p.model.layers, stages = 0;
  for (const Choice *c : order)
    stages += c->tactics.pipeline;
  Cut best;
  if (stages > layers)
    return best;
  std::vector<Kind> kinds;
  std::vector<std::pair<size_t, size_t>> place; // of each stage: kind, index in it
  int64_t s = 0;
  for (const Choice *c : order)
    for (int64_t k = 0; k < c->tactics.pipeline; ++k, ++s) {
      bool first = s == 0, last = s == stages - 1;
      if (kinds.empty() || kinds.back().choice != c || kinds.back().first || last)
        kinds.push_back({c, first, last, {}});
      int64_t room = mixed.room(*c, layers - stages + 1, s, stages);
      if (room < 1)
        return best;
      place.push_back({kinds.size() - 1, kinds.back().room.size()});
      kinds.back().room.push_back(room);
    }

  double m = double(mixed.micros(*order[0]));
  double site = mixed.site(order), around = mixed.transfers(order);
  // By kind and layers: seconds of passes, and of the stage's own line.
  size_t width = size_t(layers - stages + 2);
  std::vector<double> pass(kinds.size() * width), line(kinds.size() * width);
  std::vector<double> paces;
  double base = 0, cheapest = kNever;
  for (size_t k = 0; k < kinds.size(); ++k) {
    int64_t most = *std::max_element(kinds[k].room.begin(), kinds[k].room.end());
    for (int64_t l = 1; l <= most; ++l) {
      double f = mixed.passes(*kinds[k].choice, l, kinds[k].first, kinds[k].last);
      pass[k * width + size_t(l)] = f;
      line[k * width + size_t(l)] = (m - 1) * f + mixed.after(*kinds[k].choice, l);
      paces.push_back(line[k * width + size_t(l)]);
      if (l > 1)
        cheapest = std::min(cheapest, f - pass[k * width + size_t(l) - 1]);
    }
    base += pass[k * width + 1] * double(kinds[k].room.size());
  }
  std::sort(paces.begin(), paces.end());
  paces.erase(std::unique(paces.begin(), paces.end()), paces.end());
  auto upTo = [&](size_t k, double pace) {
    const double *row = line.data() + k * width;
    int64_t most = *std::max_element(kinds[k].room.begin(), kinds[k].room.end());
    return int64_t(std::upper_bound(row + 1, row + most + 1, pace) - (row + 1));
  };
  auto holds = [&](double pace) {
    int64_t sum = 0;
    for (size_t k = 0; k < kinds.size(); ++k) {
      int64_t n = upTo(k, pace);
      if (n < 1)
        return false;
      for (int64_t room : kinds[k].room)
        sum += std::min(room, n);
    }
    return sum >= layers;
  };
  size_t low = size_t(std::partition_point(paces.begin(), paces.end(), [&](double x) { return !holds(x); }) -
                      paces.begin());
  int64_t extra = layers - stages;
  double rest = extra > 0 ? cheapest * double(extra) : 0;
  std::vector<int64_t> bestCount;
  double bestPace = 0;
  for (size_t i = low; i < paces.size(); ++i) {
    double bound = (paces[i] + base + rest + around) * site;
    if (bound >= std::min(most, best.seconds))
      break;
    // Layers cost the same wherever they lie within a kind, and no less the more it holds: the cheapest
    // next one is always right.
    std::vector<int64_t> open(kinds.size()), level(kinds.size(), 1), taken(kinds.size());
    for (size_t k = 0; k < kinds.size(); ++k) {
      int64_t n = upTo(k, paces[i]);
      for (int64_t room : kinds[k].room)
        open[k] += std::min(room, n) - 1;
    }
    double sum = base;
    for (int64_t left = extra; left > 0;) {
      size_t at = kinds.size();
      double least = kNever;
      for (size_t k = 0; k < kinds.size(); ++k) {
        if (open[k] <= taken[k])
          continue;
        // The ends are one stage each; between them a layer more is a layer more.
        int64_t l = kinds[k].first || kinds[k].last ? 1 + taken[k] : 1;
        double more = kinds[k].first || kinds[k].last
                          ? pass[k * width + size_t(l) + 1] - pass[k * width + size_t(l)]
                          : kinds[k].choice->layer;
        if (more < least)
          least = more, at = k;
      }
      bool end = kinds[at].first || kinds[at].last;
      int64_t n = end ? 1 : std::min(left, open[at] - taken[at]);
      // Not past the point where an end becomes cheaper: ends get dearer only, so none does.
      taken[at] += n, left -= n, sum += least * double(n);
    }
    double seconds = (paces[i] + sum + around) * site;
    if (seconds < best.seconds)
      best.seconds = seconds, bestCount = taken, bestPace = paces[i];
  }
  if (bestCount.empty() || best.seconds >= most)
    return {};
  std::vector<std::vector<int64_t>> count(kinds.size());
  for (size_t k = 0; k < kinds.size(); ++k) {
    int64_t n = upTo(k, bestPace), left = bestCount[k];
    count[k].assign(kinds[k].room.size(), 1);
    // Evenly, as far as there is room.
    for (int64_t round = 1; left > 0; ++round)
      for (size_t j = 0; j < count[k].size() && left > 0; ++j)
        if (count[k][j] == round && round < std::min(kinds[k].room[j], n))
          ++count[k][j], --left;
  }
  for (auto [k, j] : place)
    best.layers.push_back(count[k][j]);
  return best;
}

} // namespace

std::optional<double> priceMixed(const MixedProblem &problem, MixedPlan &plan) {
  Mixed mixed(problem);
  std::vector<Choice> choices;
  int64_t stages = 0, at = 0;
  for (const Segment &s : plan.segments)
    choices.push_back(mixed.choice(s.pool, s.tactics)), stages += s.tactics.pipeline;
  std::vector<const Choice *> order;
  for (const Choice &c : choices)
    order.push_back(&c);
  double sum = 0, pace = 0;
  bool fits = true;
  for (size_t i = 0; i < choices.size(); ++i)
    for (int64_t l : plan.segments[i].layers) {
      double f = mixed.passes(choices[i], l, at == 0, at == stages - 1);
      sum += f, pace = std::max(pace, double(mixed.micros(choices[i]) - 1) * f + mixed.after(choices[i], l));
      double bytes = mixed.bytes(choices[i], l, at++, stages);
      plan.segments[i].bytes = std::max(plan.segments[i].bytes, bytes);
      fits &= bytes <= mixed.capacity(choices[i]);
    }
  if (!fits)
    return std::nullopt;
  return plan.seconds = (sum + pace + mixed.transfers(order)) * mixed.site(order);
}

MixedAnswer searchMixed(const MixedProblem &problem, const MixedSpace &space, int64_t evaluations) {
  MixedAnswer answer;
  Certificate &proof = answer.certificate;
  Mixed mixed(problem);
  const ModelShape &model = problem.model;
  size_t pools = std::min(problem.pools.size(), MixedProblem::kMostPools);

  // One group of choices a size of micro-batches over all replicas.
  struct Group {
    int64_t micros = 0;
    std::vector<std::vector<Choice>> choices; ///< by pool, by falling rate
    std::vector<Fluid> fluid;                 ///< by pool: at most this fast
    double bound = 0;
  };
  double layers = double(model.layers);
  double leastSite = kNever;
  for (const MixedPool &pool : problem.pools)
    leastSite = std::min(leastSite, pool.constants.cluster.site);
  std::vector<Group> groups;
  for (int64_t wave : divisors(problem.work.globalBatch)) {
    Group g;
    g.micros = problem.work.globalBatch / wave;
    for (size_t i = 0; i < pools; ++i) {
      std::vector<Choice> here;
      const Machine &machine = problem.pools[i].machine;
      for (int64_t tensor : divisors(machine.devices))
        for (int64_t pipe : divisors(machine.devices / tensor)) {
          int64_t data = machine.devices / tensor / pipe;
          int64_t kv = std::max<int64_t>(1, model.kvHeads);
          if (tensor > machine.devicesPerHost || model.heads % tensor || (kv % tensor && tensor % kv) ||
              wave % data || pipe > model.layers)
            continue;
          for (Recompute recompute : space.recompute)
            for (Zero zero : space.zero) {
              if (zero != Zero::None && data == 1 && space.zero.front() == Zero::None)
                continue;
              Tactics t;
              t.precision = space.precision, t.tensor = tensor, t.pipeline = pipe, t.data = data;
              t.sequenceParallel = tensor > 1, t.microBatch = wave / data;
              t.recompute = recompute, t.zero = zero;
              here.push_back(mixed.choice(i, t));
            }
        }
      std::sort(here.begin(), here.end(), [](const Choice &a, const Choice &b) {
        auto key = [](const Choice &c) {
          return std::tuple(-c.rate(), c.tactics.tensor, c.tactics.pipeline, c.tactics.recompute,
                            c.tactics.zero);
        };
        return key(a) < key(b);
      });
      Fluid best;
      for (const Choice &c : here)
        best.layer = std::min(best.layer, c.layer), best.rate = std::max(best.rate, c.rate());
      g.fluid.push_back(best);
      g.choices.push_back(std::move(here));
    }
    g.bound = fluidBound(layers, g.micros, g.fluid);
    groups.push_back(std::move(g));
  }
  std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
    return std::pair(a.bound, a.micros) < std::pair(b.bound, b.micros);
  });

  double best = kNever;
  bool complete = true;
  for (const Group &g : groups) {
    std::vector<const Choice *> chosen;
    auto leaf = [&] {
      std::vector<const Choice *> order = chosen;
      std::sort(order.begin(), order.end(),
                [](const Choice *a, const Choice *b) { return a->pool < b->pool; });
      do {
        if (proof.evaluated >= evaluations) {
          complete = false;
          return;
        }
        ++proof.evaluated;
        Cut c = cut(mixed, order, best);
        proof.checksum = (proof.checksum ^ std::bit_cast<uint64_t>(c.seconds)) * 0x9E3779B97F4A7C15ull;
        if (c.seconds >= best)
          continue;
        best = c.seconds;
        MixedPlan plan;
        size_t at = 0;
        for (const Choice *choice : order) {
          size_t n = size_t(choice->tactics.pipeline);
          plan.segments.push_back(
              {choice->pool,
               choice->tactics,
               {c.layers.begin() + std::ptrdiff_t(at), c.layers.begin() + std::ptrdiff_t(at + n)},
               0});
          at += n;
        }
        answer.best = std::move(plan);
      } while (std::next_permutation(order.begin(), order.end(),
                                     [](const Choice *a, const Choice *b) { return a->pool < b->pool; }));
    };
    std::vector<Fluid> fluid = g.fluid;
    auto descend = [&](auto &self, size_t pool) -> void {
      ++proof.meshes;
      if (!(fluidBound(layers, g.micros, fluid) * leastSite * (1 - 1e-12) < best)) {
        ++proof.bounded;
        return;
      }
      if (pool == pools) {
        leaf();
        return;
      }
      Fluid before = fluid[pool];
      for (const Choice &c : g.choices[pool]) {
        chosen.push_back(&c);
        fluid[pool] = {c.layer, c.rate()};
        self(self, pool + 1);
        chosen.pop_back();
      }
      // Or this pool stays idle.
      fluid[pool] = {};
      self(self, pool + 1);
      fluid[pool] = before;
    };
    descend(descend, 0);
  }
  if (answer.best)
    priceMixed(problem, *answer.best);
  proof.complete = complete;
  proof.bound = complete ? best : 0;
  proof.gap = complete ? 0 : kNever;
  return answer;
}

} // namespace hocket::planner
