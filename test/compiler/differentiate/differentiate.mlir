// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --hocket-differentiate="clip=0.5 decay=0.25" --hocket-verify-differentiate | FileCheck %s
// RUN: hocket-opt %s --split-input-file --hocket-differentiate="clip=0" --hocket-verify-differentiate | FileCheck %s --check-prefix=UNCLIPPED

// A layer of one product, a bias and a residual stream.
func.func @layer(%x: tensor<2x3xf32> {model.name = "x", model.dims = "bh"}, %w: tensor<3x3xf32> {model.name = "w", model.dims = "hk"},
                 %c: tensor<3xf32> {model.name = "c", model.dims = "k"}) -> tensor<2x3xf32> {
  %p = model.dot(%x, %w) {dims = "bh,hk->bk", model.names = ["p"]} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
  %t = model.map(%p, %c) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.addf %i, %j : f32
    %1 = math.tanh %0 : f32
    model.yield %1 : f32
  } {dims = "bk,k->bk", model.names = ["t"]} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %z = model.map(%x, %t) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.addf %i, %j : f32
    model.yield %0 : f32
  } {dims = "bh,bh->bh", model.names = ["z"]} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  return %z : tensor<2x3xf32>
}
func.func @loss(%tok: tensor<2xi32> {model.name = "tokens", model.dims = "b", model.input = "tokens"}, %lab: tensor<2xi32> {model.name = "labels", model.dims = "b", model.input = "labels"},
    %emb: tensor<5x3xf32> {model.name = "emb", model.dims = "vh", model.param = {name = "emb", layout = "vh", part = [0, 0, 1], init = "normal", std = 0.02 : f64, decay}},
    %w: tensor<4x3x3xf32> {model.name = "layer.w", model.dims = "lhk", model.param = {name = "{l}.w", layout = "hk", part = [0, 0, 1], init = "normal", std = 0.02 : f64, decay}},
    %c: tensor<4x3xf32> {model.name = "layer.c", model.dims = "lk", model.param = {name = "{l}.c", layout = "k", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %x = model.gather(%emb, %tok) {dims = "vh,b->bh"} : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %y = model.scan(%x, %w, %c) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 4>} : (tensor<2x3xf32>, tensor<4x3x3xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %g = model.dot(%y, %emb) {dims = "bh,vh->bv"} : (tensor<2x3xf32>, tensor<5x3xf32>) -> tensor<2x5xf32>
  %l, %e = model.xent(%g, %lab) {dims = "bv,b->,b", scale = 0.5 : f64} : (tensor<2x5xf32>, tensor<2xi32>) -> (tensor<f32>, tensor<2xf32>)
  return %l : tensor<f32>
}

// The residuals: x for the weight gradient, p for tanh's derivative; not t.
// CHECK-LABEL: func.func @layer.fwd(
// CHECK-SAME: -> (tensor<2x3xf32> {model.name = "z"}, tensor<2x3xf32> {model.name = "x"}, tensor<2x3xf32> {model.name = "p"})

// One map for dp; c's gradient is its sum over b; dx = dz + dp.w.
// CHECK-LABEL: func.func @layer.bwd(
// CHECK-SAME: %[[DZ:.*]]: tensor<2x3xf32> {model.dims = "bh", model.name = "dz"}, %[[P:.*]]: tensor<2x3xf32> {model.dims = "bk", model.name = "p"}
// CHECK-SAME: %[[W:.*]]: tensor<3x3xf32> {model.dims = "hk", model.name = "w"}, %[[C:.*]]: tensor<3xf32> {model.dims = "k", model.name = "c"})
// CHECK-SAME: -> (tensor<2x3xf32> {model.name = "dx"}, tensor<3xf32> {model.name = "c"}, tensor<2x3xf32> {model.name = "dp"})
// CHECK-NEXT: %[[DP:.*]] = model.map(%[[P]], %[[C]], %[[DZ]])
// CHECK: math.tanh
// CHECK-NOT: math.tanh
// CHECK: dims = "bk,k,bk->bk"
// CHECK-NEXT: %[[DC:.*]] = model.reduce(%[[DP]]) {dims = "bk->k", kind = "sum"}
// CHECK-NEXT: %[[PX:.*]] = model.dot(%[[DP]], %[[W]]) {dims = "bk,hk->bh"}
// CHECK-NEXT: %[[DX:.*]] = model.map(%[[DZ]], %[[PX]])
// CHECK: return %[[DX]], %[[DC]], %[[DP]]

// CHECK-LABEL: func.func @layer.wgrad(
// CHECK-SAME: model.name = "x"}, %{{.*}}model.name = "dp"}) -> (tensor<3x3xf32> {model.name = "w"})
// CHECK-NEXT: model.dot(%{{.*}}, %{{.*}}) {dims = "bh,bk->hk"}
// CHECK-NEXT: return

// CHECK-LABEL: func.func @layer.back(
// CHECK-SAME: -> (tensor<2x3xf32> {model.name = "dx"}, tensor<3x3xf32> {model.name = "w"}, tensor<3xf32> {model.name = "c"})
// CHECK-NEXT: %[[BWD:.*]]:3 = call @layer.bwd(
// CHECK-NEXT: %[[WG:.*]] = call @layer.wgrad(%{{.*}}, %[[BWD]]#2)
// CHECK-NEXT: return %[[BWD]]#0, %[[WG]], %[[BWD]]#1

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[TOK:.*]]: tensor<2xi32> {{{.*}}}, %[[LAB:.*]]: tensor<2xi32> {{{.*}}}, %[[LR:.*]]: tensor<f32> {model.dims = "", model.name = "lr", model.scalar = "lr"}
// CHECK-SAME: %[[C1:.*]]: tensor<f32> {model.dims = "", model.name = "c1", model.scalar = "c1"}, %[[C2:.*]]: tensor<f32> {model.dims = "", model.name = "c2"
// CHECK-SAME: %[[EMB:[a-z0-9]*]]: tensor<5x3xf32> {model.dims = "vh", model.name = "emb", model.param
// CHECK-SAME: %[[MEMB:[a-z0-9]*]]: tensor<5x3xf32> {model.dims = "vh", model.name = "m.emb", model.state = {kind = "m", of = "emb"}}
// CHECK-SAME: %[[VEMB:[a-z0-9]*]]: tensor<5x3xf32> {model.dims = "vh", model.name = "v.emb", model.state = {kind = "v", of = "emb"}}
// CHECK-SAME: -> (tensor<f32> {model.name = "loss"}, tensor<f32> {model.name = "grad_norm"}, tensor<5x3xf32> {model.name = "emb"}, tensor<4x3x3xf32> {model.name = "layer.w"}
// CHECK-SAME: tensor<5x3xf32> {model.name = "m.emb"}
// CHECK: %[[F:.*]]:3 = model.scan({{.*}}) {body = @layer.fwd, carries = 1 : i64, model.names = ["scan0", "layer.x", "layer.p"], range = array<i64: 0, 4>, shared = 0 : i64}
// CHECK: model.xent(
// CHECK-NEXT: model.xent_grad(
// CHECK: %[[G1:.*]] = model.dot({{.*}}) {dims = {{.*}}->vh"}
// CHECK: %[[B:.*]]:3 = model.scan(%{{.*}}, %[[F]]#1, %[[F]]#2, {{.*}}) {body = @layer.back, carries = 1 : i64, range = array<i64: 0, 4>, reverse, shared = 0 : i64}
// A tied embedding: both gradients are added.
// CHECK-NEXT: %[[G2:.*]] = model.scatter_add(%[[B]]#0, %[[TOK]]) {dims = "bh,b->vh"}
// CHECK-NEXT: %[[G:.*]] = model.map(%[[G1]], %[[G2]])
// CHECK: %[[S:.*]] = model.dot(%[[G]], %[[G]]) {dims = "vh,vh->"}
// CHECK-NEXT: model.dot(%[[B]]#1, %[[B]]#1) {dims = "lhk,lhk->"}
// CHECK-NEXT: model.dot(%[[B]]#2, %[[B]]#2) {dims = "lk,lk->"}
// CHECK-NEXT: model.map(%[[S]], {{.*}}
// CHECK: dims = ",,->"
// CHECK: math.sqrt
// CHECK: %[[FACTOR:.*]] = model.map
// CHECK: arith.constant 5.000000e-01
// CHECK: arith.maximumf
// CHECK: %[[NEW:.*]]:3 = model.map(%[[EMB]], %[[G]], %[[MEMB]], %[[VEMB]], %[[FACTOR]], %[[LR]], %[[C1]], %[[C2]])
// Decay on the matrices alone.
// CHECK: arith.constant 2.500000e-01
// CHECK: dims = "vh,vh,vh,vh,,,,->vh,vh,vh"
// CHECK: arith.constant 2.500000e-01
// CHECK: dims = "lhk,lhk,lhk,lhk,,,,->lhk,lhk,lhk"
// CHECK-NOT: arith.constant 2.500000e-01
// CHECK: dims = "lk,lk,lk,lk,,,,->lk,lk,lk"
// CHECK: return
// CHECK-NOT: func.func

// UNCLIPPED-LABEL: func.func @step(
// UNCLIPPED: math.sqrt
// UNCLIPPED-NOT: arith.maximumf
// UNCLIPPED: dims = "vh,vh,vh,vh,,,->vh,vh,vh"
