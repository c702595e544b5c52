//===- Verify.cpp - Invariants of par's ops ---------------------------------===//
#include "dialects/par/Par.h"

using namespace mlir;
using namespace hocket::par;

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes and " << getSizes().size() << " sizes";
  if (getTime().size() != getTimes().size())
    return emitOpError("names ") << getTime().size() << " time axes and " << getTimes().size() << " sizes";
  return success();
}

LogicalResult TileOp::verify() {
  if (getLetter().size() != 1)
    return emitOpError("letter \"") << getLetter() << "\" is not one letter";
  return success();
}

LogicalResult PipelineOp::verify() { return success(); }
LogicalResult AllReduceOp::verify() { return success(); }
