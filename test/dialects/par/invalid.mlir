// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{names 2 axes and 1 sizes}}
par.mesh {axes = ["data", "tensor"], sizes = array<i64: 2>, sym_name = "m", time = [], times = array<i64>}

// -----

// expected-error @+1 {{names 1 time axes and 0 sizes}}
par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "m", time = ["micro"], times = array<i64>}

// -----

// expected-error @+1 {{names axis "data" twice}}
par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "m", time = ["data"], times = array<i64: 2>}

// -----

// expected-error @+1 {{has an axis without a name}}
par.mesh {axes = [""], sizes = array<i64: 2>, sym_name = "m", time = [], times = array<i64>}

// -----

// expected-error @+1 {{has an axis of size 0; sizes are 1 to 16777216}}
par.mesh {axes = ["data"], sizes = array<i64: 0>, sym_name = "m", time = [], times = array<i64>}

// -----

// expected-error @+1 {{has more devices and steps than 64 bits count}}
par.mesh {axes = ["a", "b", "c"], sizes = array<i64: 16777216, 16777216, 16777216>, sym_name = "m", time = [], times = array<i64>}

// -----

par.strategy {
  // expected-error @+1 {{letter "gr" is not one letter}}
  par.tile {axis = "tensor", in = @f, letter = "gr", values = ["wq"]}
} {sym_name = "strategy"}

// -----

par.strategy {
  // expected-error @+1 {{names no value}}
  par.tile {axis = "tensor", in = @f, letter = "g", values = []}
} {sym_name = "strategy"}

// -----

par.strategy {
  // expected-error @+1 {{has an axis without a name}}
  par.tile {axis = "", in = @f, letter = "g", values = ["wq"]}
} {sym_name = "strategy"}

// -----

// expected-error @+1 {{expects parent op 'par.strategy'}}
par.tile {axis = "tensor", in = @f, letter = "g", values = ["wq"]}

// -----

par.strategy {
  // expected-error @+1 {{has an axis without a name}}
  par.pipeline {axis = "", body = "layer", cuts = array<i64>, schedule = "1f1b"}
} {sym_name = "strategy"}

// -----

par.strategy {
  // expected-error @+1 {{cuts must rise from 1; 2 follows 2}}
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 2, 2>, schedule = "1f1b"}
} {sym_name = "strategy"}

// -----

par.strategy {
  // expected-error @+1 {{cuts must rise from 1; 0 follows 0}}
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 0>, schedule = "1f1b"}
} {sym_name = "strategy"}

// -----

par.strategy {
  // expected-error @+1 {{schedule "zb" is neither 1f1b nor gpipe}}
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 1>, schedule = "zb"}
} {sym_name = "strategy"}

// -----

// expected-error @+1 {{partial kind "mean" is neither sum nor max}}
func.func private @f(tensor<8xf32, #par.s<[{}], partial = mean{data}>>)

// -----

// expected-error @+1 {{axis "data" occurs twice in one sharding}}
func.func private @f(tensor<8x8xf32, #par.s<[{data}, {data}]>>)

// -----

// expected-error @+1 {{axis "data" occurs twice in one sharding}}
func.func private @f(tensor<8x8xf32, #par.s<[{data}, {}], partial = sum{data}>>)

// -----

// expected-error @+1 {{kind "max" of a sharding that is not partial}}
func.func private @f(tensor<8x8xf32, #par.s<[{data}, {}], partial = max{}>>)

// -----

// expected-error @+1 {{sharding of 1 dimensions on a tensor of rank 2}}
func.func private @f(tensor<8x8xf32, #par.s<[{data}]>>)

// -----

// expected-error @+1 {{a whole tensor has no sharding; leave the encoding out}}
func.func private @f(tensor<8x8xf32, #par.s<[{}, {}]>>)

// -----

// expected-error @+1 {{reduces nothing}}
par.all_reduce() {axes = ["data"], kind = "sum"} : () -> ()

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{has 2 operands and 1 results}}
  %0 = par.all_reduce(%x, %x) {axes = ["data"], kind = "sum"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{names no axis}}
  %0 = par.all_reduce(%x) {axes = [], kind = "sum"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{names axis "data" twice}}
  %0 = par.all_reduce(%x) {axes = ["data", "data"], kind = "sum"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{kind "min" is neither sum nor max}}
  %0 = par.all_reduce(%x) {axes = ["data"], kind = "min"} : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>) {
  // expected-error @+1 {{operand 0 is not partial over "data"}}
  %0 = par.all_reduce(%x) {axes = ["data"], kind = "sum"} : (tensor<8xf32, #par.s<[{}], partial = sum{tensor}>>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32, #par.s<[{}], partial = max{data}>>) {
  // expected-error @+1 {{operand 0 is a partial max, not sum}}
  %0 = par.all_reduce(%x) {axes = ["data"], kind = "sum"} : (tensor<8xf32, #par.s<[{}], partial = max{data}>>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8xf32, #par.s<[{tensor}], partial = sum{data, micro}>>) {
  // expected-error @+1 {{result 0 is 'tensor<8xf32>', must be 'tensor<8xf32, #par.s<[{tensor}], partial = sum{data}>>'}}
  %0 = par.all_reduce(%x) {axes = ["micro"], kind = "sum"} : (tensor<8xf32, #par.s<[{tensor}], partial = sum{data, micro}>>) -> tensor<8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{names no axis}}
  %0 = par.coord() {axes = [], times = 1 : i64} : () -> index
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{names axis "data" twice}}
  %0 = par.coord() {axes = ["data", "data"], times = 1 : i64} : () -> index
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{is multiplied by -1, which is negative}}
  %0 = par.coord() {axes = ["data"], times = -1 : i64} : () -> index
  return
}
