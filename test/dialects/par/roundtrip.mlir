// REQUIRES: hocket-opt
// RUN: hocket-opt %s | FileCheck %s
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --emit-bytecode | hocket-opt | FileCheck %s

// CHECK: par.mesh {axes = ["pipeline", "data", "tensor"], sizes = array<i64: 2, 2, 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 4>}
par.mesh {axes = ["pipeline", "data", "tensor"], sizes = array<i64: 2, 2, 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 4>}

// CHECK-NEXT: par.strategy {
// CHECK-NEXT:   par.tile {axis = "data", in = @f, letter = "b", values = ["x", "y"]}
// CHECK-NEXT:   par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 2, 3>, schedule = "gpipe"}
// CHECK-NEXT: } {sym_name = "strategy"}
par.strategy {
  par.tile {axis = "data", in = @f, letter = "b", values = ["x", "y"]}
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 2, 3>, schedule = "gpipe"}
} {sym_name = "strategy"}

// CHECK-LABEL: func.func @f(
// CHECK-SAME: tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>
// CHECK-SAME: tensor<f32, #par.s<[], partial = max{tensor}>>
func.func @f(%x: tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>,
             %m: tensor<f32, #par.s<[], partial = max{tensor}>>,
             %local: tensor<8xf32>) {
  // CHECK: par.all_reduce(%{{.*}}) {axes = ["tensor"], kind = "sum"} : (tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>) -> tensor<8x4xf32, #par.s<[{data, micro}, {}]>>
  %0 = par.all_reduce(%x) {axes = ["tensor"], kind = "sum"} : (tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>) -> tensor<8x4xf32, #par.s<[{data, micro}, {}]>>
  // CHECK: par.all_reduce(%{{.*}}) {axes = ["tensor"], kind = "max"} : (tensor<f32, #par.s<[], partial = max{tensor}>>) -> tensor<f32>
  %1 = par.all_reduce(%m) {axes = ["tensor"], kind = "max"} : (tensor<f32, #par.s<[], partial = max{tensor}>>) -> tensor<f32>
  // CHECK: par.all_reduce(%{{.*}}, %{{.*}}) {axes = ["data"], bucket, kind = "sum"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  %2:2 = par.all_reduce(%local, %local) {axes = ["data"], bucket, kind = "sum"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: par.coord() {axes = ["data", "tensor"], times = 16 : i64} : () -> index
  %3 = par.coord() {axes = ["data", "tensor"], times = 16 : i64} : () -> index
  return
}
