//===- Passes.h - Passes of the phase shard ---------------------------------===//
#pragma once

#include "dialects/model/Model.h"
#include "dialects/par/Par.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hocket::shard {
#define GEN_PASS_DECL
#include "compiler/shard/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "compiler/shard/Passes.h.inc"
} // namespace hocket::shard
