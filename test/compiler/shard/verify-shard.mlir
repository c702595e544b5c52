// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-verify-shard --split-input-file --verify-diagnostics

// expected-error @+1 {{needs one par.mesh}}
module {
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
// expected-error @+1 {{uses axis "data", which is not in the mesh}}
func.func @f(%x: tensor<8xf32, #par.s<[{data}]>>) {
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 3>, sym_name = "mesh", time = [], times = array<i64>}
// expected-error @+1 {{has extent 8, which is not a multiple of 3}}
func.func @f(%x: tensor<8xf32, #par.s<[{tensor}]>>) {
  return
}

// -----

par.mesh {axes = ["pipeline"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 1>, schedule = "1f1b"}
} {sym_name = "strategy"}
// expected-error @+1 {{shards a tensor over the pipeline axis "pipeline"}}
func.func @f(%x: tensor<8xf32, #par.s<[{pipeline}]>>) {
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
// expected-error @+1 {{argument 0 is partial sum{tensor}}}
func.func @f(%x: tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>) {
  return
}

// -----

// Letters of one op agree on their axes.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>, %w: tensor<4x6xf32>) {
  // expected-error @+1 {{conflicting shardings of letter 'h': operand 0 has dimension 1 on {tensor}, operand 1 has dimension 0 on {}}}
  %0 = model.dot(%x, %w) {dims = "bh,hf->bf"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>, tensor<4x6xf32>) -> tensor<8x6xf32, #par.s<[{}, {}], partial = sum{tensor}>>
  return
}

// -----

// Order of axes included.
par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2, 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8xf32, #par.s<[{data, tensor}]>>, %w: tensor<8xf32, #par.s<[{tensor, data}]>>) {
  // expected-error @+1 {{conflicting shardings of letter 'b'}}
  %0 = model.dot(%x, %w) {dims = "b,b->b"} : (tensor<8xf32, #par.s<[{data, tensor}]>>, tensor<8xf32, #par.s<[{tensor, data}]>>) -> tensor<8xf32, #par.s<[{data, tensor}]>>
  return
}

// -----

// A sharded letter that is summed makes the result partial.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>) {
  // expected-error @+1 {{result 0 is whole, must be partial sum{tensor}}}
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32>
  return
}

// -----

// And nothing else does.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{result 0 is partial sum{tensor}, must be whole}}
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  return
}

// -----

// A maximum is partial as a maximum.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>) {
  // expected-error @+1 {{result 0 is partial sum{tensor}, must be partial max{tensor}}}
  %0 = model.reduce(%x) {dims = "bh->b", kind = "max"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  return
}

// -----

par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2, 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{tensor}, {data}]>>) {
  // expected-error @+2 {{partial axes are not in the mesh's order}}
  // expected-error @+1 {{result 0 is partial sum{tensor, data}, must be partial sum{data, tensor}}}
  %0 = model.reduce(%x) {dims = "bh->", kind = "sum"} : (tensor<8x4xf32, #par.s<[{tensor}, {data}]>>) -> tensor<f32, #par.s<[], partial = sum{tensor, data}>>
  return
}

// -----

// A bias is added once, not once per device.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>, %bias: tensor<8xf32>) {
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  // expected-error @+1 {{takes operand 0, which is partial sum{tensor}; partial values enter only maps that add equal ones, updates of a scatter_add, and par.all_reduce}}
  %1 = model.map(%0, %bias) {
  ^bb0(%i: f32, %j: f32):
    %2 = arith.addf %i, %j : f32
    model.yield %2 : f32
  } {dims = "b,b->b"} : (tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>, tensor<8xf32>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  return
}

// -----

// Partial maxima are not added.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>) {
  %0 = model.reduce(%x) {dims = "bh->b", kind = "max"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = max{tensor}>>
  // expected-error @+1 {{takes operand 0, which is partial max{tensor}}}
  %1 = model.map(%0, %0) {
  ^bb0(%i: f32, %j: f32):
    %2 = arith.addf %i, %j : f32
    model.yield %2 : f32
  } {dims = "b,b->b"} : (tensor<8xf32, #par.s<[{}], partial = max{tensor}>>, tensor<8xf32, #par.s<[{}], partial = max{tensor}>>) -> tensor<8xf32, #par.s<[{}], partial = max{tensor}>>
  return
}

// -----

// What adds partial values is partial itself.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>) {
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  // expected-error @+1 {{result 0 is whole, must be partial sum{tensor}}}
  %1 = model.map(%0, %0) {
  ^bb0(%i: f32, %j: f32):
    %2 = arith.addf %i, %j : f32
    model.yield %2 : f32
  } {dims = "b,b->b"} : (tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>, tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>) -> tensor<8xf32>
  return
}

// -----

// Updates may be partial; the result then is.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>, %i: tensor<8xi32>) {
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  // expected-error @+1 {{result 0 is whole, must be partial sum{tensor}}}
  %1 = model.scatter_add(%0, %i) {dims = "b,b->v"} : (tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>, tensor<8xi32>) -> tensor<16xf32>
  return
}

// -----

// The step returns whole values.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>> {
  %0 = model.reduce(%x) {dims = "bh->b", kind = "sum"} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>) -> tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
  // expected-error @+1 {{takes operand 0, which is partial sum{tensor}}}
  return %0 : tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8x4xf32, #par.s<[{}, {tensor}]>>, %w: tensor<4xf32, #par.s<[{tensor}]>>) {
  // expected-error @+1 {{needs letter 'h' whole, it is sharded over {tensor}}}
  %0, %1 = model.rmsnorm(%x, %w) {dims = "bh,h->bh,b", eps = 1.0e-5 : f64} : (tensor<8x4xf32, #par.s<[{}, {tensor}]>>, tensor<4xf32, #par.s<[{tensor}]>>) -> (tensor<8x4xf32, #par.s<[{}, {tensor}]>>, tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>)
  return
}

// -----

par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
func.func @f(%x: tensor<8xf32, #par.s<[{data, micro}]>>) {
  %0 = model.reduce(%x) {dims = "b->", kind = "sum"} : (tensor<8xf32, #par.s<[{data, micro}]>>) -> tensor<f32, #par.s<[], partial = sum{data, micro}>>
  // expected-error @+1 {{mixes time and space axes}}
  %1 = par.all_reduce(%0) {axes = ["data", "micro"], kind = "sum"} : (tensor<f32, #par.s<[], partial = sum{data, micro}>>) -> tensor<f32>
  return
}

// -----

par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
func.func @g(%x: tensor<8xf32, #par.s<[{micro}]>>) -> tensor<f32> {
  %0 = model.reduce(%x) {dims = "b->", kind = "sum"} : (tensor<8xf32, #par.s<[{micro}]>>) -> tensor<f32, #par.s<[], partial = sum{micro}>>
  // expected-error @+1 {{sums over time inside a layer; that is done in the step}}
  %1 = par.all_reduce(%0) {axes = ["micro"], kind = "sum"} : (tensor<f32, #par.s<[], partial = sum{micro}>>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func @f(%x: tensor<8xf32, #par.s<[{micro}]>>) {
  %0 = call @g(%x) : (tensor<8xf32, #par.s<[{micro}]>>) -> tensor<f32>
  return
}

// -----

// Behind the sum over micro-batches there is no micro-batch.
par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
func.func @f(%x: tensor<8xf32, #par.s<[{micro}]>>) {
  %0 = model.reduce(%x) {dims = "b->", kind = "sum"} : (tensor<8xf32, #par.s<[{micro}]>>) -> tensor<f32, #par.s<[], partial = sum{micro}>>
  %1 = par.all_reduce(%0) {axes = ["micro"], kind = "sum"} : (tensor<f32, #par.s<[], partial = sum{micro}>>) -> tensor<f32>
  // expected-error @+1 {{works on one micro-batch and follows the sum over all of them}}
  %2 = model.map(%x, %1) {
  ^bb0(%i: f32, %j: f32):
    %3 = arith.addf %i, %j : f32
    model.yield %3 : f32
  } {dims = "b,->b"} : (tensor<8xf32, #par.s<[{micro}]>>, tensor<f32>) -> tensor<8xf32, #par.s<[{micro}]>>
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{reduces operand 0, which is whole: each device would add a copy of it}}
  %0 = par.all_reduce(%x) {axes = ["tensor"], kind = "sum"} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
