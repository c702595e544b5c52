#include "dialects/topo/Topo.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace hocket::topo;

#include "dialects/topo/TopoDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/topo/TopoOps.cpp.inc"

void TopoDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/topo/TopoOps.cpp.inc"
      >();
}

namespace {

LogicalResult verifyPositive(Operation *op, StringRef name, const APFloat &value) {
  double d = value.convertToDouble();
  if (std::isfinite(d) && d > 0)
    return success();
  return op->emitOpError("'") << name << "' must be finite and above zero";
}

} // namespace

//===----------------------------------------------------------------------===//
// cluster
//===----------------------------------------------------------------------===//

IslandOp ClusterOp::getRoot() {
  auto islands = getBody().getOps<IslandOp>();
  return islands.empty() ? IslandOp() : *islands.begin();
}

int64_t ClusterOp::getRanks() {
  int64_t ranks = 1;
  for (IslandOp i = getRoot(); i; i = i.getInner())
    ranks *= i.getCount() * static_cast<int64_t>(i.getEach().value_or(1));
  return ranks;
}

LogicalResult ClusterOp::verifyRegions() {
  for (Operation &op : getBody().getOps())
    if (!isa<DeviceOp, IslandOp>(op))
      return op.emitOpError("cannot stand in a 'topo.cluster': it holds devices and one island");
  auto islands = getBody().getOps<IslandOp>();
  if (std::distance(islands.begin(), islands.end()) != 1)
    return emitOpError("must hold exactly one outermost island");
  if (getRoot().getCount() != 1)
    return getRoot().emitOpError("is the outermost: its count must be 1");
  // Every factor is at most kMaxRanks (IslandOp::verify), so the product is
  // checked before it can overflow.
  llvm::SmallPtrSet<StringAttr, 8> names;
  int64_t ranks = 1;
  for (IslandOp i = getRoot(); i; i = i.getInner()) {
    if (!names.insert(i.getLabelAttr()).second)
      return i.emitOpError("has the label of an island around it");
    for (int64_t factor :
         {static_cast<int64_t>(i.getCount()), static_cast<int64_t>(i.getEach().value_or(1))}) {
      ranks *= factor;
      if (ranks > kMaxRanks)
        return emitOpError("has more than ") << kMaxRanks << " devices";
    }
    if (i.getOf() && !isa_and_nonnull<DeviceOp>(mlir::SymbolTable::lookupSymbolIn(*this, i.getOfAttr())))
      return i.emitOpError("names @") << *i.getOf() << ", which is no device of this cluster";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// device
//===----------------------------------------------------------------------===//

LogicalResult DeviceOp::verify() {
  static constexpr StringRef isas[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
  if (!llvm::is_contained(isas, getIsa()))
    return emitOpError("isa must be x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, not '") << getIsa() << "'";
  if (getMemory() <= 0)
    return emitOpError("'memory' must be above zero");
  if (getThreads() < 1 || getThreads() > 1024)
    return emitOpError("'threads' must be from 1 to 1024");
  if (!getRateF32() && !getRateF64())
    return emitOpError("needs rate_f32, rate_f64 or both");
  if (getRateF32() && failed(verifyPositive(*this, "rate_f32", *getRateF32())))
    return failure();
  if (getRateF64() && failed(verifyPositive(*this, "rate_f64", *getRateF64())))
    return failure();
  return verifyPositive(*this, "memory_rate", getMemoryRate());
}

//===----------------------------------------------------------------------===//
// island
//===----------------------------------------------------------------------===//

IslandOp IslandOp::getInner() {
  auto islands = getBody().getOps<IslandOp>();
  return islands.empty() ? IslandOp() : *islands.begin();
}

LogicalResult IslandOp::verify() {
  if (getCount() < 1 || getCount() > kMaxRanks)
    return emitOpError("'count' must be from 1 to ") << kMaxRanks;
  if (getEach() && (*getEach() < 1 || *getEach() > kMaxRanks))
    return emitOpError("'each' must be from 1 to ") << kMaxRanks;
  if (getOf().has_value() != getEach().has_value())
    return emitOpError("needs 'of' and 'each' together");
  if (failed(verifyPositive(*this, "rate", getRate())))
    return failure();
  double latency = getLatency().convertToDouble();
  if (!std::isfinite(latency) || latency < 0)
    return emitOpError("'latency' must be finite and not negative");
  return success();
}

LogicalResult IslandOp::verifyRegions() {
  auto ops = getBody().getOps();
  auto count = std::distance(ops.begin(), ops.end());
  if (getOf() && count != 0)
    return emitOpError("holds devices and cannot hold islands too");
  if (!getOf() && (count != 1 || !getInner()))
    return emitOpError("must hold devices, or exactly one island");
  return success();
}
