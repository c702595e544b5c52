//===- Topo.h - The topo dialect --------------------------------------------===//
//
// Level 1: the cluster.  Takes nothing from other dialects.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "dialects/topo/TopoDialect.h.inc"

namespace hocket::topo {
class IslandOp;
/// Most devices of a cluster.
inline constexpr int64_t kMaxRanks = 1 << 20;
} // namespace hocket::topo

#define GET_OP_CLASSES
#include "dialects/topo/TopoOps.h.inc"
