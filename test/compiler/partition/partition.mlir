// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-partition --hocket-verify-partition | FileCheck %s
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-verify-partition | FileCheck %s --check-prefix=STEP
// RUN: sed 's/array<i64: 2, 4>/array<i64: 3, 4>/' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: sed 's/"data", "tensor"\]/"data", "other"]/' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=AXIS

par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2, 4>, sym_name = "m", time = ["micro"], times = array<i64: 2>}

// Extents are divided by all axes of a letter; ops that read global indices of
// a sharded letter get their shard's offset.
// CHECK-LABEL: func.func @embed(
// CHECK-SAME: %[[EMB:.*]]: tensor<4x8xf32>, %[[TOK:.*]]: tensor<2x4xi32>
func.func @embed(%emb: tensor<16x8xf32, #par.s<[{tensor}, {}]>>, %tok: tensor<8x4xi32, #par.s<[{data, micro}, {}]>>)
    -> (tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}]>>, tensor<16x8xf32, #par.s<[{tensor}, {}], partial = sum{data, micro}>>) {
  // CHECK: %[[C:.*]] = par.coord() {axes = ["tensor"], times = 4 : i64}
  // CHECK: %[[X:.*]] = model.gather(%[[EMB]], %[[TOK]], %[[C]]) {{.*}} -> tensor<2x4x8xf32>
  %x = model.gather(%emb, %tok) {dims = "vh,bs->bsh"} : (tensor<16x8xf32, #par.s<[{tensor}, {}]>>, tensor<8x4xi32, #par.s<[{data, micro}, {}]>>) -> tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}], partial = sum{tensor}>>
  // CHECK: par.all_reduce(%[[X]]) {axes = ["tensor"], kind = "sum"} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %y = par.all_reduce(%x) {axes = ["tensor"], kind = "sum"} : (tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}], partial = sum{tensor}>>) -> tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}]>>
  // CHECK: %[[D:.*]] = par.coord() {axes = ["tensor"], times = 4 : i64}
  // CHECK: model.scatter_add({{.*}}, %[[TOK]], %[[D]]) {{.*}} -> tensor<4x8xf32>
  %g = model.scatter_add(%y, %tok) {dims = "bsh,bs->vh"} : (tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}]>>, tensor<8x4xi32, #par.s<[{data, micro}, {}]>>) -> tensor<16x8xf32, #par.s<[{tensor}, {}], partial = sum{data, micro}>>
  return %y, %g : tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}]>>, tensor<16x8xf32, #par.s<[{tensor}, {}], partial = sum{data, micro}>>
}

// CHECK-LABEL: func.func @indices
func.func @indices() -> (tensor<32xi32, #par.s<[{data, tensor}]>>, tensor<4xi32>) {
  // CHECK: par.coord() {axes = ["data", "tensor"], times = 4 : i64}
  // CHECK: model.iota({{.*}}) {{.*}} -> tensor<4xi32>
  %i = model.iota() {dims = "->v"} : () -> tensor<32xi32, #par.s<[{data, tensor}]>>
  // A whole letter needs none.
  // CHECK: model.iota() {{.*}} -> tensor<4xi32>
  %j = model.iota() {dims = "->v"} : () -> tensor<4xi32>
  return %i, %j : tensor<32xi32, #par.s<[{data, tensor}]>>, tensor<4xi32>
}

// A shard of a padded letter knows nothing of the true extent.
// CHECK-LABEL: func.func @padded(
// CHECK-SAME: %{{.*}}: tensor<8x3xf32> {model.dims = "hf", model.name = "w"})
func.func @padded(%w: tensor<8x12xf32, #par.s<[{}, {tensor}]>> {model.name = "w", model.dims = "hf", model.valid = {f = 11 : i64}})
    -> tensor<8x12xf32, #par.s<[{}, {tensor}]>> {
  return %w : tensor<8x12xf32, #par.s<[{}, {tensor}]>>
}

// STEP: func.func @s1.fwd({{.*}}tensor<2x4xi32>{{.*}}tensor<2x4x8xf32>
// STEP: func.func @s0.back({{.*}}tensor<1x8x8xf32> {{.*}}"grad layer.w"
// STEP: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<1x8x8xf32>

// DIVIDE: does not divide by axis "data" of size 3
// AXIS: names unknown axis "tensor"
