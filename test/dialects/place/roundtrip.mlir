// REQUIRES: hocket-opt
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK: place.mesh {axes = ["data"], device = 0 : i64, layers = array<i64: 0, 2>, sizes = array<i64: 2>, stage = 0 : i64, strides = array<i64: 1>, sym_name = "s0"}
place.mesh {device = 0 : i64, strides = array<i64: 1>, sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, stage = 0 : i64, layers = array<i64: 0, 2>}
place.mesh {device = 2 : i64, strides = array<i64: 1>, sym_name = "s1", axes = ["data"], sizes = array<i64: 2>, stage = 1 : i64, layers = array<i64: 2, 4>}
// CHECK: place.param {checkpoint = {init = "normal", layout = "hk", name = "w"}, dims = "hk", layers = array<i64: 0, 2>, mesh = @s0, name = "layer.w", owner = true, stacked = true, type = tensor<8x8xf32>, valid = {h = 7 : i64}}
place.param {mesh = @s0, name = "layer.w", dims = "hk", type = tensor<8x8xf32>, checkpoint = {init = "normal", layout = "hk", name = "w"}, valid = {h = 7 : i64}, stacked = true, layers = array<i64: 0, 2>, owner = true}
// CHECK: place.input {mesh = @s0, name = "tokens", type = tensor<4x4xi32>}
place.input {mesh = @s0, name = "tokens", type = tensor<4x4xi32>}
// CHECK: place.step {
place.step {
  // CHECK: %[[X:.*]] = place.task() {fn = @f, mesh = @s0, name = "F"} : () -> tensor<f32>
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // CHECK: place.transfer(%[[X]]) {from = @s0, source = "send x", target = "recv x", to = @s1} : (tensor<f32>) -> tensor<f32>
  %y = place.transfer(%x) {source = "send x", target = "recv x", from = @s0, to = @s1} : (tensor<f32>) -> tensor<f32>
  place.yield(%x, %y) : (tensor<f32>, tensor<f32>) -> ()
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  // CHECK: place.all_reduce({{.*}}) {kind = "sum", meshes = [@s0, @s1]}
  %n = place.all_reduce(%a, %b) {meshes = [@s0, @s1], kind = "sum"} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  place.yield(%n) : (tensor<f32>) -> ()
// CHECK: {metrics = ["loss"], micro = 1 : i64, order = {s0 = ["F.0"], s1 = []}}
} {micro = 1 : i64, metrics = ["loss"], order = {s0 = ["F.0"], s1 = []}}
