// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-schedule -o %t
// RUN: hocket-opt %t --hocket-allocate --hocket-verify-allocate | FileCheck %s
// RUN: sed '/par.mesh/d' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: sed 's/\["input tokens", "param layer.w", "recv dz"/["input tokens", "param emb", "recv dz"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=HOME-TYPE

// Two micro-batches on two stages of two ranks: a class a stage, which covers both ranks of axis data.
// CHECK: plan.mesh {axes = ["pipeline", "data"], micro_batches = 2 : i64, sizes = array<i64: 2, 2>, strides = array<i64: 2, 1>}
// CHECK: plan.class @class.s0 {
// Regions begin at 0. The second forward comes before the first backward: two slots of the stash.
// CHECK: plan.region {{.*}} offset = 0 : i64
// CHECK-DAG: plan.region {{.*}} name = "stash{{.*}}slots = 2 : i64}
// CHECK-DAG: plan.region {{.*}} micros = 2 : i64, name = "input tokens"
// CHECK: plan.template {
// CHECK: plan.record
// CHECK: } {name = "s0.F"}
// The backward runs its layers from the last to the first.
// CHECK: plan.repeat {
// CHECK: } {from = {{[0-9]+}} : i64, step = -1 : i64, to = {{-?[0-9]+}} : i64}
// CHECK: plan.list {{.*}}table = "init"
// CHECK: plan.list {{.*}}table = "step"
// CHECK: plan.list {{.*}}table = "eval"
// CHECK: } {{{.*}}first = array<i64: 0, 0>, {{.*}}last = array<i64: 0, 1>, streams = ["compute"
// The last stage runs one micro-batch at a time: one slot.
// CHECK: plan.class @class.s1 {
// CHECK: plan.region {{.*}} name = "stash{{.*}}slots = 1 : i64}
// CHECK: } {{{.*}}first = array<i64: 1, 0>, {{.*}}last = array<i64: 1, 1>
// A tied parameter: the copy has no gradient to update.
// CHECK: plan.param {{.*}}in = @class.s0, {{.*}}name = "emb", owner = true
// CHECK: plan.param {{.*}}in = @class.s1, {{.*}}name = "emb", owner = false
// CHECK-NOT: sched.task

// NO-MESH: holds no par.mesh
// A home that one task takes whole and another as a stack of layers.
// HOME-TYPE: home "param emb" has type 'tensor<16x8xf32>' elsewhere and 'tensor<1x8x8xf32>' here
