// REQUIRES: hocket-opt
// RUN: hocket-opt %S/Inputs/two-stages.mlir --hocket-place --hocket-verify-place | FileCheck %s
// RUN: hocket-opt %S/Inputs/one-stage.mlir --hocket-place --hocket-verify-place | FileCheck %s --check-prefix=ONE
// RUN: sed 's/"1f1b"/"gpipe"/' %S/Inputs/two-stages.mlir | hocket-opt --hocket-place | FileCheck %s --check-prefix=GPIPE
// RUN: sed 's/cuts = array<i64: 1>/cuts = array<i64: 4>/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: sed 's/time = \["micro"\]/time = ["other"]/' %S/Inputs/one-stage.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=TIME

// A tied embedding: stage 0 owns it, stage 1 has a copy. Layers [0, 1) and [1, 4).
// CHECK: place.mesh {axes = ["data"], device = 0 : i64, layers = array<i64: 0, 1>, sizes = array<i64: 2>, stage = 0 : i64, strides = array<i64: 1>, sym_name = "s0"}
// CHECK: place.mesh {{.*}}device = 2 : i64, layers = array<i64: 1, 4>{{.*}}sym_name = "s1"
// CHECK: place.param {{.*}}mesh = @s0, name = "emb", owner = true, stacked = false, type = tensor<16x8xf32>}
// CHECK: place.param {{.*}}dims = "hk", layers = array<i64: 0, 1>, mesh = @s0, name = "layer.w", owner = true, stacked = true, type = tensor<8x8xf32>}
// CHECK: place.input {mesh = @s0, name = "tokens"
// CHECK: place.param {{.*}}mesh = @s1, name = "emb", owner = false
// CHECK-NOT: place.input {mesh = @s1, name = "tokens"
// CHECK: place.input {mesh = @s1, name = "labels"

// What comes before the loss's scan is on stage 0, with its slice of the stack.
// CHECK-LABEL: func.func @s0.fwd(
// CHECK-SAME: place.home = "input tokens"
// CHECK-SAME: tensor<1x8x8xf32> {{{.*}}place.home = "param layer.w", place.stacked}
// CHECK-SAME: -> ({{.*}} {place.home = "send x"}, {{.*}} {place.home = "stash layer.x", place.stacked})
// CHECK: model.gather
// CHECK: model.scan({{.*}}range = array<i64: 0, 1>
// CHECK-LABEL: func.func @s1.fwd(
// CHECK-SAME: place.home = "recv x"
// CHECK: model.scan({{.*}}range = array<i64: 1, 4>
// CHECK: model.xent
// CHECK-LABEL: func.func @s0.back(
// CHECK: model.scan({{.*}}range = array<i64: 0, 1>, reverse
// CHECK: model.scatter_add
// CHECK-LABEL: func.func @s1.back(
// CHECK-SAME: -> ({{.*}} {place.home = "grad emb"}, {{.*}} {place.home = "send dz"}, {{.*}} {place.home = "grad layer.w", place.stacked})
// CHECK-LABEL: func.func @s1.loss(
// CHECK: par.all_reduce({{.*}}axes = ["data"]
// The owner adds the copy's gradient before it reduces over data.
// CHECK-LABEL: func.func @s0.norm(
// CHECK-SAME: place.home = "recv grad.emb"
// CHECK: arith.addf
// CHECK: par.all_reduce({{.*}}axes = ["data"], bucket
// CHECK-LABEL: func.func @s0.update(

// CHECK: place.step
// CHECK: place.task() {fn = @s0.fwd, mesh = @s0, name = "F"}
// CHECK: place.transfer({{.*}}from = @s0, source = "send x", target = "recv x", to = @s1}
// CHECK: place.task({{.*}}fn = @s1.fwd
// CHECK: place.task({{.*}}fn = @s1.back
// CHECK: place.transfer({{.*}}from = @s1, source = "send dz", target = "recv dz", to = @s0}
// CHECK: place.task({{.*}}fn = @s0.back
// CHECK: place.yield
// CHECK: place.task({{.*}}name = "L"
// CHECK: place.transfer({{.*}}source = "grad emb", target = "recv grad.emb", to = @s0}
// CHECK: place.task({{.*}}name = "N"
// CHECK: place.all_reduce({{.*}}meshes = [@s0, @s1]
// CHECK: place.task({{.*}}fn = @s0.update
// CHECK: place.transfer({{.*}}from = @s0, source = "param emb", target = "param emb", to = @s1}
// CHECK: order = {s0 = ["F.0", "F.1", "B.0", "B.1"], s1 = ["F.0", "B.0", "F.1", "B.1"]}

// GPIPE: order = {s0 = ["F.0", "F.1", "B.0", "B.1"], s1 = ["F.0", "F.1", "B.0", "B.1"]}

// ONE: place.mesh {axes = ["data"], device = 0 : i64, layers = array<i64: 0, 4>
// ONE-NOT: place.transfer
// ONE-NOT: place.all_reduce
// ONE: order = {s0 = ["F.0", "B.0", "F.1", "B.1"]}

// CUT: cut 4 leaves a stage without layers in [0, 4)
// TIME: no par.all_reduce over "other" to cut the step at
