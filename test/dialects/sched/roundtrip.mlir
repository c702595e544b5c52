// REQUIRES: hocket-opt
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK: sched.comm {axes = ["data"], order = 0 : i64, sym_name = "data"}
sched.comm {sym_name = "data", axes = ["data"], order = 0 : i64}
// CHECK: sched.comm {axes = ["pipeline"], order = 1 : i64, pair, sym_name = "pipeline"}
sched.comm {sym_name = "pipeline", axes = ["pipeline"], pair, order = 1 : i64}
// CHECK: sched.kernel @k {
sched.kernel @k {
^bb0(%x: tensor<4xf32>):
  %y = model.reduce(%x) {dims = "a->", kind = "sum"} : (tensor<4xf32>) -> tensor<f32>
  sched.yield(%y) : (tensor<f32>) -> ()
} {scratch = 16 : i64}
// CHECK: sched.task @s0.F {
sched.task @s0.F {
^bb0(%x: tensor<2x4xf32>, %w: tensor<3x4x4xf32>, %g: tensor<4x4xf32>):
  // CHECK: sched.repeat(%{{.*}}, %{{.*}}) {
  %z:2 = sched.repeat(%x, %w) {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>):
    // CHECK: sched.gemm(%{{.*}}, %{{.*}}) {k = 4 : i64, m = 2 : i64, n = 4 : i64, stream = "compute"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %c = sched.gemm(%a, %b) {m = 2 : i64, n = 4 : i64, k = 4 : i64, stream = "compute"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    // CHECK: sched.collective(%{{.*}}) {algorithm = "direct", comm = @data, kind = "all_reduce_sum", stream = "data"}
    %d = sched.collective(%c) {kind = "all_reduce_sum", comm = @data, algorithm = "direct", stream = "data"} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    sched.yield(%d, %b) : (tensor<2x4xf32>, tensor<4x4xf32>) -> ()
  // CHECK: {carries = 1 : i64, count = 3 : i64, inplace = array<i64: 1, 1>, reverse, shared = 0 : i64}
  } {carries = 1 : i64, shared = 0 : i64, count = 3 : i64, reverse, inplace = array<i64: 1, 1>} : (tensor<2x4xf32>, tensor<3x4x4xf32>) -> (tensor<2x4xf32>, tensor<3x4x4xf32>)
  // A product added in place.
  // CHECK: sched.gemm(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}}ta
  %h = sched.gemm(%x, %x, %g) {m = 4 : i64, n = 4 : i64, k = 2 : i64, ta, stream = "compute"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  sched.yield(%z#0, %h) : (tensor<2x4xf32>, tensor<4x4xf32>) -> ()
} {stage = "s0", inputs = ["recv x", "param layer.w", "grad w"], outputs = ["send x", "grad w"]}
// CHECK: sched.order {
sched.order {
  // CHECK: sched.run {micro = 0 : i64, slots = {"send x" = 1 : i64, stash = 0 : i64}, task = @s0.F}
  sched.run {task = @s0.F, micro = 0 : i64, slots = {stash = 0 : i64, "send x" = 1 : i64}}
  // CHECK: sched.transfers {
  sched.transfers {
    // CHECK: sched.send {comm = @pipeline, delta = 1 : i64, home = "send x", micro = 0 : i64, slot = 1 : i64, stream = "pipeline"}
    sched.send {home = "send x", comm = @pipeline, delta = 1 : i64, micro = 0 : i64, slot = 1 : i64, stream = "pipeline"}
    // CHECK: sched.recv
    sched.recv {home = "recv dx", comm = @pipeline, delta = 1 : i64, micro = 0 : i64, slot = 0 : i64, stream = "pipeline"}
  // CHECK: level = 1 : i64
  } {level = 1 : i64}
  // CHECK: sched.metric {home = "sum loss", name = "loss"}
  sched.metric {name = "loss", home = "sum loss"}
// CHECK: {stage = "s0", table = "step"}
} {stage = "s0", table = "step"}
