// REQUIRES: hocket-opt
// Each line changes one thing of a step that place can cut.
// RUN: sed 's/time = \["micro"\], times = array<i64: 2>/time = ["micro", "n"], times = array<i64: 2, 1>/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: sed 's/sizes = array<i64: 2, 2>, time/sizes = array<i64: 4, 2>, time/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: sed 's/body = "layer", axis/body = "other", axis/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=SCAN
// RUN: sed 's/, model.scalar = "lr"//' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: sed 's/@step(/@stop(/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: sed '/^par.mesh/d' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: sed 's/return %%loss, /return %%fac, /' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=LOSS
// RUN: sed 's/return %%loss, /return %%lr, /' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: sed 's/return %%loss, %%norm, %%o_emb#0/return %%loss, %%norm, %%p_emb/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=NEW-VALUE
// RUN: sed 's/dot(%%f#0/dot(%%x0/; s/dot(%%dlg, %%f#0/dot(%%dlg, %%x0/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=FORWARD
// RUN: sed 's/return %%loss, %%norm,/return %%loss, %%lr,/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=NORM-ARGUMENT
// RUN: sed 's/return %%loss, .*/return %%loss : !s/; s/-> (!s {model.name = "loss"}, .*/-> (!s {model.name = "loss"}) {/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=LOSS-ONLY
// RUN: sed 's/"model.map"(%%q_emb, %%q_layer.w)/"model.map"(%%q_emb, %%q_emb)/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=TERM
// RUN: sed '/%%f:2 = model.scan/{p;s/%%f:2/%%again:2/}' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: sed 's/range = array<i64: 0, 4>, reverse/range = array<i64: 1, 5>, reverse/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: sed '/%%dlg = /i %%y = par.all_reduce(%%lr) {axes = ["micro"], kind = "sum"} : (!s) -> !s' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=NOT-MICRO
// RUN: sed '/%%dlg = /i %%y = par.all_reduce(%%loss) {axes = ["micro"], kind = "sum"} : (!s) -> !s' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/scatter_add(%%b#0/scatter_add(%%dx/; s/%%gw1 = par.all_reduce(%%b#1)/%%y = model.dot(%%f#1, %%f#1) {dims = "lbsh,lbsk->lhk"} : (!r, !r) -> !Wp\n%%gw1 = par.all_reduce(%%y)/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=REVERSE
// RUN: sed '/%%dlg = /i %%y = par.all_reduce(%%ls) {axes = ["data", "micro"], kind = "sum"} : (!sp) -> !s' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: sed 's/return %%loss, /%%y = par.all_reduce(%%lr) {axes = ["data"], kind = "sum"} : (!s) -> !s\n  return %%y, /' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=REDUCED-ARGUMENT
// RUN: sed 's/^  %%n2 = /  %%y = "model.map"(%%q_layer.w) <{dims = "->"}> ({ ^bb0(%%i: f32): %%z0 = math.sqrt %%i : f32  model.yield %%z0 : f32 }) : (!s) -> !s\n&/' %S/Inputs/two-stages.mlir | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: not hocket-opt %s --hocket-place 2>&1 | FileCheck %s --check-prefix=NORM-SUM
// RUN: sed 's/return %%l, %%l : tensor<f32>, tensor<f32>$/return %%l, %%l, %%l : tensor<f32>, tensor<f32>, tensor<f32>/; s/-> (tensor<f32>, tensor<f32>) {$/-> (tensor<f32>, tensor<f32>, tensor<f32>) {/' %s | not hocket-opt --hocket-place 2>&1 | FileCheck %s --check-prefix=RESULTS

// TIMES: place needs one time axis, there are 2
// SIZE: has 2 stages, axis "pipeline" has 4
// SCAN: no forward and reverse scan over "other" in @step
// ROLE: argument 2 has no role
// STEP: place needs a function @step of one block
// MESH: place needs one par.mesh, there are 0
// LOSS: the loss is not a sum over micro-batches
// ARGUMENT: returns a loss that is not computed
// NEW-VALUE: parameter "emb" has no new value
// FORWARD: is the pipeline's forward scan, but the loss does not depend on it
// NORM-ARGUMENT: result 1 is not computed in the update
// LOSS-ONLY: returns no loss and gradient norm
// TERM: 'model.map' op has no term on stage 1
// SECOND: second scan over layers of "layer": the pipeline would be ambiguous
// LAYERS: runs over other layers than the forward scan
// NOT-MICRO: sums over time what no micro-batch computes
// TWICE: over time enters another reduction over time
// REVERSE: is the pipeline's reverse scan, but no gradient depends on it
// BOTH: reduces over a time axis and others at once
// REDUCED-ARGUMENT: returns a loss that is not computed
// SPLIT: 'model.map' op takes a value of which each stage has a term; only the sum of squares may

// The loss again as the norm: a sum over micro-batches, which the update does not compute.
par.mesh {axes = [], sizes = array<i64>, sym_name = "m", time = ["micro"], times = array<i64: 2>}
func.func @step(%x: tensor<4xf32, #par.s<[{micro}]>> {model.name = "tokens", model.dims = "b", model.input = "tokens"}) -> (tensor<f32>, tensor<f32>) {
  %d = model.dot(%x, %x) {dims = "b,b->"} : (tensor<4xf32, #par.s<[{micro}]>>, tensor<4xf32, #par.s<[{micro}]>>) -> tensor<f32, #par.s<[], partial = sum{micro}>>
  %l = par.all_reduce(%d) {axes = ["micro"], kind = "sum"} : (tensor<f32, #par.s<[], partial = sum{micro}>>) -> tensor<f32>
  return %l, %l : tensor<f32>, tensor<f32>
}
// NORM-SUM: result 1 is not computed in the update
// RESULTS: returns 3 values; loss, norm, parameters and moments are 2
