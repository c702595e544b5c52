//===- Verify.cpp - Invariants of plan's ops --------------------------------===//
//
// Local ones only.  Hazards, matching and deadlock are proved on the finished
// plan by runtime/verify, the same for the compiler and the runtime.
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Plan.h"

using namespace mlir;
using namespace hocket::plan;

LogicalResult MeshOp::verify() {
  if (getSizes().size() != getAxes().size() || getStrides().size() != getAxes().size())
    return emitOpError("has ") << getAxes().size() << " axes, " << getSizes().size() << " sizes and "
                               << getStrides().size() << " strides";
  int64_t micros = int64_t(getMicroBatches());
  if (micros < 1 || micros > (int64_t(1) << 24))
    return emitOpError("has ") << micros << " micro-batches; 1 to 16777216";
  return success();
}

LogicalResult ClassOp::verify() {
  if (getFirst().size() != getLast().size())
    return emitOpError("first has ") << getFirst().size() << " coordinates and last " << getLast().size();
  for (auto [a, b] : llvm::zip(getFirst(), getLast()))
    if (a < 0 || a > b)
      return emitOpError("covers no rank: first ") << a << ", last " << b;
  if (int64_t(getEvents()) < 0)
    return emitOpError("has ") << int64_t(getEvents()) << " events";
  for (int64_t e : getFirstUse())
    if (e < 0 || e >= int64_t(getEvents()))
      return emitOpError("first_use names event ") << e << " of " << getEvents();
  return success();
}

// Reads its regions' attributes, so they are verified first.
LogicalResult ClassOp::verifyRegions() {
  int64_t end = 0;
  for (RegionOp region : getBody().getOps<RegionOp>()) {
    if (int64_t(region.getOffset()) < end)
      return region.emitOpError("overlaps the region before it: starts at ")
             << int64_t(region.getOffset()) << ", legal from " << end;
    end = region.getOffset() + region.getBytes();
  }
  if (end > int64_t(getArena()))
    return emitOpError("regions end at ") << end << ", the arena at " << getArena();
  return success();
}

LogicalResult RegionOp::verify() {
  if (int64_t(getBytes()) < 0)
    return emitOpError("bytes = ") << int64_t(getBytes()) << "; at least 0";
  for (auto [n, what] : {std::pair{getSlots(), "slots"}, {getLayers(), "layers"}, {getMicros(), "micros"}})
    if (int64_t(n) < 1)
      return emitOpError(what) << " = " << int64_t(n) << "; at least 1";
  return success();
}

LogicalResult ListOp::verify() {
  if (getEntries().size() % 6)
    return emitOpError("entries come in sixes (template, micro-batch, four slots), got ")
           << getEntries().size();
  return success();
}

LogicalResult RepeatOp::verify() {
  int64_t from = getFrom(), to = getTo(), step = getStep();
  for (int64_t n : {from, to, step})
    if (n < INT32_MIN || n > INT32_MAX)
      return emitOpError("counts with ") << n << ", which has more than 32 bits";
  if (step == 0 || (to - from) % step != 0 || (to - from) / step < 0)
    return emitOpError("never ends: from ") << from << " to " << to << " by " << step;
  for (Operation &op : getBody().front())
    if (isa<RepeatOp>(op))
      return op.emitOpError("is nested in a repeat; repeats are flat");
  return success();
}
