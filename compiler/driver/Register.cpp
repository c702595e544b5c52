#include "compiler/driver/Register.h"

#include "compiler/differentiate/Passes.h"
#include "compiler/import/Passes.h"
#include "compiler/search/Passes.h"
#include "compiler/shard/Passes.h"
#include "dialects/model/Model.h"
#include "dialects/par/Par.h"
#include "dialects/topo/Topo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"

void hocket::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  registry.insert<topo::TopoDialect>();
  registry.insert<model::ModelDialect>();
  registry.insert<par::ParDialect>();
}

void hocket::registerAllPasses() {
  mlir::registerTransformsPasses();
  registerimportPasses();
  registerdifferentiatePasses();
  registerSearchPasses();
  shard::registerShardPasses();
}
