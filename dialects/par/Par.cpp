#include "dialects/par/Par.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::par;

#include "dialects/par/ParDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/par/ParOps.cpp.inc"

void ParDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/par/ParOps.cpp.inc"
      >();
}
