// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-shard --split-input-file --verify-diagnostics

// expected-error @+1 {{needs one par.mesh, has 0}}
module {
  par.strategy {
  } {sym_name = "strategy"}
}

// -----

// expected-error @+1 {{needs one par.strategy, has 0}}
module {
  par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{axis "data" is not in the mesh}}
  par.tile {axis = "data", in = @f, letter = "b", values = ["x"]}
} {sym_name = "strategy"}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{function @f is not in the module}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["x"]}
} {sym_name = "strategy"}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{@f has no argument called "w"}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["w"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<4xf32> {model.dims = "b", model.name = "x"}) {
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{"x" has the letters "b", not 'h'}}
  par.tile {axis = "tensor", in = @f, letter = "h", values = ["x"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<4xf32> {model.dims = "b", model.name = "x"}) {
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-note @+1 {{the earlier tactic}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["x"]}
  // expected-error @+1 {{axis "tensor" already shards letter 'b' of "x" by an earlier tactic}}
  par.tile {axis = "tensor", in = @f, letter = "h", values = ["x"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<4x4xf32> {model.dims = "bh", model.name = "x"}) {
  return
}

// -----

// Heads, hidden and batch are never padded. The error is where the axis got its size.
// expected-error @+1 {{letter 'g' of 'x' has extent 8, which {data, tensor} = 6 does not divide; legal sizes of "tensor": 1, 2, 4}}
par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2, 3>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  par.tile {axis = "data", in = @f, letter = "g", values = ["x"]}
  // expected-note @+1 {{this tactic shards it}}
  par.tile {axis = "tensor", in = @f, letter = "g", values = ["x"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<8xf32> {model.dims = "g", model.name = "x"}) {
  return
}

// -----

// expected-error @+1 {{letter 'h' of 'x' has extent 8, which {tensor} = 3 does not divide; legal sizes of "tensor": 1, 2, 4, 8}}
par.mesh {axes = ["tensor"], sizes = array<i64: 3>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-note @+1 {{this tactic shards it}}
  par.tile {axis = "tensor", in = @f, letter = "f", values = ["x"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<8xf32> {model.dims = "f", model.name = "x"}) {
  // expected-note @+1 {{it is a letter of a model.reduce}}
  %0 = model.reduce(%x) {dims = "h->", kind = "sum"} : (tensor<8xf32>) -> tensor<f32>
  return
}

// -----

// Two letters of one dot on one axis: both demands are shown, the error at the later one.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-note @+1 {{the other demand comes from letter 'b' over "tensor" here}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["x"]}
  // expected-error @+1 {{conflicting shardings: axis "tensor" shards letter 'b' ('x') and letter 'f' ('w') of one operation; a reshard of 96 bytes is not executable yet}}
  par.tile {axis = "tensor", in = @f, letter = "f", values = ["w"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<8x4xf32> {model.dims = "bh", model.name = "x"}, %w: tensor<4x6xf32> {model.dims = "hf", model.name = "w"}) {
  // expected-note @+1 {{they meet at a model.dot}}
  %0 = model.dot(%x, %w) {dims = "bh,hf->bf"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

// h cannot reach x, which b has sharded already.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-note @+1 {{the other demand comes from letter 'b' over "tensor" here}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["x"]}
  // expected-error @+1 {{conflicting shardings: axis "tensor" shards letter 'b' ('x') and letter 'h' ('w') of one operation; a reshard of 16 bytes is not executable yet}}
  par.tile {axis = "tensor", in = @f, letter = "h", values = ["w"]}
} {sym_name = "strategy"}
func.func @f(%x: tensor<8x4xf32> {model.dims = "bh", model.name = "x"}, %w: tensor<4xf32> {model.dims = "h", model.name = "w"}) {
  // expected-note @+1 {{they meet at a model.dot}}
  %0 = model.dot(%x, %w) {dims = "bh,h->b"} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// One function, called on tensors that are sharded differently.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{conflicting shardings: 'y' has dimension 0 on {}, a value of its body has dimension 0 on {tensor}; a reshard of 64 bytes is not executable yet}}
  par.tile {axis = "tensor", in = @f, letter = "b", values = ["x", "y"]}
} {sym_name = "strategy"}
func.func @g(%x: tensor<4x4xf32>) {
  return
}
func.func @f(%x: tensor<4x4xf32> {model.dims = "bh", model.name = "x"}, %y: tensor<4x4xf32> {model.dims = "hb", model.name = "y"}) {
  call @g(%x) : (tensor<4x4xf32>) -> ()
  // expected-note @+1 {{they meet at a func.call}}
  call @g(%y) : (tensor<4x4xf32>) -> ()
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
} {sym_name = "strategy"}
// expected-error @+1 {{is sharded already}}
func.func @f(%x: tensor<8xf32, #par.s<[{tensor}]>>) {
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
} {sym_name = "strategy"}
func.func @f() {
  // expected-error @+1 {{is sharded already}}
  %0 = model.constant() {dims = "->b", value = 0.0 : f32} : () -> tensor<8xf32, #par.s<[{tensor}]>>
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
} {sym_name = "strategy"}
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{is a collective before anything is sharded}}
  %0 = par.all_reduce(%x) {axes = ["tensor"], kind = "sum"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// A non-linear map of a sum over micro-batches, inside a layer.
par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 2>}
par.strategy {
  par.tile {axis = "micro", in = @step, letter = "b", values = ["x"]}
} {sym_name = "strategy"}
func.func @layer(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) {
  %0 = model.reduce(%x) {dims = "bh->h", kind = "sum"} : (tensor<8x4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{needs operand 0 summed over "micro" inside a layer; it is summed in the step}}
  %1 = model.map(%0) {
  ^bb0(%i: f32):
    %2 = arith.mulf %i, %i : f32
    model.yield %2 : f32
  } {dims = "h->h"} : (tensor<4xf32>) -> tensor<4xf32>
  return %x, %1 : tensor<8x4xf32>, tensor<4xf32>
}
func.func @step(%x: tensor<8x4xf32> {model.dims = "bh", model.name = "x"}) {
  %0, %1 = model.scan(%x) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<3x4xf32>)
  return
}

// -----

par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
} {sym_name = "strategy"}
// expected-error @+1 {{calls itself; a stack of layers is one model.scan}}
func.func @f(%x: tensor<8xf32>) {
  call @f(%x) : (tensor<8xf32>) -> ()
  return
}

// -----

par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
} {sym_name = "strategy"}
// expected-error @+1 {{must have one block}}
func.func private @g(tensor<8xf32>)
func.func @f(%x: tensor<8xf32>) {
  call @g(%x) : (tensor<8xf32>) -> ()
  return
}

// -----

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{input 'tokens' is sharded by letter 's' over {tensor}; a rank reads whole rows: inputs are sharded by 'b' only}}
  par.tile {axis = "tensor", in = @step, letter = "s", values = ["tokens"]}
} {sym_name = "strategy"}
func.func @step(%t: tensor<2x4xi32> {model.name = "tokens", model.dims = "bs", model.input = "tokens"}) -> tensor<2x4xi32> {
  return %t : tensor<2x4xi32>
}

// -----

// exp(0) = 1 in the pads of f: sums over f and gradients would count them.
// expected-error @+1 {{letter 'f' of 'x' has extent 11, which {tensor} = 4 does not divide, and pads would not stay zero there; legal sizes of "tensor": 1, 11}}
par.mesh {axes = ["tensor"], sizes = array<i64: 4>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-note @+1 {{this tactic shards it}}
  par.tile {axis = "tensor", in = @step, letter = "f", values = ["x"]}
} {sym_name = "strategy"}
func.func @step(%x: tensor<2x11xf32> {model.name = "x", model.dims = "bf"}) -> tensor<2x11xf32> {
  // expected-note @+1 {{it is a letter of a model.map}}
  %y = model.map(%x) {
  ^bb0(%a: f32):
    %e = math.exp %a : f32
    model.yield %e : f32
  } {dims = "bf->bf"} : (tensor<2x11xf32>) -> tensor<2x11xf32>
  return %y : tensor<2x11xf32>
}

// -----

// Layers are stacked, not sharded: a stage holds whole layers.
par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "mesh", time = [], times = array<i64>}
par.strategy {
  // expected-error @+1 {{the layers of 'w' are sharded over {tensor}; layers are cut by 'pipeline' only}}
  par.tile {axis = "tensor", in = @step, letter = "l", values = ["w"]}
} {sym_name = "strategy"}
func.func @layer(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>, %w: tensor<2x4xf32> {model.dims = "lh", model.name = "w"}) {
  // expected-note @+1 {{they are the layers of a model.scan}}
  %0 = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 2>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  return
}
