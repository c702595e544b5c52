//===- Verify.cpp - Invariants of place's ops -------------------------------===//
#include "dialects/place/Place.h"

using namespace mlir;
using namespace hocket::place;

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes and " << getSizes().size() << " sizes";
  return success();
}

LogicalResult StepOp::verify() { return success(); }
