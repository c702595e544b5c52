#include "compiler/schedule/steps.h"
#include "compiler/schedule/timeline.h"

using namespace mlir;

namespace hocket::schedule {
namespace {

struct Orders {
  place::StepOp step;
  Shared &shared;
  OpBuilder b;
  std::map<std::string, unsigned> stageOf;
  std::vector<Flow> flows;
  std::map<std::pair<unsigned, std::string>, sched::TaskOp> tasks; ///< (stage, name)

  Orders(place::StepOp step, Shared &shared) : step(step), shared(shared), b(step.getContext()) {}

  std::string symbol(unsigned stage, const std::string &task) {
    return "s" + std::to_string(stage) + "." + task;
  }
  place::TaskOp maker(Value v, bool &fromBody);
  void collectFlows();
  LogicalResult readTables(std::vector<std::vector<Item>> &stages);
  void emit(StringRef table, Timeline &t, unsigned stage, const std::vector<Flow> &used);
  void emitTransfers(const Timeline &t, const Issue &issue, unsigned stage, const std::vector<Flow> &used);
  std::pair<unsigned, std::string> metricHome(unsigned i);
  LogicalResult run();
};

/// The task that makes `v`, an update's argument traced into the body.
place::TaskOp Orders::maker(Value v, bool &fromBody) {
  fromBody = false;
  if (auto a = dyn_cast<BlockArgument>(v)) {
    fromBody = true;
    v = cast<place::YieldOp>(step.getBody().front().getTerminator()).getValues()[a.getArgNumber()];
  }
  return v.getDefiningOp<place::TaskOp>();
}

void Orders::collectFlows() {
  for (Region *region : {&step.getBody(), &step.getUpdate()})
    for (Operation &op : region->front()) {
      if (auto transfer = dyn_cast<place::TransferOp>(op)) {
        bool fromBody;
        place::TaskOp from = maker(transfer.getInput(), fromBody);
        if (!from)
          continue;
        Flow flow;
        flow.from = transfer.getSource().str(), flow.to = transfer.getTarget().str();
        flow.fromStage = stageOf[transfer.getFrom().str()], flow.toStage = stageOf[transfer.getTo().str()];
        flow.producer = from.getName().str();
        for (Operation *user : transfer.getResult().getUsers())
          if (auto task = dyn_cast<place::TaskOp>(user))
            if (!llvm::is_contained(flow.consumers, task.getName()))
              flow.consumers.push_back(task.getName().str());
        flow.last = region == &step.getUpdate();
        flow.slotted = StringRef(flow.from).starts_with("send ");
        flows.push_back(flow);
      } else if (auto task = dyn_cast<place::TaskOp>(op); task && region == &step.getBody()) {
        // Within a stage: only that the list runs the producer first.
        for (Value v : task.getInputs())
          if (auto from = v.getDefiningOp<place::TaskOp>()) {
            Flow flow;
            flow.fromStage = flow.toStage = stageOf[task.getMesh().str()];
            flow.producer = from.getName().str();
            flow.consumers = {task.getName().str()};
            flow.slotted = false;
            flows.push_back(flow);
          }
      }
    }
}

LogicalResult Orders::readTables(std::vector<std::vector<Item>> &stages) {
  for (NamedAttribute entry : step.getOrder()) {
    auto stage = stageOf.find(entry.getName().str());
    if (stage == stageOf.end())
      return step.emitOpError("has an order for unknown mesh @") << entry.getName().getValue();
    for (StringAttr text : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>()) {
      auto [name, number] = text.getValue().split('.');
      int64_t micro;
      if (number.getAsInteger(10, micro) || !tasks.count({stage->second, name.str()}))
        return step.emitOpError("order of @") << stage->first << " has \"" << text.getValue() << "\"";
      stages[stage->second].push_back({name.str(), micro, name == "B" ? 2 : 1});
    }
  }
  return success();
}

void Orders::emitTransfers(const Timeline &t, const Issue &issue, unsigned stage,
                           const std::vector<Flow> &used) {
  Location loc = step.getLoc();
  auto group = sched::TransfersOp::create(b, loc, issue.level);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&group.getBody());
  for (unsigned x : issue.transfers) {
    const Transfer &transfer = t.transfers[x];
    const Flow &flow = used[transfer.flow];
    int64_t delta = int64_t(flow.toStage) - int64_t(flow.fromStage);
    const std::string &comm = shared.pipelineAxis;
    if (flow.fromStage == stage)
      sched::SendOp::create(b, loc, flow.from, comm, delta, transfer.micro, transfer.sendSlot, comm);
    else
      sched::RecvOp::create(b, loc, flow.to, comm, -delta, transfer.micro, transfer.recvSlot, comm);
  }
}

/// Stage and home of metric `i`.
std::pair<unsigned, std::string> Orders::metricHome(unsigned i) {
  Value v = cast<place::YieldOp>(step.getUpdate().front().getTerminator()).getValues()[i];
  if (auto reduce = v.getDefiningOp<place::AllReduceOp>())
    v = reduce.getInputs().back();
  bool fromBody;
  place::TaskOp task = maker(v, fromBody);
  if (!task)
    return {0, ""};
  if (auto a = dyn_cast<BlockArgument>(v))
    v = cast<place::YieldOp>(step.getBody().front().getTerminator()).getValues()[a.getArgNumber()];
  unsigned stage = stageOf[task.getMesh().str()];
  sched::TaskOp mine = tasks[{stage, task.getName().str()}];
  return {stage, cast<StringAttr>(mine.getOutputs()[cast<OpResult>(v).getResultNumber()]).str()};
}

void Orders::emit(StringRef table, Timeline &t, unsigned stage, const std::vector<Flow> &used) {
  Location loc = step.getLoc();
  OpBuilder::InsertionGuard guard(b);
  auto order = sched::OrderOp::create(b, loc, "s" + std::to_string(stage), table);
  b.createBlock(&order.getBody());
  for (const Issue &issue : t.issue[stage]) {
    if (issue.item < 0) {
      emitTransfers(t, issue, stage, used);
      continue;
    }
    const Item &item = t.stages[stage][issue.item];
    sched::TaskOp task = tasks[{stage, item.task}];
    NamedAttrList slots;
    for (Attribute attr : llvm::concat<const Attribute>(task.getInputs(), task.getOutputs())) {
      StringRef home = cast<StringAttr>(attr).getValue();
      StringRef kind = home.split(' ').first;
      if (kind != "stash" && kind != "send" && kind != "recv")
        continue;
      std::string key = kind == "stash" ? "stash" : home.str();
      auto found = t.slots.find({stage, key});
      int64_t slot = 0;
      if (found != t.slots.end())
        if (auto it = found->second.find(item.micro); it != found->second.end())
          slot = it->second;
      slots.set(key, b.getI64IntegerAttr(slot));
    }
    sched::RunOp::create(b, loc, symbol(stage, item.task), item.micro, slots.getDictionary(b.getContext()));
  }
  for (auto [i, name] : llvm::enumerate(step.getMetrics().getAsRange<StringAttr>())) {
    auto [where, home] = metricHome(i);
    if (where == stage && !home.empty() && table != "init" && (table == "step" || name.getValue() == "loss"))
      sched::MetricOp::create(b, loc, name.getValue(), home);
  }
}

LogicalResult Orders::run() {
  std::map<unsigned, std::string> names;
  for (auto mesh : shared.module.getOps<place::MeshOp>()) {
    stageOf[mesh.getSymName().str()] = mesh.getStage();
    if (mesh.getSymName() != "s" + std::to_string(mesh.getStage()))
      return mesh.emitOpError("of stage ") << mesh.getStage() << " should be @s" << mesh.getStage();
    names[mesh.getStage()] = mesh.getSymName().str();
  }
  if (names.empty() || names.rbegin()->first != names.size() - 1)
    return step.emitOpError("needs meshes @s0, @s1, … without a gap");
  for (auto task : shared.module.getOps<sched::TaskOp>()) {
    auto [stage, name] = task.getSymName().split('.');
    tasks[{stageOf[stage.str()], name.str()}] = task;
  }
  unsigned count = stageOf.size();
  b.setInsertionPointToEnd(shared.module.getBody());
  collectFlows();

  std::vector<std::vector<Item>> stages(count), forward(count);
  if (failed(readTables(stages)))
    return failure();
  for (unsigned s = 0; s < count; ++s) {
    for (const Item &item : stages[s])
      if (item.task == "F")
        forward[s].push_back(item);
    llvm::sort(forward[s], [](const Item &x, const Item &y) { return x.micro < y.micro; });
    for (const char *name : {"L", "N", "U"}) {
      if (!tasks.count({s, name}))
        continue;
      stages[s].push_back({name, 0, 1, name[0] == 'N' && count > 1});
      if (name[0] == 'L')
        forward[s].push_back({name, 0, 1});
    }
  }
  auto full = simulate(stages, flows, "F", "B");
  if (!full)
    return step.emitOpError("order tables wait for each other in a circle");
  for (unsigned s = 0; s < count; ++s)
    emit("step", *full, s, flows);

  std::vector<Flow> forwardFlows, tied;
  for (const Flow &flow : flows) {
    if (flow.producer == "F" && !flow.last) {
      Flow f = flow;
      llvm::erase_if(f.consumers, [](const std::string &c) { return c != "F" && c != "L"; });
      if (!f.consumers.empty())
        forwardFlows.push_back(f);
    }
    if (StringRef(flow.from).starts_with("param ")) {
      tied.push_back(flow);
      tied.back().producer = "init";
    }
  }
  auto eval = simulate(forward, forwardFlows, "F", "");
  if (!eval)
    return step.emitOpError("forward tables wait for each other in a circle");
  for (unsigned s = 0; s < count; ++s)
    emit("eval", *eval, s, forwardFlows);

  // Copies of tied parameters, once after the owners are initialised.
  Timeline init;
  init.stages.resize(count), init.issue.resize(count);
  for (unsigned f = 0; f < tied.size(); ++f)
    init.transfers.push_back({f, 0, 0});
  for (unsigned s = 0; s < count; ++s)
    for (unsigned f = 0; f < tied.size(); ++f) {
      if (tied[f].fromStage != s && tied[f].toStage != s)
        continue;
      if (init.issue[s].empty())
        init.issue[s].push_back({-1, 0, {}});
      init.issue[s].back().transfers.push_back(f);
    }
  for (unsigned s = 0; s < count; ++s)
    emit("init", init, s, tied);
  return success();
}

} // namespace

LogicalResult emitOrders(place::StepOp step, Shared &shared) { return Orders(step, shared).run(); }

} // namespace hocket::schedule
