#include "compiler/driver/Register.h"

#include "compiler/allocate/allocate.h"
#include "compiler/differentiate/Passes.h"
#include "compiler/import/Passes.h"
#include "compiler/partition/Passes.h"
#include "compiler/place/Passes.h"
#include "compiler/schedule/Passes.h"
#include "compiler/search/Passes.h"
#include "compiler/shard/Passes.h"
#include "dialects/model/Model.h"
#include "dialects/par/Par.h"
#include "dialects/place/Place.h"
#include "dialects/plan/Plan.h"
#include "dialects/sched/Sched.h"
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
  registry.insert<place::PlaceDialect>();
  registry.insert<sched::SchedDialect>();
  registry.insert<plan::PlanDialect>();
}

void hocket::registerAllPasses() {
  mlir::registerTransformsPasses();
  registerimportPasses();
  registerdifferentiatePasses();
  registerSearchPasses();
  shard::registerShardPasses();
  registerplacePasses();
  registerpartitionPasses();
  registerschedulePasses();
  allocate::registerAllocatePasses();
}
