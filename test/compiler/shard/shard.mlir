// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-shard --hocket-verify-shard | FileCheck %s

// A step of two linear layers and an update: partial sums over f are added
// before they are reduced, gradients are summed over time where they are made
// and over data in one bucket.

par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2, 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
par.strategy {
  par.tile {axis = "data", in = @step, letter = "b", values = ["x"]}
  par.tile {axis = "micro", in = @step, letter = "b", values = ["x"]}
  par.tile {axis = "tensor", in = @step, letter = "f", values = ["layer.u"]}
} {sym_name = "strategy"}

// f is sharded in w as well, found through u and the map; h is not.
// CHECK-LABEL: func.func @layer.fwd(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8x4xf32, #par.s<[{data, micro}, {}]>>
// CHECK-SAME: %[[U:[a-z0-9]*]]: tensor<4x6xf32, #par.s<[{}, {tensor}]>>
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<6x4xf32, #par.s<[{tensor}, {}]>>
// CHECK-SAME: -> (tensor<8x4xf32, #par.s<[{data, micro}, {}]>>, tensor<8x6xf32, #par.s<[{data, micro}, {tensor}]>>)
func.func @layer.fwd(%x: tensor<8x4xf32> {model.dims = "bh", model.name = "x"},
                     %u: tensor<4x6xf32> {model.dims = "hf", model.name = "u"},
                     %w: tensor<6x4xf32> {model.dims = "fh", model.name = "w"}) -> (tensor<8x4xf32>, tensor<8x6xf32>) {
  // CHECK: %[[M:.*]] = model.dot(%[[X]], %[[U]])
  %m = model.dot(%x, %u) {dims = "bh,hf->bf"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  // CHECK: %[[P:.*]] = model.dot(%[[M]], %[[W]]) {{.*}} -> tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>
  %p = model.dot(%m, %w) {dims = "bf,fh->bh"} : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  // CHECK: %[[Q:.*]] = model.map(%[[P]], %[[P]])
  // CHECK: -> tensor<8x4xf32, #par.s<[{data, micro}, {}], partial = sum{tensor}>>
  %q = model.map(%p, %p) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.addf %i, %j : f32
    model.yield %0 : f32
  } {dims = "bh,bh->bh"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: %[[S:.*]] = par.all_reduce(%[[Q]]) {axes = ["tensor"], kind = "sum"}
  // CHECK: model.map(%[[X]], %[[S]])
  %z = model.map(%x, %q) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.addf %i, %j : f32
    model.yield %0 : f32
  } {dims = "bh,bh->bh"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %z, %m : tensor<8x4xf32>, tensor<8x6xf32>
}

// CHECK-LABEL: func.func @layer.wgrad(
func.func @layer.wgrad(%dz: tensor<8x4xf32> {model.dims = "bh", model.name = "dz"},
                       %m: tensor<8x6xf32> {model.dims = "bf", model.name = "m"}) -> (tensor<8x4xf32>, tensor<6x4xf32>) {
  // A sum over micro-batches stays partial inside a layer.
  // CHECK: model.dot({{.*}}) {dims = "bf,bh->fh"} : {{.*}} -> tensor<6x4xf32, #par.s<[{tensor}, {}], partial = sum{data, micro}>>
  // CHECK-NOT: all_reduce
  // CHECK: return
  %dw = model.dot(%m, %dz) {dims = "bf,bh->fh"} : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %dz, %dw : tensor<8x4xf32>, tensor<6x4xf32>
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: tensor<3x4x6xf32, #par.s<[{}, {}, {tensor}]>>
// CHECK-SAME: tensor<3x6x4xf32, #par.s<[{}, {tensor}, {}]>>
func.func @step(%x: tensor<8x4xf32> {model.dims = "bh", model.name = "x"},
                %u: tensor<3x4x6xf32> {model.dims = "lhf", model.name = "layer.u"},
                %w: tensor<3x6x4xf32> {model.dims = "lfh", model.name = "layer.w"},
                %n: tensor<4xf32> {model.dims = "h", model.name = "n"}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  // CHECK: %[[F:.*]]:2 = model.scan
  // CHECK-SAME: tensor<3x8x6xf32, #par.s<[{}, {data, micro}, {tensor}]>>)
  %z, %m = model.scan(%x, %u, %w) {body = @layer.fwd, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>}
    : (tensor<8x4xf32>, tensor<3x4x6xf32>, tensor<3x6x4xf32>) -> (tensor<8x4xf32>, tensor<3x8x6xf32>)
  // The loss is no gradient: over time at once, over data at the end.
  // CHECK: %[[L0:.*]] = model.reduce({{.*}}) {dims = "bh->", kind = "sum"} : {{.*}} -> tensor<f32, #par.s<[], partial = sum{data, micro}>>
  // CHECK-NEXT: %[[L1:.*]] = par.all_reduce(%[[L0]]) {axes = ["micro"], kind = "sum"}
  %loss = model.reduce(%z) {dims = "bh->", kind = "sum"} : (tensor<8x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[N0:.*]] = model.reduce({{.*}}) {dims = "bh->h", kind = "sum"}
  // CHECK-NEXT: %[[N1:.*]] = par.all_reduce(%[[N0]]) {axes = ["micro"], kind = "sum"}
  %dn = model.reduce(%z) {dims = "bh->h", kind = "sum"} : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[B:.*]]:2 = model.scan
  // CHECK-NEXT: %[[W1:.*]] = par.all_reduce(%[[B]]#1) {axes = ["micro"], kind = "sum"}
  // CHECK-NEXT: %[[W2:.*]] = par.all_reduce(%[[W1]]) {axes = ["data"], bucket, kind = "sum"}
  %dx, %dw = model.scan(%z, %m) {body = @layer.wgrad, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>, reverse}
    : (tensor<8x4xf32>, tensor<3x8x6xf32>) -> (tensor<8x4xf32>, tensor<3x6x4xf32>)
  // CHECK-NEXT: %[[E0:.*]] = model.reduce
  // CHECK-NEXT: %[[E1:.*]] = par.all_reduce(%[[E0]]) {axes = ["micro"], kind = "sum"}
  %de = model.reduce(%dx) {dims = "bh->h", kind = "sum"} : (tensor<8x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[R:.*]]:2 = par.all_reduce(%[[N1]], %[[E1]]) {axes = ["data"], bucket, kind = "sum"}
  // CHECK-NEXT: %[[Q0:.*]] = model.dot(%[[R]]#0, %[[R]]#1)
  %q0 = model.dot(%dn, %de) {dims = "h,h->"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[Q1:.*]] = model.dot(%[[W2]], %[[W2]]) {{.*}} -> tensor<f32, #par.s<[], partial = sum{tensor}>>
  %q1 = model.dot(%dw, %dw) {dims = "lfh,lfh->"} : (tensor<3x6x4xf32>, tensor<3x6x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %[[L2:.*]] = par.all_reduce(%[[L1]]) {axes = ["data"], kind = "sum"}
  // CHECK-NEXT: %[[Q2:.*]] = par.all_reduce(%[[Q1]]) {axes = ["tensor"], kind = "sum"}
  // CHECK-NEXT: return %[[L2]], %[[Q0]], %[[Q2]]
  return %loss, %q0, %q1 : tensor<f32>, tensor<f32>, tensor<f32>
}
