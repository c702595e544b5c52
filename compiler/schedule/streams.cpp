#include "compiler/schedule/steps.h"
#include "dialects/par/Sharding.h"
#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;

namespace hocket::schedule {

int64_t sharedDevices(par::MeshOp mesh, sched::CommOp x, sched::CommOp y) {
  par::Axes shared;
  for (Attribute axis : x.getAxes())
    if (llvm::is_contained(y.getAxes(), axis))
      shared.push_back(cast<StringAttr>(axis).getValue());
  return par::shards(shared, [&](StringRef axis) { return par::axisSize(mesh, axis); });
}

LogicalResult shareStreams(ModuleOp module) {
  SmallVector<sched::CommOp> comms(module.getOps<sched::CommOp>());
  par::MeshOp mesh = par::findMesh(module);
  if (!mesh)
    return module.emitError("has no par.mesh");
  // Pair communicators first: transfers carry the stream's name already.
  llvm::stable_sort(comms, [](sched::CommOp x, sched::CommOp y) { return x.getPair() && !y.getPair(); });
  std::vector<unsigned> first(comms.size()); // number of the communicator that names the stream
  for (unsigned i = 0; i < comms.size(); ++i) {
    first[i] = i;
    for (unsigned j = 0; j < i; ++j)
      if (sharedDevices(mesh, comms[i], comms[j]) > 1) {
        unsigned from = std::max(first[i], first[j]), to = std::min(first[i], first[j]);
        std::replace(first.begin(), first.begin() + i + 1, from, to);
      }
  }
  llvm::StringMap<StringRef> stream;
  for (auto [i, comm] : llvm::enumerate(comms))
    stream[comm.getSymName()] = comms[first[i]].getSymName();
  module.walk([&](sched::CollectiveOp op) { op.setStream(stream.lookup(op.getComm())); });
  return success();
}

} // namespace hocket::schedule
