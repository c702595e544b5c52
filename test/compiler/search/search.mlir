// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-search="mesh=data=2,tensor=2,pipeline=4 micro-batch=2 schedule=gpipe" | FileCheck %s
// RUN: hocket-opt %s --hocket-search="mesh=data=1 micro-batch=8" | FileCheck %s --check-prefix=ONE
// RUN: not hocket-opt %s --hocket-search="mesh=data=3 micro-batch=2" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not hocket-opt %s --hocket-search="mesh=pipeline=8 micro-batch=2" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not hocket-opt %s --hocket-search="mesh=dada=8" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not hocket-opt %s --hocket-search="schedule=zb" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not hocket-opt %s --hocket-search --hocket-search 2>&1 | FileCheck %s --check-prefix=TWICE

// Six layers on four stages: the earlier ones take the remainder.
// CHECK:      par.mesh {axes = ["pipeline", "data", "tensor"], sizes = array<i64: 4, 2, 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 4>}
// CHECK-NEXT: par.strategy {
// CHECK-NEXT:   par.tile {axis = "data", in = @step, letter = "b", values = ["tokens"]}
// CHECK-NEXT:   par.tile {axis = "micro", in = @step, letter = "b", values = ["tokens"]}
// CHECK-NEXT:   par.tile {axis = "tensor", in = @step, letter = "g", values = ["layer.wq"]}
// CHECK-NEXT:   par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 2, 4, 5>, schedule = "gpipe"}
// CHECK-NEXT: } {sym_name = "strategy"}

// Axes of size 1 shard nothing; the time axis stays.
// ONE:      par.mesh {{.*}} sizes = array<i64: 1, 1, 1>{{.*}} times = array<i64: 2>}
// ONE-NEXT: par.strategy {
// ONE-NEXT:   par.tile {axis = "micro", in = @step, letter = "b", values = ["tokens"]}
// ONE-NEXT:   par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64>, schedule = "1f1b"}

// BATCH: error: batch of 16 does not divide over data=3 and micro-batches of 2
// STAGES: error: has 6 layers, fewer than the 8 stages of the pipeline
// MESH: dada
// SCHEDULE: error: hocket-search: schedule must be 1f1b or gpipe
// TWICE: error: has a strategy already
func.func @layer(%x: tensor<16x4xf32>, %wq: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %0 = model.dot(%x, %wq) {dims = "bh,hg->bg"} : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
func.func @step(%tokens: tensor<16x4xf32> {model.dims = "bh", model.input = "tokens", model.name = "tokens"},
                %wq: tensor<6x4x4xf32> {model.dims = "lhg", model.name = "layer.wq"}) -> tensor<16x4xf32> {
  %0 = model.scan(%tokens, %wq) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 6>} : (tensor<16x4xf32>, tensor<6x4x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
