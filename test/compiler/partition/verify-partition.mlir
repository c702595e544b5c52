// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-verify-partition -o /dev/null
// RUN: sed 's/@g(tensor<8xf32>)/@g(tensor<8xf32, #par.s<[{data}]>>)/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: sed 's/axes = \["data"\], kind/axes = ["micro"], kind/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: sed 's/axes = \["data"\], times/axes = ["tensor"], times/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: sed '/par.mesh/d' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: sed 's/times = 4 : i64/times = 8 : i64/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: sed 's/par.coord() {axes = \["data"\], times = 4 : i64} : () -> index/arith.constant 4 : index/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: sed 's/par.global = (tensor<8xf32, #sd>/par.global = (tensor<4xf32, #sd>/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: sed 's/-> tensor<8xf32, #sd>, par.coll/-> tensor<8xi32, #sd>, par.coll/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: sed 's/par.global = (tensor<8xf32, #sd>, /par.global = (/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: sed 's/par.global = (tensor<8xf32/par.was = (tensor<8xf32/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=RECORD
// RUN: sed 's/par.collectives = {"all/par.had = {"all/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=COLLECTIVES
// RUN: sed 's/"all_reduce sum data" = 1/"all_reduce sum data" = 2/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=LOST
// RUN: sed 's/par.collectives = {"all_reduce sum data" = 1/par.collectives = {"all_reduce max data" = 1/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed '/par.all_reduce/d; s/return %y : tensor<4xf32>/return %x : tensor<4xf32>/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=DROPPED
// RUN: sed 's/par.global = (tensor<8xf32, #sd>, tensor<4xf32>)/par.global = (tensor<8xf32, #sd>, index)/' %s | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=TENSOR

// What a stage's functions take is what its place.param says.
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition -o %t
// RUN: hocket-opt %t --hocket-verify-partition -o /dev/null
// RUN: sed '/place.param/s/type = tensor<8x8xf32>/type = tensor<8x16xf32>/' %t | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=PARAM
// RUN: sed '/place.param/s/name = "layer.w"/name = "layer.v"/' %t | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: sed '/place.param/s/layers = array<i64: 0, 1>/layers = array<i64: 0, 2>/' %t | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: sed 's/fn = @s1.fwd/fn = @nobody/' %t | not hocket-opt --hocket-verify-partition 2>&1 | FileCheck %s --check-prefix=FUNCTION

#sd = #par.s<[{data}]>
par.mesh {axes = ["data"], sizes = array<i64: 2>, sym_name = "m", time = ["micro"], times = array<i64: 2>}
func.func private @layer.tensor(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32>
    attributes {par.global = (tensor<8xf32, #sd>, tensor<4xf32>) -> tensor<8xf32, #sd>, par.collectives = {"all_reduce sum data" = 1 : i64}} {
  %y = par.all_reduce(%x) {axes = ["data"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @g(tensor<8xf32>)
func.func @f(%x: tensor<4xf32>, %w: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xi32>)
    attributes {par.global = (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<16xi32, #par.s<[{data, micro}]>>), par.collectives = {}} {
  %y = model.scan(%x, %w) {body = @layer.tensor, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  %c = par.coord() {axes = ["data"], times = 4 : i64} : () -> index
  %i = model.iota(%c) {dims = "->v"} : (index) -> tensor<4xi32>
  return %y, %i : tensor<4xf32>, tensor<4xi32>
}

// GLOBAL: is still global
// TIME: names axis "micro", which is no axis of space
// AXIS: names axis "tensor", which is no axis of space
// MESH: has no par.mesh
// TIMES: starts at 8 × coordinate; a shard has 4 of that letter
// INDEX: takes an index that is no par.coord
// ARGUMENT: argument 0 has 4 in dimension 0 in each of 2 shards; all have 4
// ELEMENT: result 0 is 'tensor<4xf32>' and was 'tensor<8xi32
// COUNT: has 2 arguments and 1 results; it had 1 and 1
// RECORD: lacks "par.global", the record of its global level
// COLLECTIVES: lacks "par.collectives", the record of its global level
// LOST: has 1 "all_reduce sum data"; it had 2
// KIND: has 0 "all_reduce max data"; it had 1
// DROPPED: has 0 "all_reduce sum data"; it had 1
// TENSOR: argument 1 is 'tensor<4xf32>' and was 'index'
// PARAM: argument {{[0-9]+}} has 8 in dimension 1 in each of 1 shards; all have 16
// HOME: uses "{{(param|m|v)}} layer.w", which does not live on @s0
// LAYERS: argument {{[0-9]+}} is {{.*}}; @s0 holds 2 layers of
// FUNCTION: runs unknown function @nobody
