//===- Model.h - The model dialect ------------------------------------------===//
#pragma once

#include "dialects/model/Dims.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/model/ModelDialect.h.inc"
#include "dialects/model/ModelInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/model/ModelOps.h.inc"
