//===- Par.h - The par dialect ----------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/par/ParDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/par/ParAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/par/ParOps.h.inc"
