// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition -o %t
// Each line changes one thing of a step that schedule can order.
// RUN: sed 's/fn = @s1.fwd/fn = @nobody/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: sed 's/"B.1"\]/"W.1"]/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: sed 's/, s1 = \["F.0"/, s7 = ["F.0"/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["B.0", "F.0", "F.1", "B.1"]/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: sed 's/stage = 1 : i64, sym_name/stage = 2 : i64, sym_name/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/place.home = "recv x"/model.name = "x"/' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=HOME
// RUN: sed '/^ *par.mesh/d' %t | not hocket-opt --hocket-schedule 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not hocket-opt %s --hocket-schedule 2>&1 | FileCheck %s --check-prefix=IN-PLACE

// FUNCTION: runs unknown function @nobody
// ENTRY: order of @s0 has "W.1"
// NO-MESH: has an order for unknown mesh @s7
// CIRCLE: order tables wait for each other in a circle
// NAME: of stage 2 should be @s2
// HOME: has an argument or result without a place.home
// AXIS: has several stages and no axis for them

// w + transpose(w): element (a, b) would be written before (b, a) is computed from it.
par.mesh {axes = ["data"], sizes = array<i64: 1>, sym_name = "m", time = ["micro"], times = array<i64: 1>}
place.mesh {axes = ["data"], sizes = array<i64: 1>, sym_name = "s0", stage = 0 : i64, layers = array<i64: 0, 1>}
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
