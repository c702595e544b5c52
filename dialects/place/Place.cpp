#include "dialects/place/Place.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket::place;

#include "dialects/place/PlaceDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/place/PlaceOps.cpp.inc"

void PlaceDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/place/PlaceOps.cpp.inc"
      >();
}
