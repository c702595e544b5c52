#include "compiler/search/choose.h"

#include "compiler/cost/machine_of.h"
#include "compiler/cost/shape_of.h"
#include "compiler/search/tactics_of.h"

using namespace llvm;

namespace hocket {

namespace {

cost::Precision precisionOf(const Job &job) { return cost::Precision(job.compute); }

/// Errors of a step's time where neither the user's cluster nor the source was measured: the P90 of rows
/// whose source was left out whole (docs/cost-model.md), rounded up.
struct Spread {
  StringRef record;
  double dense, experts;
};
constexpr Spread kSpreads[] = {{"a100", 0.35, 0.55}, {"h100", 0.16, 0.55}, {"blackwell", 0.24, 0.55}};
constexpr double kUnmeasured = 0.5;

/// Peaks reached, latencies as the cluster file says, nothing hidden behind anything: a device that nobody
/// measured.
ChosenConstants nominal(const cost::Machine &machine, cost::Precision precision) {
  ChosenConstants out;
  double inner = machine.levels.empty() ? 0 : machine.levels.front().latency,
         outer = machine.levels.empty() ? 0 : machine.levels.back().latency;
  out.constants.device = {1, 1, 1, 1, 1, 1, 0, 1, 0};
  out.constants.attention = {1, 1, 1, 0};
  out.constants.stack = {0, 1, 1, 1, 1, 1, 0, 0};
  out.constants.cluster = {1, 1, inner, 1, outer, 1};
  // What our allocator lays out (memory_test compares): logits once for the loss, their gradient among the
  // temporaries.
  out.memory.logitBytes = cost::elementBytes(precision);
  out.memory.workTensors = 5, out.memory.endTensors = 2;
  out.memory.activationFactor = 1.01; // positions, log-sums, losses, alignment
  return out;
}

/// Whether the compiler takes a mesh with its micro-batch: its own limits beside those of the space.
bool compiles(const ModelConfig &model, const Cluster &cluster, const Job &job, const cost::Tactics &mesh) {
  Diagnostics quiet;
  return checkLegal(model, cluster, job, strategyOf(mesh), quiet);
}

/// The records for one pool of a cluster: measured ones of its device, else nominal ones.
std::optional<ChosenConstants> constantsOf(const Cluster &cluster, size_t pool, const cost::Machine &machine,
                                           const Job &job, bool experts, const std::string &libraryDir,
                                           Diagnostics &diags) {
  if (machine.device.cpu)
    return nominal(machine, precisionOf(job));
  std::optional<ConstantsLibrary> library = readConstants(libraryDir, diags);
  if (!library)
    return std::nullopt;
  return chooseConstants(*library, cluster.pool(pool).device, experts, "", "", {}, diags);
}

double intervalOf(const ChosenConstants &constants, bool experts) {
  for (const Spread &s : kSpreads)
    if (constants.device == s.record)
      return experts ? s.experts : s.dense;
  return kUnmeasured;
}

} // namespace

std::optional<Choice> judge(const ModelConfig &model, const Cluster &cluster, const Job &job,
                            const std::string &libraryDir, Diagnostics &diags) {
  Choice choice;
  planner::Facts &facts = choice.facts;
  facts.problem.model = shapeOf(model);
  facts.machine = machineOf(cluster);
  bool experts = facts.problem.model.experts.count > 0;
  std::optional<ChosenConstants> constants =
      constantsOf(cluster, 0, facts.machine, job, experts, libraryDir, diags);
  if (!constants)
    return std::nullopt;
  choice.constants = *constants;
  choice.interval = intervalOf(*constants, experts);
  facts.constants = choice.constants.constants;
  facts.memory = choice.constants.memory;
  // The allocator's layout is exact; what is predicted for other stacks is not.
  facts.headroom = job.headroomGiven || facts.machine.device.cpu ? job.headroom : kHeadroom;
  facts.problem.work = {job.sequence, job.globalBatch, true};
  facts.problem.devices = facts.machine.devices;
  facts.problem.devicesPerHost = facts.machine.devicesPerHost;
  return choice;
}

std::optional<MixedChoice> chooseMixed(const ModelConfig &model, const Cluster &cluster, const Job &job,
                                       const std::string &libraryDir, Diagnostics &diags) {
  MixedChoice choice;
  planner::MixedProblem &problem = choice.problem;
  problem.model = shapeOf(model);
  problem.work = {job.sequence, job.globalBatch, true};
  problem.headroom = job.headroomGiven ? job.headroom : kHeadroom;
  bool experts = problem.model.experts.count > 0;
  for (size_t i = 0; i < cluster.pools(); ++i) {
    cost::Machine machine = machineOf(cluster, i);
    std::optional<ChosenConstants> constants =
        constantsOf(cluster, i, machine, job, experts, libraryDir, diags);
    if (!constants)
      return std::nullopt;
    choice.constants.push_back(*constants);
    choice.interval = std::max(choice.interval, intervalOf(*constants, experts));
    problem.pools.push_back({machine, constants->constants, constants->memory});
  }
  // The narrowest uplink that pools share; a stage boundary may be at any.
  for (const PoolCap &cap : cluster.caps)
    problem.between = problem.between > 0 ? std::min(problem.between, cap.rate) : cap.rate;
  planner::MixedSpace space;
  space.precision = precisionOf(job);
  choice.answer = planner::searchMixed(problem, space);
  return choice;
}

void chooseStrategy(Choice &choice, const ModelConfig &model, const Cluster &cluster, const Job &job,
                    const SearchRequest &request) {
  planner::Question question;
  question.facts = choice.facts;
  question.space = planner::Space::whole(precisionOf(job));
  question.space.gradientsF32 = job.gradientsF32;
  question.requirements = request.requirements;
  if (request.microBatch > 0)
    question.space.microBatch = {request.microBatch};
  planner::Plan any = planner::plan(question);
  planner::Plan taken = any;
  if (request.execute) {
    question.space = planner::executed(question.space);
    question.mesh = [&](const cost::Tactics &mesh) { return compiles(model, cluster, job, mesh); };
    taken = planner::plan(question);
    if (any.best && (!taken.best || any.best->time.total < taken.best->time.total))
      choice.faster = any.best;
  }
  choice.best = taken.best;
  choice.nearest = taken.nearest;
  choice.others = taken.others;
  choice.certificate = taken.certificate;
  choice.conflict = taken.conflict;
}

int64_t hostsThatFit(const Choice &choice, const Cluster &cluster, const Job &job,
                     const SearchRequest &request) {
  if (choice.facts.machine.levels.size() < 2)
    return 0;
  for (int64_t times = 2; times <= 64 && cluster.ranks() * times <= kMaxRanks; times *= 2) {
    planner::Question question;
    question.facts = choice.facts;
    cost::Machine &machine = question.facts.machine;
    machine.devices *= times;
    machine.levels.back().count *= times;
    question.facts.problem.devices = machine.devices;
    question.space = planner::Space::whole(precisionOf(job));
    question.space.gradientsF32 = job.gradientsF32;
    question.requirements = request.requirements;
    question.others = 0;
    if (planner::plan(question).best)
      return cluster.hosts * times;
  }
  return 0;
}

void judgeStrategy(Choice &choice, const ModelConfig &model, const Cluster &cluster, const Job &job,
                   const Strategy &strategy) {
  choice.facts.problem.devices = strategy.devices();
  std::vector<int64_t> sizes = {strategy.microBatch};
  if (strategy.microBatch == 0)
    sizes = job.globalBatch % strategy.data == 0 ? divisors(job.globalBatch / strategy.data)
                                                 : std::vector<int64_t>();
  std::optional<planner::Priced> least;
  auto bytes = [](const planner::Priced &p) { return p.memory.memory.total(); };
  // Largest first: of equal times the fewest micro-batches.
  for (int64_t size : reverse(sizes)) {
    Strategy one = strategy;
    one.microBatch = size;
    Diagnostics quiet;
    if (!checkLegal(model, cluster, job, one, quiet))
      continue;
    planner::Priced priced = planner::price(choice.facts, tacticsOf(one, job, model.layers));
    if (priced.fits && (!choice.best || priced.time.total < choice.best->time.total))
      choice.best = priced;
    if (!least || bytes(priced) < bytes(*least))
      least = priced;
  }
  if (!choice.best && least)
    choice.nearest = planner::Nearest{*least, bytes(*least) - choice.facts.capacity(), 0};
}

} // namespace hocket
