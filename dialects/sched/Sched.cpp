#include "dialects/sched/Sched.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace hocket::sched;

#include "dialects/sched/SchedDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/sched/SchedOps.cpp.inc"

void SchedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/sched/SchedOps.cpp.inc"
      >();
}
