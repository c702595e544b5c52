// REQUIRES: hocket-opt
// RUN: hocket-opt %S/Inputs/two-stages.mlir --hocket-place -o %t
// RUN: hocket-opt %t --hocket-verify-place -o /dev/null
// Each line changes one thing that the verifier must see.
// RUN: sed '/place.transfer.*send x/d; s/place.task(%1) {fn = @s1.fwd/place.task(%0#0) {fn = @s1.fwd/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-TRANSFER
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["B.0", "F.0", "F.1", "B.1"]/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["F.0", "B.0", "F.1"]/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["F.0", "F.1", "B.1", "B.0"]/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=MICRO-ORDER
// RUN: sed 's/s1 = \["F.0", "B.0", "F.1", "B.1"\]/s1 = ["F.0", "B.0", "F.1", "B.x"]/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: sed 's/s1 = \["F.0", "B.0"/s1 = ["F.0", "W.0"/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-TASK
// RUN: sed 's/, s1 = \["F.0"/, s7 = ["F.0"/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: sed 's/stage = 1 : i64/stage = 0 : i64/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: sed 's/device = 2 : i64/device = 1 : i64/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: sed 's/device = 2 : i64/device = 3 : i64/; s/^module {/module { topo.cluster @c { topo.device @cpu isa "x86-64-v3" {threads = 1, memory = 1024, rate_f32 = 1.0e10, memory_rate = 1.0e10} topo.island @host x 1 "memory" of 4 @cpu rate 1.0e10 latency 1.0e-6 {} }/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: sed 's/stage = 1 : i64/stage = 2 : i64/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=GAP
// RUN: sed '/place.input {mesh = @s0/d' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// RUN: sed '/place.param .*mesh = @s1, name = "emb"/d' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-PARAM
// RUN: sed 's/fn = @s1.fwd/fn = @nobody/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-FN
// RUN: sed 's/fn = @s1.fwd, mesh = @s1/fn = @s1.fwd, mesh = @s9/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=TASK-MESH
// RUN: sed 's/place.home = "recv x"/model.name = "x"/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=NO-HOME
// RUN: sed 's/place.home = "recv x"/place.home = "param emb"/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=OPERANDS
// RUN: sed 's/target = "recv dz", to = @s0/target = "recv dz", to = @s4/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=TRANSFER-MESH
// RUN: sed 's/place.task(%4, %0#1)\(.*\) : (\(tensor<8x4x8xf32, [^>]*>>\), \(tensor<1x8x4x8xf32, [^>]*>>\))/place.task(%0#1, %4)\1 : (\3, \2)/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=OPERAND-TYPE
// RUN: sed 's/place.task(%4, %0#1)\(.*\) : (\(tensor<8x4x8xf32, [^>]*>>\), tensor<1x8x4x8xf32, [^>]*>>)/place.task(%4)\1 : (\2)/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=OPERAND-MISSING
// RUN: sed '/fn = @s1.update/{s/%6:4/%6:3/; s/, tensor<3x8x8xf32>)$/)/}' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=RESULTS
// RUN: sed 's/-> (tensor<f32> {place.home = "sum loss"})/-> tensor<f32>/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=RESULT-HOME
// RUN: sed 's/fn = @s1.back, mesh = @s1, name = "B"/fn = @s1.back, mesh = @s1, name = "F"/' %t | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=TASK-TWICE
// RUN: echo "module {}" | not hocket-opt --hocket-verify-place 2>&1 | FileCheck %s --check-prefix=STEPS

// NO-TRANSFER: uses a value of @s0 on @s1 without a transfer
// CIRCLE: order tables wait for each other in a circle
// MISSING: order of @s1 lacks B.1
// MICRO-ORDER: order of @s1 runs "B.1" where B.0 is due
// SYNTAX: order of @s1: "B.x" is no TASK.MICRO
// NO-TASK: order of @s1 runs "W", which it does not have
// NO-MESH: has an order for unknown mesh @s7
// SHARED: is the second mesh of stage 0
// DEVICE: has device 1 twice or together with @s0
// OUTSIDE: has device 4; the cluster has 4
// GAP: is stage 2; stage 1 is missing
// NO-INPUT: uses "input tokens", which does not live on @s0
// NO-PARAM: uses "param emb", which does not live on @s1
// NO-FN: runs unknown function @nobody
// TASK-MESH: runs on unknown mesh @s9
// NO-HOME: argument {{[0-9]+}} has no place.home
// OPERANDS: has 1 operands, @s1.fwd takes 0
// TRANSFER-MESH: names an unknown mesh
// OPERAND-TYPE: operand 0 has another type than argument 2 of @s0.back
// OPERAND-MISSING: lacks an operand for "stash layer.x"
// RESULTS: results differ from those of @s1.update
// RESULT-HOME: result 0 has no place.home
// TASK-TWICE: is the second task F of @s1
// STEPS: place gives one place.step, there are 0
