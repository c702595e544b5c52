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
