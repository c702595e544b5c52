#include "dialects/model/Model.h"

#include "dialects/model/ModelDialect.cpp.inc"
#include "dialects/model/ModelInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/model/ModelOps.cpp.inc"

void hocket::model::ModelDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/model/ModelOps.cpp.inc"
      >();
}
