//===- Verify.cpp - Invariants of par's ops ---------------------------------===//
//
// What one op can see.  What the program as a whole must keep is checked by
// hocket-verify-shard.
//
//===----------------------------------------------------------------------===//
#include "dialects/par/Sharding.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace hocket::par;

/// Names are not empty and occur once; `seen` carries over several lists.
static LogicalResult verifyNames(Operation *op, ArrayAttr names, llvm::StringSet<> &seen) {
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    if (name.getValue().empty())
      return op->emitOpError("has an axis without a name");
    if (!seen.insert(name.getValue()).second)
      return op->emitOpError("names axis \"") << name.getValue() << "\" twice";
  }
  return success();
}

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes and " << getSizes().size() << " sizes";
  if (getTime().size() != getTimes().size())
    return emitOpError("names ") << getTime().size() << " time axes and " << getTimes().size() << " sizes";
  llvm::StringSet<> seen;
  if (failed(verifyNames(*this, getAxes(), seen)) || failed(verifyNames(*this, getTime(), seen)))
    return failure();
  int64_t product = 1;
  for (ArrayRef<int64_t> sizes : {getSizes(), getTimes()})
    for (int64_t size : sizes)
      if (size < 1 || size > (int64_t(1) << 24))
        return emitOpError("has an axis of size ") << size << "; sizes are 1 to 16777216";
      else if (__builtin_mul_overflow(product, size, &product))
        return emitOpError("has more devices and steps than 64 bits count");
  return success();
}

LogicalResult TileOp::verify() {
  if (getLetter().size() != 1)
    return emitOpError("letter \"") << getLetter() << "\" is not one letter";
  if (getValues().empty())
    return emitOpError("names no value");
  if (getAxis().empty())
    return emitOpError("has an axis without a name");
  return success();
}

LogicalResult PipelineOp::verify() {
  if (getAxis().empty())
    return emitOpError("has an axis without a name");
  int64_t before = 0;
  for (int64_t cut : getCuts()) {
    if (cut <= before)
      return emitOpError("cuts must rise from 1; ") << cut << " follows " << before;
    before = cut;
  }
  if (getSchedule() != "1f1b" && getSchedule() != "gpipe")
    return emitOpError("schedule \"") << getSchedule() << "\" is neither 1f1b nor gpipe";
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("reduces nothing");
  if (getInputs().size() != getResults_().size())
    return emitOpError("has ") << getInputs().size() << " operands and " << getResults_().size()
                               << " results";
  if (getAxes().empty())
    return emitOpError("names no axis");
  llvm::StringSet<> seen;
  if (failed(verifyNames(*this, getAxes(), seen)))
    return failure();
  if (getKind() != "sum" && getKind() != "max")
    return emitOpError("kind \"") << getKind() << "\" is neither sum nor max";
  for (auto [i, from, to] : llvm::enumerate(getInputs(), getResults_())) {
    auto type = cast<RankedTensorType>(from.getType());
    Sharding sharding = getSharding(type);
    // Local types (no encodings from partition on) say nothing about axes.
    bool local = sharding.whole() && getSharding(to.getType()).whole();
    if (!local) {
      for (StringRef axis : axesOf(getAxes()))
        if (!llvm::is_contained(sharding.partial, axis))
          return emitOpError("operand ") << i << " is not partial over \"" << axis << "\": " << type;
      if (sharding.kind != getKind())
        return emitOpError("operand ") << i << " is a partial " << sharding.kind << ", not " << getKind();
      llvm::erase_if(sharding.partial, [&](StringRef axis) { return seen.contains(axis); });
    }
    RankedTensorType expected = withSharding(type, sharding);
    if (to.getType() != expected)
      return emitOpError("result ") << i << " is " << to.getType() << ", must be " << expected;
  }
  return success();
}

LogicalResult CoordOp::verify() {
  llvm::StringSet<> seen;
  if (getAxes().empty())
    return emitOpError("names no axis");
  if (failed(verifyNames(*this, getAxes(), seen)))
    return failure();
  if (int64_t(getTimes()) < 0)
    return emitOpError("is multiplied by ") << int64_t(getTimes()) << ", which is negative";
  return success();
}
