// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-shard --hocket-verify-shard | FileCheck %s

// 257 classes on 4 devices: 260 everywhere, the loss is inlined and masks.

par.mesh {axes = ["tensor"], sizes = array<i64: 4>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
par.strategy {
  par.tile {axis = "micro", in = @loss, letter = "b", values = ["x"]}
  par.tile {axis = "tensor", in = @loss, letter = "v", values = ["head"]}
} {sym_name = "strategy"}

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[HEAD:.*]]: tensor<260x4xf64, #par.s<[{tensor}, {}]>> {model.dims = "vh", model.name = "head", model.valid = {v = 257 : i64}}
func.func @loss(%x: tensor<8x2x4xf64> {model.dims = "bsh", model.name = "x"},
                %labels: tensor<8x2xi32> {model.dims = "bs", model.name = "labels"},
                %head: tensor<257x4xf64> {model.dims = "vh", model.name = "head"}) -> (tensor<f64>, tensor<257x4xf64>) {
  // CHECK: %[[L:.*]] = model.dot({{.*}}) {dims = "bsh,vh->bsv"} : {{.*}} -> tensor<8x2x260xf64, #par.s<[{micro}, {}, {tensor}]>>
  %logits = model.dot(%x, %head) {dims = "bsh,vh->bsv"} : (tensor<8x2x4xf64>, tensor<257x4xf64>) -> tensor<8x2x257xf64>
  // CHECK: %[[I:.*]] = model.iota() {dims = "->v"} : () -> tensor<260xi32, #par.s<[{tensor}]>>
  // CHECK: model.map(%[[L]], %[[I]])
  // CHECK: arith.constant 257 : i32
  // CHECK: %[[MAX:.*]] = model.reduce({{.*}}) {dims = "bsv->bs", kind = "max"} : {{.*}} -> tensor<8x2xf64, #par.s<[{micro}, {}], partial = max{tensor}>>
  // CHECK: par.all_reduce(%[[MAX]]) {axes = ["tensor"], kind = "max"}
  // CHECK: model.reduce({{.*}}) {dims = "bsv->bs", kind = "sum"}
  // CHECK: par.all_reduce({{.*}}) {axes = ["tensor"], kind = "sum"}
  // CHECK: model.gather({{.*}}) {dims = "bsv,bs->bs"}
  // CHECK: par.all_reduce({{.*}}) {axes = ["tensor"], kind = "sum"}
  // CHECK: model.reduce({{.*}}) {dims = "bs->", kind = "sum"}
  // CHECK: par.all_reduce({{.*}}) {axes = ["micro"], kind = "sum"}
  %loss, %lse = model.xent(%logits, %labels) {dims = "bsv,bs->,bs", scale = 1.0 : f64} : (tensor<8x2x257xf64>, tensor<8x2xi32>) -> (tensor<f64>, tensor<8x2xf64>)
  // CHECK-NOT: model.xent
  // CHECK: arith.constant 257 : i32
  // CHECK: model.dot({{.*}}) {dims = "bsv,bsh->vh"} : {{.*}} -> tensor<260x4xf64, #par.s<[{tensor}, {}], partial = sum{micro}>>
  %d = model.xent_grad(%logits, %labels, %lse) {dims = "bsv,bs,bs->bsv", scale = 1.0 : f64} : (tensor<8x2x257xf64>, tensor<8x2xi32>, tensor<8x2xf64>) -> tensor<8x2x257xf64>
  %dhead = model.dot(%d, %x) {dims = "bsv,bsh->vh"} : (tensor<8x2x257xf64>, tensor<8x2x4xf64>) -> tensor<257x4xf64>
  return %loss, %dhead : tensor<f64>, tensor<257x4xf64>
}
