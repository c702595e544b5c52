// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition -o %t
// Each line changes one thing of a step that schedule can order.
// RUN: sed 's/fn = @s1.fwd/fn = @nobody/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: sed 's/fn = @s0.norm/fn = @s1.norm/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=RESULTS
// RUN: sed 's/"B.1"\]/"W.1"]/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: sed 's/, s1 = \["F.0"/, s7 = ["F.0"/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["B.0", "F.0", "F.1", "B.1"]/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: sed '/place.mesh/s/stage = 1 : i64/stage = 2 : i64/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/place.home = "recv x"/model.name = "x"/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: sed '/^ *par.mesh/d' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: echo "module {}" | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: sed 's/call @layer.bwd(/call @ext(/; s/^  func.func private @layer.wgrad/  func.func private @ext(tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>\n&/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=BODY
// RUN: sed 's/model.dot(%%arg1, %%arg0) {dims = "bsh,bsk->hk"}/func.call @layer.wgrad(%%arg1, %%arg0)/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: sed 's/^    return %%2#0, %%2#1/    %%z = arith.constant 1 : index\n&/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=NO-PLACE
// RUN: sed '/place.mesh.*sym_name = "s0"/d' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: sed '0,/dims = "lhk,lhk->"/s//dims = "hlk,hlk->"/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=INNER
// RUN: sed '0,/model.dot(%%0, %%0) {dims = "lhk,lhk->"} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>)/s//model.reduce(%%0) {dims = "lhk->", kind = "max"} : (tensor<1x8x8xf32>)/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=MAXIMUM
// RUN: sed '/func.func @s0.norm/s/%%arg1: tensor<16x8xf32> {/%%arg1: tensor<16x8xf32> {place.stacked, /' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=STACKS
// RUN: sed '/func.func @s0.back/,/return/s/^    return %%0#1, %%1/%%9 = par.all_reduce(%%0#1) {axes = ["data"], kind = "sum"} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>\n&/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=BESIDES
// RUN: hocket-opt %S/../place/Inputs/one-stage.mlir --hocket-place --hocket-partition | sed '/par.mesh/d' | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not hocket-opt %s --hocket-schedule 2>&1 | FileCheck %s --check-prefix=IN-PLACE

// FUNCTION: runs unknown function @nobody
// RESULTS: 'place.task' op results differ from those of @s1.norm
// ENTRY: order of @s0 has "W.1"
// NO-MESH: has an order for unknown mesh @s7
// CIRCLE: order tables wait for each other in a circle
// NAME: of stage 2 should be @s2
// HOME: has an argument or result without a place.home
// AXIS: has several stages and no axis for them
// STEPS: schedule needs one place.step, there are 0
// BODY: needs the one-block body of @ext
// DEEP: 'func.call' op calls nest deeper than 8
// NO-PLACE: 'arith.constant' op has no place in a task
// STAGES: needs meshes @s0, @s1, … without a gap
// INNER: has the layers as an inner dimension
// MAXIMUM: 'model.reduce' op takes a maximum over layers
// STACKS: takes stacks of 1 and 16 layers
// BESIDES: uses the gradient "grad layer.w" of one micro-batch besides its sum
// MESH: has no par.mesh

// w + transpose(w): element (a, b) would be written before (b, a) is computed from it.
par.mesh {axes = ["data"], sizes = array<i64: 1>, sym_name = "m", time = ["micro"], times = array<i64: 1>}
place.mesh {device = 0 : i64, strides = array<i64: 1>, axes = ["data"], sizes = array<i64: 1>, sym_name = "s0", stage = 0 : i64, layers = array<i64: 0, 1>}
func.func @s0.update(%w: tensor<4x4xf32> {place.home = "param w"}) -> (tensor<4x4xf32> {place.home = "param w"}) {
  %y = "model.map"(%w, %w) <{dims = "ab,ba->ab"}> ({ ^bb0(%i: f32, %j: f32): %z = arith.addf %i, %j : f32  model.yield %z : f32 }) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
place.step {
  place.yield() : () -> ()
}, {
  %0 = place.task() {fn = @s0.update, mesh = @s0, name = "U"} : () -> tensor<4x4xf32>
  place.yield() : () -> ()
} {metrics = [], micro = 1 : i64, order = {s0 = []}}
// IN-PLACE: cannot write the new value of "param w" over the old one
