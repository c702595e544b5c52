// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-schedule --hocket-verify-schedule | FileCheck %s
// RUN: hocket-opt %S/../place/Inputs/one-stage.mlir --hocket-place --hocket-partition --hocket-schedule --hocket-verify-schedule | FileCheck %s --check-prefix=ONE

// CHECK: sched.comm {axes = ["data"], order = 0 : i64, sym_name = "data"}
// CHECK: sched.comm {axes = ["pipeline"], order = 1 : i64, sym_name = "world"}
// CHECK: sched.comm {axes = ["pipeline"], order = 2 : i64, pair, sym_name = "pipeline"}

// The layer's body is inlined; its residual is an argument, so it is copied.
// CHECK-LABEL: sched.task @s0.F
// CHECK: sched.launch({{.*}}kernel = @gather_f32
// CHECK: sched.repeat
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[D:.*]] = sched.gemm(%[[X]], %[[W]]) {k = 8 : i64, m = 8 : i64, n = 8 : i64, stream = "compute"}
// CHECK-NEXT: %[[Z:.*]] = sched.launch(%[[X]], %[[D]])
// CHECK-NEXT: %[[C:.*]] = sched.launch(%[[X]])
// CHECK-NEXT: sched.yield(%[[Z]], %[[C]])
// CHECK: inputs = ["input tokens", "param emb", "param layer.w"], outputs = ["send x", "stash layer.x"], stage = "s0"

// Gradients are added in place: by the product, or by a kernel.
// CHECK-LABEL: sched.task @s0.B
// CHECK: sched.repeat
// CHECK-NEXT: ^bb0({{.*}}, %[[G:[^:]*]]: tensor<8x8xf32>):
// CHECK: sched.gemm({{.*}}, %[[G]]) {{.*}}, ta}
// CHECK: inplace = array<i64: 1, 3>, reverse
// CHECK: sched.launch({{.*}}) {inplace = array<i64: 0, 0>
// CHECK: inputs = [{{.*}}"grad layer.w", "grad emb"], outputs = ["grad layer.w", "grad emb"]

// The copy's gradient is added, then reduced; squares are summed over layers,
// then over stages.
// CHECK-LABEL: sched.task @s0.N
// CHECK: %[[SUM:.*]] = sched.launch({{.*}}) {inplace = array<i64: 0, 0>
// CHECK: sched.collective(%[[SUM]]) {algorithm = "direct", comm = @data, kind = "all_reduce_sum", stream = "data"}
// CHECK: sched.repeat
// CHECK: sched.collective({{.*}}comm = @data
// CHECK: sched.collective({{.*}}comm = @world
// CHECK: outputs = ["grad layer.w", "grad emb", "value norm"]

// Three maps of the clip factor are two: the norm itself is reported by stage 1 alone.
// CHECK-LABEL: sched.task @s0.U
// CHECK-COUNT-1: sched.launch
// CHECK: sched.launch({{.*}}inplace = array<i64: 0, 0, 1, 2, 2, 3>
// CHECK: sched.repeat
// CHECK: inplace = array<i64: 0, 4, 1, 6, 2, 7>

// Levels 1, 2, 4, 7; a send and a receive of one level would be one group.
// CHECK: sched.order {
// CHECK: sched.run {micro = 0 : i64, slots = {"send x" = 0 : i64, stash = 0 : i64}, task = @s0.F}
// CHECK: level = 1
// CHECK: sched.run {micro = 1 : i64, slots = {"send x" = 0 : i64, stash = 1 : i64}, task = @s0.F}
// CHECK: level = 2
// CHECK: sched.recv {comm = @pipeline, delta = 1 : i64, home = "recv dz", micro = 0
// CHECK: level = 4
// CHECK: task = @s0.B
// CHECK: sched.recv {{.*}}home = "recv dz", micro = 1
// CHECK-NEXT: sched.recv {{.*}}home = "recv grad.emb"
// CHECK-NEXT: level = 7
// CHECK: task = @s0.B
// CHECK-NEXT: task = @s0.N
// CHECK-NEXT: task = @s0.U
// CHECK: sched.send {{.*}}home = "param emb"
// CHECK: {stage = "s0", table = "step"}
// CHECK: task = @s1.U
// CHECK: sched.metric {home = "sum loss", name = "loss"}
// CHECK-NEXT: sched.metric {home = "value grad_norm", name = "grad_norm"}
// CHECK: {stage = "s1", table = "step"}
// CHECK-NOT: task = @s0.B
// CHECK: {stage = "s0", table = "eval"}
// CHECK: sched.send {{.*}}home = "param emb"
// CHECK: {stage = "s0", table = "init"}

// ONE-NOT: pair
// ONE-NOT: world
// ONE: sched.order
// ONE-NEXT: sched.run {micro = 0 : i64, slots = {stash = 0 : i64}, task = @s0.F}
// ONE-NEXT: sched.run {micro = 0 : i64, slots = {stash = 0 : i64}, task = @s0.B}
// ONE-NEXT: sched.run {micro = 1 : i64, slots = {stash = 0 : i64}, task = @s0.F}
// ONE-NEXT: sched.run {micro = 1 : i64, slots = {stash = 0 : i64}, task = @s0.B}
// ONE-NEXT: sched.run {micro = 0 : i64, slots = {}, task = @s0.L}
// ONE-NEXT: sched.run {micro = 0 : i64, slots = {}, task = @s0.N}
// ONE-NEXT: sched.run {micro = 0 : i64, slots = {}, task = @s0.U}
