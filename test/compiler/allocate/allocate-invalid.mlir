// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-schedule -o %t
// Each line changes one thing of a schedule that can be laid out.
// RUN: sed '0,/sched.recv .*"recv dz"/s/\(sched.recv .*"recv dz".*\)/\1\n\1\n\1\n\1\n\1/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=FIVE
// RUN: sed '/sched.recv .*"recv grad.emb"/s/stream = "pipeline"/stream = "other"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=TWO-STREAMS
// RUN: sed '0,/sched.recv .*"recv dz"/s/home = "recv dz"/home = "recv zz"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=MOVES
// RUN: sed 's/task = @s0.N/task = @s1.N/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=RUNS
// RUN: sed 's/, stash = 1 : i64//' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// RUN: sed '/sched.task @s1.L/,/stage = "s1"/s/f32/f16/g' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: sed 's/"stash layer.x"/"send layer.x"/g' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=STACKED
// RUN: sed '/sched.task @s0.F/,/stage/s/%%1:2 = sched.repeat(%%0, %%arg2)/%%9 = sched.gemm(%%arg2, %%arg2) {k = 8 : i64, m = 8 : i64, n = 8 : i64, stream = "compute"} : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>\n%%1:2 = sched.repeat(%%0, %%9)/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=NO-STACK
// RUN: sed '/sched.task @s0.N/,/stage/s/%%1 = sched.collective(%%0)\(.*\)(tensor<16x8xf32>) -> tensor<16x8xf32>/%%y = sched.gemm(%%arg2, %%arg2) {k = 16 : i64, m = 8 : i64, n = 8 : i64, stream = "compute", ta} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>\n%%1, %%z = sched.collective(%%0, %%y)\1(tensor<16x8xf32>, tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<8x8xf32>)/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: sed '/sched.task @s0.N/,/stage/s/%%1 = sched.collective(%%0)\(.*\)(tensor<16x8xf32>) -> tensor<16x8xf32>/%%y = sched.gemm(%%arg2, %%arg2) {k = 16 : i64, m = 8 : i64, n = 8 : i64, stream = "compute", ta} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>\n%%z = sched.gemm(%%arg2, %%arg2) {k = 16 : i64, m = 8 : i64, n = 8 : i64, stream = "compute", ta} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>\n%%a, %%b = sched.collective(%%y, %%z)\1(tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)\n%%c, %%d = sched.collective(%%a, %%b)\1(tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)\n&/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=ANOTHER
// RUN: sed 's/outputs = \["value grad_norm"/outputs = ["scalar lr"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=WRITES
// RUN: sed 's/"scalar c1"/"scalar c9"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=SCALAR
// RUN: sed 's/comm = @data/comm = @nobody/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=COMM
// RUN: sed 's/kernel = @gather_f32_16x8_[0-9a-f]*/kernel = @nobody/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: sed 's/sched.kernel @gather_f32_16x8_[0-9a-f]*/sched.kernel @probe/; s/kernel = @[a-z0-9_]*/kernel = @probe/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// RUN: sed '/sched.task @s0.F/,/stage/s/%%2 = sched.gemm.*/%%q = sched.gemm(%%arg0, %%arg0) {k = 4 : i64, m = 2 : i64, n = 2 : i64, stream = "compute", tb} : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x2xi32>\n&/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=PRODUCT
// RUN: sed '/sched.task @s0.F/,/stage/s/%%0 = sched.launch(%%arg1, %%arg0)\(.*\)tensor<2x4xi32>)/%%c = par.coord() {axes = ["zz"], times = 1 : i64} : () -> index\n%%0 = sched.launch(%%arg1, %%arg0, %%c)\1tensor<2x4xi32>, index)/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: sed '/sched.task @s0.F/,/stage/s/%%0 = sched.launch(%%arg1, %%arg0)/%%c = arith.constant 1 : index\n&/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=STANDS
// RUN: sed '/sched.task @s1.B/,/stage/{s/"stash dot"/"recv a"/;s/"stash xent"/"recv b"/;s/"stash x"/"recv c"/}' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=FOUR
// RUN: sed '0,/home = "sum loss"/s//home = "sum zz"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=METRIC
// RUN: sed '/place.param/s/name = "emb"/name = "emc"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: sed '/sched.task @s0.N/,/stage/s/%%3 = sched.launch()\(.*\)-> tensor<f32>/%%c = sched.launch()\1-> index\n&/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: sed '/sched.task @s0.U/,/stage/s/sched.yield(%%1#0, %%1#1,\(.*\)/%%8, %%9 = sched.collective(%%1#0, %%1#1) {algorithm = "direct", comm = @data, kind = "all_reduce_sum", stream = "data"} : (tensor<16x8xf32>, tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>)\nsched.yield(%%8, %%9,\1/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=APART
// RUN: sed '/place.param.*name = "emb"/{s/dims = "vh"/dims = "v"/;s/type = tensor<16x8xf32>/type = tensor<16xf32>/}' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: sed '/place.input/s/tensor<8x4xi32/tensor<8x5xi32/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: sed '/sched.task @s1.L/,/stage = "s1"/s/tensor<f32>/tensor<?xf32>/g' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// RUN: sed '/place.input/s/{data, micro}/{dada, micro}/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=SHARDED
// RUN: sed 's/"tokens"/"tokenz"/; s/"input tokens"/"input tokenz"/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: sed '0,/sched.recv .*"recv dz"/s/slot = 0 : i64/slot = 70000 : i64/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=MOVE-SLOT
// RUN: sed 's/stash = 1 : i64/stash = 70000 : i64/' %t | not hocket-opt --hocket-allocate 2>&1 | FileCheck %s --check-prefix=RUN-SLOT

// FIVE: moves more than four slotted buffers at one level
// TWO-STREAMS: groups transfers of two streams
// MOVES: moves "recv zz", which no task of s0 has
// RUNS: runs no task of s0: @s1.N
// NO-SLOT: gives no slot for "stash"
// ELEMENT: element type 'f16' has no place in a plan; f32, f64, i32 and i64 have
// STACKED: home "send layer.x" cannot be stacked over layers
// NO-STACK: operand 1 is stacked but no home or earlier repeat made it
// MIXED: mixes values that have a home with values that have none in one message
// ANOTHER: has an operand that is part of another message
// WRITES: writes "scalar lr", which tasks only read
// SCALAR: scalar "c9" is none of lr, c1, c2, seed
// COMM: names no communicator: @nobody
// KERNEL: names no kernel: @nobody
// ARGUMENTS: passes 2 arguments to a kernel of 3
// PRODUCT: is no product that the kernel library makes: mk,nk->mn
// AXIS: names no mesh axis: "zz"
// STANDS: 'arith.constant' op cannot stand in a task; launch, gemm, collective, repeat and par.coord can
// FOUR: uses 5 slotted homes; a list entry holds four slots
// METRIC: reports "sum zz", which no task has
// UNUSED: 'place.param' op is used by no task of its mesh
// INDEX: 'sched.launch' op takes an index that is no par.coord
// APART: 'sched.collective' op has operands that do not lie next to each other
// RANK: 'place.param' op of type 'tensor<16xf32>' is held as 'tensor<16x8xf32>' by @s0
// EXTENT: 'place.input' op of type 'tensor<8x5xi32, #par.s<[{data, micro}, {}]>>' is held as 'tensor<2x4xi32>' by @s0
// DYNAMIC: home "sum loss" has type 'tensor<?xf32>'; homes hold tensors of static shape
// SHARDED: is sharded over "dada", which the mesh does not have
// INPUT: is none of the inputs that the runtime writes: tokens, labels
// MOVE-SLOT: moves slot 70000; legal: 0 to 65535
// RUN-SLOT: slot of "stash" is 70000 : i64; legal: 0 to 65535
