#include "compiler/schedule/Passes.h"
#include "compiler/schedule/steps.h"
#include "dialects/par/Sharding.h"
#include "dialects/place/Place.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hocket {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "compiler/schedule/Passes.h.inc"

namespace {

/// One thing that a class issues.
struct Node {
  unsigned stage;
  Operation *op;
};

struct Verifier {
  ModuleOp module;
  SymbolTable symbols;
  std::map<std::string, unsigned> stageOf;
  std::map<std::pair<unsigned, std::string>, Type> homeType; ///< whole type behind (stage, home)

  explicit Verifier(ModuleOp module) : module(module), symbols(module) {}
  LogicalResult run();
  LogicalResult checkComms();
  LogicalResult checkStreams();
  LogicalResult checkTask(sched::TaskOp task);
  LogicalResult checkTable(StringRef table);
  LogicalResult checkSlots(sched::OrderOp order);
  LogicalResult checkMatching(const std::vector<sched::OrderOp> &orders, const std::vector<Node> &nodes,
                              llvm::EquivalenceClasses<unsigned> &meet);
  LogicalResult checkOverStages(const std::vector<Node> &nodes, llvm::EquivalenceClasses<unsigned> &meet);
  LogicalResult checkAcyclic(const std::vector<Node> &nodes, const llvm::EquivalenceClasses<unsigned> &meet);
  /// Collectives over stages of a task, spelled out.
  std::string overStages(sched::TaskOp task);
};

/// Of sends and receives.
template <typename Fn>
LogicalResult eachTransfer(sched::TransfersOp group, Fn fn) {
  for (Operation &op : group.getBody().front()) {
    if (auto send = dyn_cast<sched::SendOp>(op)) {
      if (failed(fn(send, true)))
        return failure();
    } else if (auto recv = dyn_cast<sched::RecvOp>(op)) {
      if (failed(fn(recv, false)))
        return failure();
    } else {
      return op.emitOpError("is neither send nor recv");
    }
  }
  return success();
}

LogicalResult Verifier::checkComms() {
  std::map<int64_t, sched::CommOp> orders;
  par::MeshOp mesh = par::findMesh(module);
  for (auto comm : module.getOps<sched::CommOp>()) {
    if (!orders.emplace(comm.getOrder(), comm).second)
      return comm.emitOpError("has the order number of another communicator");
    for (StringRef axis : par::axesOf(comm.getAxes()))
      if (!mesh || par::axisSize(mesh, axis) == 0 || par::isTimeAxis(mesh, axis))
        return comm.emitOpError("joins \"") << axis << "\", which is no axis of devices";
  }
  return success();
}

/// Two communicators in flight together share at most one device: where they share more, one
/// stream keeps them apart.
LogicalResult Verifier::checkStreams() {
  llvm::MapVector<sched::CommOp, Operation *> users; // a user of each stream of each communicator
  auto check = [&](Operation *op, FlatSymbolRefAttr name, StringRef stream) -> LogicalResult {
    auto comm = symbols.lookup<sched::CommOp>(name.getValue());
    for (auto [other, user] : users) {
      auto theirs = user->getAttrOfType<StringAttr>("stream");
      int64_t shared = other == comm ? 2 : schedule::sharedDevices(par::findMesh(module), comm, other);
      if (shared > 1 && theirs.getValue() != stream)
        return op->emitOpError("on stream \"")
               << stream << "\" may be in flight together with @" << other.getSymName() << " on stream "
               << theirs << (other == comm ? "" : ", whose groups share devices");
    }
    users.insert({comm, op});
    return success();
  };
  WalkResult walk = module.walk([&](Operation *op) {
    LogicalResult ok = success();
    if (auto collective = dyn_cast<sched::CollectiveOp>(op))
      ok = check(op, collective.getCommAttr(), collective.getStream());
    else if (auto send = dyn_cast<sched::SendOp>(op))
      ok = check(op, send.getCommAttr(), send.getStream());
    else if (auto recv = dyn_cast<sched::RecvOp>(op))
      ok = check(op, recv.getCommAttr(), recv.getStream());
    return failed(ok) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Verifier::checkTask(sched::TaskOp task) {
  auto stage = stageOf.find(task.getStage().str());
  if (stage == stageOf.end())
    return task.emitOpError("belongs to unknown stage \"") << task.getStage() << "\"";
  Block &block = task.getBody().front();
  auto note = [&](Attribute home, Type type) -> LogicalResult {
    auto [it, fresh] = homeType.emplace(std::pair(stage->second, cast<StringAttr>(home).str()), type);
    if (!fresh && it->second != type)
      return task.emitOpError("has ") << home << " of type " << type << ", elsewhere it is " << it->second;
    return success();
  };
  for (auto [home, a] : llvm::zip(task.getInputs(), block.getArguments()))
    if (failed(note(home, a.getType())))
      return failure();
  for (auto [home, v] : llvm::zip(task.getOutputs(), block.getTerminator()->getOperands()))
    if (failed(note(home, v.getType())))
      return failure();
  WalkResult walk = task.walk([&](Operation *op) {
    if (auto launch = dyn_cast<sched::LaunchOp>(op)) {
      auto kernel = symbols.lookup<sched::KernelOp>(launch.getKernel());
      if (!kernel)
        return launch.emitOpError("runs unknown kernel @") << launch.getKernel(), WalkResult::interrupt();
      Block &body = kernel.getBody().front();
      if (!llvm::equal(body.getArgumentTypes(), launch->getOperandTypes()) ||
          !llvm::equal(body.getTerminator()->getOperandTypes(), launch->getResultTypes()))
        return launch.emitOpError("and kernel @") << launch.getKernel() << " differ in types",
               WalkResult::interrupt();
    } else if (auto collective = dyn_cast<sched::CollectiveOp>(op)) {
      auto comm = symbols.lookup<sched::CommOp>(collective.getComm());
      if (!comm || comm.getPair())
        return collective.emitOpError("needs a group communicator, @") << collective.getComm() << " is none",
               WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// A slot is written before it is read, and not again before that.
LogicalResult Verifier::checkSlots(sched::OrderOp order) {
  bool step = order.getTable() == "step";
  std::map<std::pair<std::string, int64_t>, int64_t> full;   // (home, slot) -> micro-batch
  std::map<std::pair<std::string, int64_t>, unsigned> reads; // left, of `full`
  // How many tasks of the table read what comes in.
  std::map<std::string, unsigned> readers;
  llvm::StringSet<> counted;
  for (auto run : order.getBody().front().getOps<sched::RunOp>()) {
    auto task = symbols.lookup<sched::TaskOp>(run.getTask());
    if (!task || task.getStage() != order.getStage())
      return run.emitOpError("runs @")
             << run.getTask() << ", which is no task of \"" << order.getStage() << "\"";
    if (!counted.insert(run.getTask()).second)
      continue;
    for (StringAttr home : task.getInputs().getAsRange<StringAttr>())
      if (home.getValue().starts_with("recv "))
        ++readers[home.str()];
  }
  auto slotOf = [&](sched::RunOp run, StringRef home) -> std::optional<int64_t> {
    auto slot = run.getSlots().getAs<IntegerAttr>(home);
    return slot && slot.getInt() >= 0 ? std::optional(slot.getInt()) : std::nullopt;
  };
  llvm::StringSet<> ran;
  for (Operation &op : order.getBody().front()) {
    if (auto run = dyn_cast<sched::RunOp>(op)) {
      if (!ran.insert((run.getTask() + "." + Twine(int64_t(run.getMicro()))).str()).second)
        return run.emitOpError("is the second of @")
               << run.getTask() << " for micro-batch " << run.getMicro();
      auto task = symbols.lookup<sched::TaskOp>(run.getTask());
      auto has = [&](ArrayAttr homes, StringRef kind) {
        return llvm::any_of(homes.getAsRange<StringAttr>(),
                            [&](StringAttr h) { return h.getValue().starts_with(kind); });
      };
      auto check = [&](StringRef home, bool write) -> LogicalResult {
        std::optional<int64_t> slot = slotOf(run, home);
        if (!slot)
          return run.emitOpError("has no slot for \"") << home << "\"";
        std::pair key{home.str(), *slot};
        auto it = full.find(key);
        if (write) {
          if (it != full.end())
            return run.emitOpError("overwrites slot ")
                   << *slot << " of \"" << home << "\", still in use by micro-batch " << it->second;
          if (home != "stash" || step)
            full[key] = run.getMicro();
          return success();
        }
        if (it == full.end() || it->second != int64_t(run.getMicro()))
          return run.emitOpError("reads slot ")
                 << *slot << " of \"" << home << "\", which does not hold micro-batch " << run.getMicro();
        if (home == "stash") {
          full.erase(it);
        } else if (!--reads[key]) {
          full.erase(it);
        }
        return success();
      };
      if (has(task.getInputs(), "stash ") && failed(check("stash", false)))
        return failure();
      for (StringAttr home : task.getInputs().getAsRange<StringAttr>())
        if (home.getValue().starts_with("recv ") && failed(check(home, false)))
          return failure();
      if (has(task.getOutputs(), "stash ") && failed(check("stash", true)))
        return failure();
      for (StringAttr home : task.getOutputs().getAsRange<StringAttr>())
        if (home.getValue().starts_with("send ") && failed(check(home, true)))
          return failure();
    } else if (auto group = dyn_cast<sched::TransfersOp>(op)) {
      auto one = [&](auto transfer, bool isSend) -> LogicalResult {
        std::string home = transfer.getHome().str();
        std::pair key{home, int64_t(transfer.getSlot())};
        auto it = full.find(key);
        if (StringRef(home).starts_with("send ")) {
          if (!isSend || it == full.end() || it->second != int64_t(transfer.getMicro()))
            return transfer.emitOpError("sends slot ")
                   << key.second << " of \"" << home << "\", which does not hold micro-batch "
                   << transfer.getMicro();
          full.erase(it);
        } else if (StringRef(home).starts_with("recv ")) {
          if (isSend || it != full.end())
            return transfer.emitOpError("overwrites slot ")
                   << key.second << " of \"" << home << "\", still in use";
          if (!readers[home])
            return transfer.emitOpError("receives \"") << home << "\", which nobody reads";
          full[key] = transfer.getMicro();
          reads[key] = readers[home];
        }
        return success();
      };
      if (failed(eachTransfer(group, one)))
        return failure();
    }
  }
  for (auto &[key, micro] : full)
    return order.emitOpError("leaves slot ")
           << key.second << " of \"" << key.first << "\" full (micro-batch " << micro << ")";
  return success();
}

LogicalResult Verifier::checkMatching(const std::vector<sched::OrderOp> &orders,
                                      const std::vector<Node> &nodes,
                                      llvm::EquivalenceClasses<unsigned> &meet) {
  struct End {
    Operation *op;
    unsigned node;
    std::string home;
    int64_t micro, level;
  };
  std::map<std::tuple<std::string, unsigned, unsigned>, std::pair<std::vector<End>, std::vector<End>>> ends;
  for (auto [n, node] : llvm::enumerate(nodes)) {
    auto group = dyn_cast<sched::TransfersOp>(node.op);
    if (!group)
      continue;
    if (group.getBody().front().empty())
      return group.emitOpError("is empty");
    auto one = [&, n = n, node = node](auto transfer, bool isSend) -> LogicalResult {
      auto comm = symbols.lookup<sched::CommOp>(transfer.getComm());
      if (!comm || !comm.getPair())
        return transfer.emitOpError("needs a pair communicator, @") << transfer.getComm() << " is none";
      int64_t peer = int64_t(node.stage) + transfer.getDelta();
      if (!transfer.getDelta() || peer < 0 || peer >= int64_t(orders.size()))
        return transfer.emitOpError("has its peer at distance ")
               << transfer.getDelta() << ", where there is none";
      auto &[sends, recvs] =
          ends[{comm.getSymName().str(), isSend ? node.stage : peer, isSend ? peer : node.stage}];
      (isSend ? sends : recvs)
          .push_back({transfer, unsigned(n), transfer.getHome().str(), int64_t(transfer.getMicro()),
                      int64_t(group.getLevel())});
      return success();
    };
    if (failed(eachTransfer(group, one)))
      return failure();
  }
  for (auto &[key, pair] : ends) {
    auto &[sends, recvs] = pair;
    if (sends.size() != recvs.size())
      return (sends.empty() ? recvs : sends).front().op->emitOpError()
             << "is one of " << sends.size() << " sends from stage " << std::get<1>(key) << " to stage "
             << std::get<2>(key) << ", which receives " << recvs.size();
    for (auto [send, recv] : llvm::zip(sends, recvs)) {
      auto from = homeType.find({std::get<1>(key), send.home}),
           to = homeType.find({std::get<2>(key), recv.home});
      if (from == homeType.end() || to == homeType.end())
        return (from == homeType.end() ? send : recv).op->emitOpError("moves a home that no task has");
      if (from->second != to->second || send.micro != recv.micro || send.level != recv.level)
        return recv.op->emitOpError("of \"")
               << recv.home << "\" for micro-batch " << recv.micro << " meets the send of \"" << send.home
               << "\" for micro-batch " << send.micro;
      meet.unionSets(send.node, recv.node);
    }
  }
  return success();
}

std::string Verifier::overStages(sched::TaskOp task) {
  std::string text;
  llvm::raw_string_ostream out(text);
  task.walk([&](sched::CollectiveOp op) {
    auto comm = symbols.lookup<sched::CommOp>(op.getComm());
    // The transfers' axis is the one between classes.
    for (auto pair : module.getOps<sched::CommOp>())
      if (comm && pair.getPair() && pair.getAxes() == comm.getAxes())
        out << op.getComm() << " " << op.getKind() << " " << op->getOperandTypes() << "; ";
  });
  return text;
}

/// Collectives over stages come in the same order in all classes.
LogicalResult Verifier::checkOverStages(const std::vector<Node> &nodes,
                                        llvm::EquivalenceClasses<unsigned> &meet) {
  std::map<unsigned, std::vector<std::pair<unsigned, std::string>>> lists;
  for (unsigned s = 0; s < stageOf.size(); ++s)
    lists[s];
  for (auto [n, node] : llvm::enumerate(nodes))
    if (auto run = dyn_cast<sched::RunOp>(node.op)) {
      std::string text = overStages(symbols.lookup<sched::TaskOp>(run.getTask()));
      if (!text.empty())
        lists[node.stage].emplace_back(n, text);
    }
  auto &first = lists.begin()->second;
  for (auto &[stage, list] : lists) {
    for (size_t i = 0; i < std::max(list.size(), first.size()); ++i) {
      if (i < list.size() && i < first.size() && list[i].second == first[i].second) {
        meet.unionSets(list[i].first, first[i].first);
        continue;
      }
      Operation *op = i < list.size() ? nodes[list[i].first].op : nodes[first[i].first].op;
      return op->emitOpError("has collectives over stages that stage ")
             << (i < list.size() ? 0 : stage) << " does not issue at that point";
    }
  }
  return success();
}

/// Issue order, with what meets taken as one node, has no circle.
LogicalResult Verifier::checkAcyclic(const std::vector<Node> &nodes,
                                     const llvm::EquivalenceClasses<unsigned> &meet) {
  auto leader = [&](unsigned n) {
    auto it = meet.findLeader(n);
    return it == meet.member_end() ? n : *it;
  };
  std::vector<std::vector<unsigned>> next(nodes.size());
  std::vector<unsigned> waits(nodes.size(), 0);
  unsigned count = 0, done = 0;
  for (unsigned n = 0; n < nodes.size(); ++n) {
    count += leader(n) == n;
    if (n + 1 < nodes.size() && nodes[n].stage == nodes[n + 1].stage) {
      next[leader(n)].push_back(leader(n + 1));
      ++waits[leader(n + 1)];
    }
  }
  std::vector<unsigned> work;
  for (unsigned n = 0; n < nodes.size(); ++n)
    if (leader(n) == n && !waits[n])
      work.push_back(n);
  while (!work.empty()) {
    unsigned n = work.back();
    work.pop_back();
    ++done;
    for (unsigned m : next[n])
      if (!--waits[m])
        work.push_back(m);
  }
  if (done == count)
    return success();
  // A circle has transfers in it: collectives over stages alone meet in one order.
  for (unsigned n = 0; n < nodes.size(); ++n)
    if (waits[leader(n)] && isa<sched::TransfersOp>(nodes[n].op))
      return nodes[n].op->emitOpError("waits for itself in a circle over stages");
  llvm_unreachable("a circle without transfers");
}

LogicalResult Verifier::checkTable(StringRef table) {
  std::vector<sched::OrderOp> orders(stageOf.size());
  for (auto order : module.getOps<sched::OrderOp>()) {
    if (order.getTable() != table)
      continue;
    auto stage = stageOf.find(order.getStage().str());
    if (stage == stageOf.end())
      return order.emitOpError("is for unknown stage \"") << order.getStage() << "\"";
    if (orders[stage->second])
      return order.emitOpError("is the second table ") << table << " of \"" << order.getStage() << "\"";
    orders[stage->second] = order;
  }
  std::vector<Node> nodes;
  for (auto [s, order] : llvm::enumerate(orders)) {
    if (!order)
      return module.emitError("stage ") << s << " has no table \"" << table << "\"";
    if (failed(checkSlots(order)))
      return failure();
    for (Operation &op : order.getBody().front())
      if (isa<sched::RunOp, sched::TransfersOp>(op))
        nodes.push_back({unsigned(s), &op});
  }
  llvm::EquivalenceClasses<unsigned> meet;
  return success(succeeded(checkMatching(orders, nodes, meet)) && succeeded(checkOverStages(nodes, meet)) &&
                 succeeded(checkAcyclic(nodes, meet)));
}

LogicalResult Verifier::run() {
  SmallVector<place::MeshOp> meshes(module.getOps<place::MeshOp>());
  for (auto mesh : meshes) {
    if (uint64_t(mesh.getStage()) >= meshes.size())
      return mesh.emitOpError("has stage ") << mesh.getStage() << " of " << meshes.size();
    stageOf[mesh.getSymName().str()] = mesh.getStage();
  }
  if (meshes.empty() || stageOf.size() != meshes.size())
    return module.emitError("has no meshes");
  if (failed(checkComms()))
    return failure();
  for (auto task : module.getOps<sched::TaskOp>())
    if (failed(checkTask(task)))
      return failure();
  for (StringRef table : {"step", "eval", "init"})
    if (failed(checkTable(table)))
      return failure();
  return checkStreams();
}

struct VerifySchedulePass : impl::VerifySchedulePassBase<VerifySchedulePass> {
  void runOnOperation() override {
    if (failed(Verifier(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifySchedulePass() { return std::make_unique<VerifySchedulePass>(); }

} // namespace hocket
