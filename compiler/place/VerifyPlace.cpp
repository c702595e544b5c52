#include "compiler/place/Passes.h"
#include "compiler/schedule/timeline.h"
#include "dialects/topo/Topo.h"

#include <set>

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_VERIFYPLACEPASS
#include "compiler/place/Passes.h.inc"

namespace {

bool isLeaf(StringRef home) {
  StringRef kind = home.split(' ').first;
  return kind == "param" || kind == "m" || kind == "v" || kind == "input" || kind == "scalar";
}

struct Verifier {
  ModuleOp module;
  place::StepOp step;
  std::map<std::string, place::MeshOp> meshes;
  DenseMap<Value, StringRef> lives;                       // mesh; "" = on all
  std::set<std::pair<StringRef, StringRef>> inputs;       ///< (mesh, name)
  std::map<std::pair<StringRef, StringRef>, bool> params; ///< (mesh, name) -> owned there

  LogicalResult run();
  LogicalResult checkMeshes();
  LogicalResult checkTask(place::TaskOp task);
  LogicalResult checkLeaf(place::TaskOp task, StringRef home);
  LogicalResult checkValues();
  LogicalResult checkTables();
  std::vector<schedule::Flow> flows();
};

LogicalResult Verifier::checkMeshes() {
  std::map<int64_t, place::MeshOp> stages;
  for (auto mesh : module.getOps<place::MeshOp>()) {
    if (!stages.emplace(mesh.getStage(), mesh).second)
      return mesh.emitOpError("is the second mesh of stage ") << mesh.getStage();
    meshes[mesh.getSymName().str()] = mesh;
  }
  auto clusters = module.getOps<topo::ClusterOp>();
  int64_t devices = clusters.empty() ? std::numeric_limits<int64_t>::max() : (*clusters.begin()).getRanks();
  DenseMap<int64_t, place::MeshOp> owner;
  for (auto &[stage, mesh] : stages)
    for (int64_t device : mesh.devices()) {
      if (device >= devices)
        return mesh.emitOpError("has device ") << device << "; the cluster has " << devices;
      auto [it, fresh] = owner.try_emplace(device, mesh);
      if (!fresh)
        return mesh.emitOpError("has device ")
               << device << " twice or together with @" << it->second.getSymName();
    }
  for (auto [i, stage] : llvm::enumerate(stages))
    if (stage.first != int64_t(i))
      return stage.second.emitOpError("is stage ") << stage.first << "; stage " << i << " is missing";
  return success();
}

LogicalResult Verifier::checkLeaf(place::TaskOp task, StringRef home) {
  auto [kind, name] = home.split(' ');
  if (kind == "scalar")
    return success();
  if (kind == "input") {
    if (inputs.count({task.getMesh(), name}))
      return success();
  } else if (auto param = params.find({task.getMesh(), name}); param != params.end()) {
    if (kind == "param" || param->second)
      return success();
  }
  return task.emitOpError("uses \"") << home << "\", which does not live on @" << task.getMesh();
}

LogicalResult Verifier::checkTask(place::TaskOp task) {
  if (!meshes.count(task.getMesh().str()))
    return task.emitOpError("runs on unknown mesh @") << task.getMesh();
  auto fn = module.lookupSymbol<func::FuncOp>(task.getFn());
  if (!fn)
    return task.emitOpError("runs unknown function @") << task.getFn();
  unsigned next = 0;
  for (unsigned a = 0; a < fn.getNumArguments(); ++a) {
    auto home = fn.getArgAttrOfType<StringAttr>(a, "place.home");
    if (!home)
      return fn.emitOpError("argument ") << a << " has no place.home";
    if (isLeaf(home.getValue())) {
      if (failed(checkLeaf(task, home.getValue())))
        return failure();
      continue;
    }
    if (next == task.getInputs().size())
      return task.emitOpError("lacks an operand for \"") << home.getValue() << "\"";
    Value v = task.getInputs()[next++];
    if (v.getType() != fn.getArgumentTypes()[a])
      return task.emitOpError("operand ")
             << next - 1 << " has another type than argument " << a << " of @" << task.getFn();
  }
  if (next != task.getInputs().size())
    return task.emitOpError("has ") << task.getInputs().size() << " operands, @" << task.getFn() << " takes "
                                    << next;
  if (!llvm::equal(task->getResultTypes(), fn.getResultTypes()))
    return task.emitOpError("results differ from those of @") << task.getFn();
  for (unsigned r = 0; r < fn.getNumResults(); ++r)
    if (!fn.getResultAttrOfType<StringAttr>(r, "place.home"))
      return fn.emitOpError("result ") << r << " has no place.home";
  return success();
}

LogicalResult Verifier::checkValues() {
  auto on = [&](Operation *user, Value v, StringRef mesh) -> LogicalResult {
    StringRef at = lives.lookup(v);
    if (at.empty() || at == mesh)
      return success();
    return user->emitOpError("uses a value of @") << at << " on @" << mesh << " without a transfer";
  };
  for (Region *region : {&step.getBody(), &step.getUpdate()}) {
    if (region == &step.getUpdate()) {
      auto yield = cast<place::YieldOp>(step.getBody().front().back());
      for (auto [v, a] : llvm::zip(yield.getValues(), step.getUpdate().getArguments()))
        lives[a] = lives.lookup(v);
    }
    for (Operation &op : region->front()) {
      if (auto task = dyn_cast<place::TaskOp>(op)) {
        if (failed(checkTask(task)))
          return failure();
        for (Value v : task.getInputs())
          if (failed(on(task, v, task.getMesh())))
            return failure();
        for (Value r : task.getResults())
          lives[r] = task.getMesh();
      } else if (auto transfer = dyn_cast<place::TransferOp>(op)) {
        if (!meshes.count(transfer.getFrom().str()) || !meshes.count(transfer.getTo().str()))
          return transfer.emitOpError("names an unknown mesh");
        if (failed(on(transfer, transfer.getInput(), transfer.getFrom())))
          return failure();
        lives[transfer.getResult()] = transfer.getTo();
      } else if (auto reduce = dyn_cast<place::AllReduceOp>(op)) {
        for (auto [v, mesh] :
             llvm::zip(reduce.getInputs(), reduce.getMeshes().getAsRange<FlatSymbolRefAttr>()))
          if (failed(on(reduce, v, mesh.getValue())))
            return failure();
      }
    }
  }
  return success();
}

std::vector<schedule::Flow> Verifier::flows() {
  std::vector<schedule::Flow> out;
  for (auto task : step.getBody().getOps<place::TaskOp>())
    for (Value v : task.getInputs()) {
      auto transfer = v.getDefiningOp<place::TransferOp>();
      auto from =
          transfer ? transfer.getInput().getDefiningOp<place::TaskOp>() : v.getDefiningOp<place::TaskOp>();
      if (!from)
        continue;
      schedule::Flow flow;
      flow.fromStage = meshes[from.getMesh().str()].getStage();
      flow.toStage = meshes[task.getMesh().str()].getStage();
      flow.producer = from.getName().str();
      flow.consumers = {task.getName().str()};
      out.push_back(flow);
    }
  return out;
}

LogicalResult Verifier::checkTables() {
  std::vector<std::vector<schedule::Item>> stages(meshes.size());
  std::map<std::pair<std::string, std::string>, int64_t> count;
  for (auto task : step.getBody().getOps<place::TaskOp>())
    if (!count.emplace(std::pair(task.getMesh().str(), task.getName().str()), 0).second)
      return task.emitOpError("is the second task ") << task.getName() << " of @" << task.getMesh();
  for (NamedAttribute entry : step.getOrder()) {
    auto mesh = meshes.find(entry.getName().str());
    if (mesh == meshes.end())
      return step.emitOpError("has an order for unknown mesh @") << entry.getName().getValue();
    for (StringAttr text : cast<ArrayAttr>(entry.getValue()).getAsRange<StringAttr>()) {
      auto [name, number] = text.getValue().split('.');
      int64_t micro;
      if (number.getAsInteger(10, micro) || micro < 0 || micro >= int64_t(step.getMicro()))
        return step.emitOpError("order of @")
               << mesh->first << ": \"" << text.getValue() << "\" is no TASK.MICRO";
      auto it = count.find({mesh->first, name.str()});
      if (it == count.end())
        return step.emitOpError("order of @")
               << mesh->first << " runs \"" << name << "\", which it does not have";
      // In micro-batch order, so that sums have the same bits under every table; so also once each.
      if (micro != it->second)
        return step.emitOpError("order of @") << mesh->first << " runs \"" << text.getValue() << "\" where "
                                              << name << "." << it->second << " is due";
      ++it->second;
      stages[mesh->second.getStage()].push_back({name.str(), micro, name == "B" ? 2 : 1});
    }
  }
  for (auto &[key, n] : count)
    if (n != int64_t(step.getMicro()))
      return step.emitOpError("order of @") << key.first << " lacks " << key.second << "." << n;
  if (!schedule::simulate(stages, flows(), "F", "B"))
    return step.emitOpError("order tables wait for each other in a circle");
  return success();
}

LogicalResult Verifier::run() {
  auto steps = llvm::to_vector(module.getOps<place::StepOp>());
  if (steps.size() != 1)
    return module.emitError("place gives one place.step, there are ") << steps.size();
  step = steps.front();
  for (auto input : module.getOps<place::InputOp>())
    inputs.emplace(input.getMesh(), input.getName());
  for (auto param : module.getOps<place::ParamOp>())
    params[{param.getMesh(), param.getName()}] |= param.getOwner();
  return success(succeeded(checkMeshes()) && succeeded(checkValues()) && succeeded(checkTables()));
}

struct VerifyPlacePass : impl::VerifyPlacePassBase<VerifyPlacePass> {
  void runOnOperation() override {
    Verifier verifier;
    verifier.module = getOperation();
    if (failed(verifier.run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyPlacePass() { return std::make_unique<VerifyPlacePass>(); }

} // namespace hocket
