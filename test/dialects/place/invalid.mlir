// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{names 1 axes and 2 sizes}}
place.mesh {device = 0 : i64, strides = array<i64: 1>, sym_name = "s0", axes = ["data"], sizes = array<i64: 2, 2>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{names 1 axes and 2 strides}}
place.mesh {sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, device = 0 : i64, strides = array<i64: 1, 1>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{has an axis of stride 0}}
place.mesh {sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, device = 0 : i64, strides = array<i64: 0>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{has more than 2147483648 devices}}
place.mesh {sym_name = "s0", axes = ["data", "tensor"], sizes = array<i64: 65536, 65536>, device = 0 : i64, strides = array<i64: 1, 1>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{has devices beyond 0 to 2147483647}}
place.mesh {sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, device = -1 : i64, strides = array<i64: 1>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{has an axis of size 0}}
place.mesh {device = 0 : i64, strides = array<i64: 1>, sym_name = "s0", axes = ["data"], sizes = array<i64: 0>, stage = 0 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{has stage -1}}
place.mesh {device = 0 : i64, strides = array<i64: 1>, sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, stage = -1 : i64, layers = array<i64: 0, 2>}

// -----

// expected-error @+1 {{layers must be [first, end) with 0 <= first <= end}}
place.mesh {device = 0 : i64, strides = array<i64: 1>, sym_name = "s0", axes = ["data"], sizes = array<i64: 2>, stage = 0 : i64, layers = array<i64: 3, 2>}

// -----

// expected-error @+1 {{has 0 micro-batches}}
place.step { place.yield() : () -> () }, { place.yield() : () -> () } {micro = 0 : i64, metrics = [], order = {}}

// -----

// expected-error @+1 {{needs a place.yield at the end of each region}}
place.step { ^bb0: }, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

// expected-error @+1 {{body takes no arguments}}
place.step {
^bb0(%x: tensor<f32>):
  place.yield(%x) : (tensor<f32>) -> ()
}, {
^bb0(%x: tensor<f32>):
  place.yield() : () -> ()
} {micro = 1 : i64, metrics = [], order = {}}

// -----

// expected-error @+1 {{names 1 metrics and yields 0}}
place.step { place.yield() : () -> () }, { place.yield() : () -> () } {micro = 1 : i64, metrics = ["loss"], order = {}}

// -----

// expected-error @+1 {{body yields 0 values, the update takes 1}}
place.step { place.yield() : () -> () }, {
^bb0(%x: tensor<f32>):
  place.yield() : () -> ()
} {micro = 1 : i64, metrics = [], order = {}}

// -----

// expected-error @+1 {{order of "s0" is no list of strings}}
place.step { place.yield() : () -> () }, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {s0 = 3 : i64}}

// -----

place.step {
  // expected-error @+1 {{name "X" is none of F, B, L, N, U}}
  place.task() {name = "X", fn = @f, mesh = @s0} : () -> ()
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

place.step {
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // expected-error @+1 {{goes from @s0 to itself}}
  %y = place.transfer(%x) {source = "send x", target = "recv x", from = @s0, to = @s0} : (tensor<f32>) -> tensor<f32>
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

place.step {
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // expected-error @+1 {{changes the type of its value}}
  %y = place.transfer(%x) {source = "send x", target = "recv x", from = @s0, to = @s1} : (tensor<f32>) -> tensor<2xf32>
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

place.step {
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // expected-error @+1 {{takes 1 values of 2 meshes}}
  %y = place.all_reduce(%x) {meshes = [@s0, @s1], kind = "sum"} : (tensor<f32>) -> tensor<f32>
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

place.step {
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // expected-error @+1 {{operands and result differ in type}}
  %y = place.all_reduce(%x) {meshes = [@s0], kind = "sum"} : (tensor<f32>) -> tensor<2xf32>
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

place.step {
  %x = place.task() {name = "F", fn = @f, mesh = @s0} : () -> tensor<f32>
  // expected-error @+1 {{kind "max" is not sum}}
  %y = place.all_reduce(%x) {meshes = [@s0], kind = "max"} : (tensor<f32>) -> tensor<f32>
  place.yield() : () -> ()
}, { place.yield() : () -> () } {micro = 1 : i64, metrics = [], order = {}}

// -----

// expected-error @+1 {{letters "vh" do not name the dimensions of 'tensor<4xf32>'}}
place.param {checkpoint = {init = "one", layout = "h", name = "n"}, dims = "vh", layers = array<i64>, mesh = @s0, name = "n", owner = true, stacked = false, type = tensor<4xf32>}

// -----

// expected-error @+1 {{checkpoint lacks the string "layout"}}
place.param {checkpoint = {init = "one", name = "n"}, dims = "h", layers = array<i64>, mesh = @s0, name = "n", owner = true, stacked = false, type = tensor<4xf32>}

// -----

// expected-error @+1 {{part is not [dimension, index, count]: [0, 1]}}
place.param {checkpoint = {init = "one", layout = "h", name = "n", part = [0, 1]}, dims = "h", layers = array<i64>, mesh = @s0, name = "n", owner = true, stacked = false, type = tensor<4xf32>}

// -----

// expected-error @+1 {{legal: [begin, end) if stacked, else none}}
place.param {checkpoint = {init = "one", layout = "h", name = "n"}, dims = "h", layers = array<i64: 2>, mesh = @s0, name = "n", owner = true, stacked = true, type = tensor<4xf32>}

// -----

// expected-error @+1 {{inputs are rows by sequence}}
place.input {mesh = @s0, name = "tokens", type = tensor<4xi32>}
