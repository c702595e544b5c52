// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-schedule --hocket-allocate -o %t
// RUN: hocket-opt %t --hocket-verify-allocate -o /dev/null
// What runtime/verify finds has its own tests; here is that it is asked, and where the answer points.
// RUN: sed '0,/plan.wait/{/plan.wait/d}' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: sed '0,/plan.send/{/plan.send/d}' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=SEND
// RUN: sed 's/micro_batches = 2/micro_batches = 1/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: sed '0,/plan.launch {args = \[.plan.at<kind = 0, index = 0/s/index = 0/index = 999/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=RANGE
// Numbers that do not fit the plan's records are refused, never cut off.
// RUN: sed '0,/s = 0 : i64/s/s = 0 : i64/s = 65536 : i64/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=STREAM
// RUN: sed '0,/layers = 1 : i64/s/layers = 1 : i64/layers = 4294967297 : i64/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: sed '0,/kind = 0 : i64/s/kind = 0 : i64/kind = 300 : i64/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed '0,/delta = 1 /s//delta = 4294967296 /' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=PEER
// RUN: %python -c "h, t = open('%t').read().split('args = [', 1); open('%t.many', 'w').write(h + 'args = [' + t.split(']', 1)[0] + ', ' + ', '.join([t.split('>', 1)[0] + '>'] * 65536) + ']' + t.split(']', 1)[1])"
// RUN: not hocket-opt %t.many --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=OPERANDS
// A module that is no plan.
// RUN: sed '0,/kernel = @plan/s/kernel = @plan/kernel = @plain/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=NO-PLAN
// RUN: sed 's/kind = "c1"/kind = "c9"/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: sed '0,/ld = array<i64: /s//ld = array<i64: 8, /' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=DIMENSIONS
// RUN: sed '0,/args = \[#plan.at/s//args = ["x", #plan.at/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// RUN: sed '0,/dims = "vh"/s//dims = "vhx"/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=LETTERS
// RUN: sed '0,/axes = \[array<i64>, array<i64>\]/s//axes = [array<i64>, "x"]/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=AXES
// RUN: sed '/plan.scalar {kind = "c1"/s/f32/f16/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: sed '0,/slot = 1/s//slot = 5/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=SLOT
// RUN: sed '0,/plan.wait/s//%%z = arith.constant 1 : index\nplan.wait/' %t | not hocket-opt --hocket-verify-allocate 2>&1 | FileCheck %s --check-prefix=INSTRUCTION

// STREAM: stream 65536 does not fit a plan; legal: 0 to 65535
// LAYERS: layers 4294967297 does not fit a plan; legal: 0 to 4294967295
// KIND: kind 300 does not fit a plan; legal: 0 to 255
// PEER: peer or kind 4294967296 does not fit a plan; legal: -2147483648 to 2147483647
// OPERANDS: number of operands {{[0-9]+}} does not fit a plan; legal: 0 to 65535
// WAIT: error: the plan does not hold: class 's0'
// SEND: error: the plan does not hold: class 's{{[01]}}'
// MICRO: error: the plan does not hold: class 's0'
// MICRO-NEXT: plan.class @class.s0
// RANGE: error: the plan does not hold: class 's0', template 's0.F', instruction {{[0-9]+}} (launch '{{.*}}'): operand 0 names region 999; legal: a region below 15
// RANGE-NEXT: plan.launch {args = [#plan.at<kind = 0, index = 999>
// NO-PLAN: 'plan.launch' op names @plain.{{.*}}, which the module does not have
// SCALAR: kind "c9" is none of lr, c1, c2, seed
// DIMENSIONS: has 4 leading dimensions; three are needed
// ARGUMENT: takes #plan.at operands only
// LETTERS: has 3 letters; local, global and axes must have as many, part three, layers two
// AXES: axes of letter 1 are no array of numbers
// TYPE: 'plan.scalar' op type 'f16' has no place in a plan
// TYPE-NOT: error:
// SLOT: slot number 5 does not fit a plan; legal: 0 to 4
// INSTRUCTION: 'arith.constant' op is no instruction of a plan
