// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-verify-partition -o /dev/null
// RUN: sed 's/@g(tensor<8xf32>)/@g(tensor<8xf32, #par.s<[{data}]>>)/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: sed 's/axes = \["data"\], kind/axes = ["micro"], kind/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: sed 's/axes = \["data"\], times/axes = ["tensor"], times/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=AXIS

par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "m", time = ["micro"], times = array<i64: 2>}
func.func private @layer(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = par.all_reduce(%x) {axes = ["data"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @g(tensor<8xf32>)
func.func @f(%x: tensor<4xf32>, %w: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  %c = par.coord() {axes = ["data"], times = 4 : i64} : () -> index
  %i = model.iota(%c) {dims = "->v"} : (index) -> tensor<4xi32>
  return %y, %i : tensor<4xf32>, tensor<4xi32>
}

// GLOBAL: is still global
// TIME: names axis "micro", which is no axis of space
// AXIS: names axis "tensor", which is no axis of space
