// REQUIRES: hocket-opt
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --emit-bytecode | hocket-opt | FileCheck %s

!x = tensor<2x4x8xf32>
!n = tensor<2x4xf32>
!q = tensor<2x4x2x2x4xf32>
!k = tensor<2x6x2x4xf32>
!e = tensor<2x4x2x2xf32>
!t = tensor<2x4xi32>
!s = tensor<f32>

// CHECK-LABEL: func.func @core(
// CHECK-SAME: model.dims = "vh", model.name = "emb", model.param = {decay, init = "normal", layout = "vh", name = "emb.weight", part = [0, 0, 1], std = 2.000000e-02 : f64}
// CHECK-SAME: -> (tensor<2x4x8xf32> {model.name = "y"})
func.func @core(%tokens: !t {model.name = "tokens", model.dims = "bs", model.input = "tokens"},
    %emb: tensor<16x8xf32> {model.name = "emb", model.dims = "vh", model.param = {name = "emb.weight", layout = "vh", part = [0, 0, 1], init = "normal", std = 0.02 : f64, decay}},
    %m: tensor<16x8xf32> {model.name = "m.emb", model.dims = "vh", model.state = {of = "emb", kind = "m"}},
    %lr: !s {model.name = "lr", model.dims = "", model.scalar = "lr"}, %off: index) -> (!x {model.name = "y"}) {
  // CHECK: model.gather(%{{.*}}, %{{.*}}, %{{.*}}) {dims = "vh,bs->bsh", model.names = ["x"]} : (tensor<16x8xf32>, tensor<2x4xi32>, index) -> tensor<2x4x8xf32>
  %x = model.gather(%emb, %tokens, %off) {dims = "vh,bs->bsh", model.names = ["x"]} : (tensor<16x8xf32>, !t, index) -> !x
  // CHECK: model.dot(%{{.*}}, %{{.*}}) {dims = "bsh,vh->bsv"}
  %l = model.dot(%x, %emb) {dims = "bsh,vh->bsv"} : (!x, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  // CHECK: model.gather(%{{.*}}, %{{.*}}) {dims = "bsv,bs->bs"}
  %g = model.gather(%l, %tokens) {dims = "bsv,bs->bs"} : (tensor<2x4x16xf32>, !t) -> !n
  // CHECK: model.scatter_add(%{{.*}}, %{{.*}}) {dims = "bsh,bs->vh"}
  %u = model.scatter_add(%x, %tokens) {dims = "bsh,bs->vh"} : (!x, !t) -> tensor<16x8xf32>
  // CHECK: model.reduce(%{{.*}}) {dims = "bsh->bs", kind = "max"}
  %r = model.reduce(%x) {dims = "bsh->bs", kind = "max"} : (!x) -> !n
  // CHECK: model.iota() {dims = "->s"} : () -> tensor<4xi32>
  %i = model.iota() {dims = "->s"} : () -> tensor<4xi32>
  // CHECK: model.iota(%{{.*}}) {dims = "->s"} : (index) -> tensor<4xi32>
  %j = model.iota(%off) {dims = "->s"} : (index) -> tensor<4xi32>
  // CHECK: model.constant() {dims = "->bs", value = 1.000000e+00 : f32} : () -> tensor<2x4xf32>
  %one = model.constant() {dims = "->bs", value = 1.0 : f32} : () -> !n
  // CHECK: model.map(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32, %{{.*}}: i32, %{{.*}}: f32, %{{.*}}: index):
  // CHECK: model.yield %{{.*}}, %{{.*}} : f32, i1
  // CHECK-NEXT: } {dims = "bsh,bs,s,,->bsh,bsh"} : (tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<4xi32>, tensor<f32>, index) -> (tensor<2x4x8xf32>, tensor<2x4x8xi1>)
  %y:2 = model.map(%x, %r, %i, %lr, %off) {
  ^bb0(%a: f32, %b: f32, %c: i32, %d: f32, %o: index):
    %0 = arith.addf %a, %b : f32
    %1 = arith.mulf %0, %d : f32
    %2 = arith.index_cast %o : index to i32
    %3 = arith.cmpi slt, %c, %2 : i32
    model.yield %1, %3 : f32, i1
  } {dims = "bsh,bs,s,,->bsh,bsh"} : (!x, !n, tensor<4xi32>, !s, index) -> (!x, tensor<2x4x8xi1>)
  return %y#0 : !x
}

// CHECK-LABEL: func.func @fused
func.func @fused(%x: !x, %w: tensor<8xf32>, %q: !q, %k: !k, %p: tensor<4xi32>, %kp: tensor<6xi32>, %labels: !t) {
  // CHECK: model.rmsnorm(%{{.*}}, %{{.*}}) {dims = "bsh,h->bsh,bs", eps = 1.000000e-05 : f64}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 1.0e-5 : f64} : (!x, tensor<8xf32>) -> (!x, !n)
  // CHECK: model.rmsnorm_grad
  %dx, %dw = model.rmsnorm_grad(%y, %x, %r, %w) {dims = "bsh,bsh,bs,h->bsh,h"} : (!x, !x, !n, tensor<8xf32>) -> (!x, tensor<8xf32>)
  // CHECK: model.layernorm
  %z, %m, %r2 = model.layernorm(%x, %w, %w) {dims = "bsh,h,h->bsh,bs,bs", eps = 1.0e-5 : f64} : (!x, tensor<8xf32>, tensor<8xf32>) -> (!x, !n, !n)
  // CHECK: model.layernorm_grad
  %ex, %ew, %eb = model.layernorm_grad(%z, %x, %m, %r2, %w) {dims = "bsh,bsh,bs,bs,h->bsh,h,h"} : (!x, !x, !n, !n, tensor<8xf32>) -> (!x, tensor<8xf32>, tensor<8xf32>)
  // CHECK: model.rope(%{{.*}}, %{{.*}}) {dims = "bsgrd,s->bsgrd", inverse, scaling = array<f64: 8.000000e+00, 1.000000e+00, 4.000000e+00, 3.200000e+01>, theta = 1.000000e+04 : f64}
  %h = model.rope(%q, %p) {dims = "bsgrd,s->bsgrd", theta = 1.0e4 : f64, inverse, scaling = array<f64: 8.0, 1.0, 4.0, 32.0>} : (!q, tensor<4xi32>) -> !q
  // CHECK: model.attention(
  // CHECK-SAME: mask = "causal"
  %o, %e = model.attention(%q, %k, %k, %p, %kp) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (!q, !k, !k, tensor<4xi32>, tensor<6xi32>) -> (!q, !e)
  // CHECK: model.attention_grad(
  %dq, %dk, %dv = model.attention_grad(%o, %q, %k, %k, %o, %e, %p, %kp) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd", mask = "none", scale = 0.5 : f64}
    : (!q, !q, !k, !k, !q, !e, tensor<4xi32>, tensor<6xi32>) -> (!q, !k, !k)
  // CHECK: model.xent(%{{.*}}, %{{.*}}) {dims = "bsv,bs->,bs", scale = 1.250000e-01 : f64, valid = 7 : i64}
  %l, %lse = model.xent(%x, %labels) {dims = "bsv,bs->,bs", scale = 0.125 : f64, valid = 7 : i64} : (!x, !t) -> (!s, !n)
  // CHECK: model.xent_grad
  %dl = model.xent_grad(%x, %labels, %lse) {dims = "bsv,bs,bs->bsv", scale = 0.125 : f64} : (!x, !t, !n) -> !x
  return
}

func.func private @body(%x: !x, %p: tensor<4xi32>, %w: tensor<8xf32>) -> (!x, !n) {
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 1.0e-5 : f64} : (!x, tensor<8xf32>) -> (!x, !n)
  return %y, %r : !x, !n
}

// CHECK-LABEL: func.func @stack
func.func @stack(%x: !x, %p: tensor<4xi32>, %w: tensor<3x8xf32>) -> (!x, tensor<3x2x4xf32>) {
  // CHECK: model.scan(%{{.*}}, %{{.*}}, %{{.*}}) {body = @body, carries = 1 : i64, range = array<i64: 5, 8>, reverse, shared = 1 : i64}
  %y:2 = model.scan(%x, %p, %w) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 5, 8>, reverse}
    : (!x, tensor<4xi32>, tensor<3x8xf32>) -> (!x, tensor<3x2x4xf32>)
  return %y#0, %y#1 : !x, tensor<3x2x4xf32>
}
