// REQUIRES: hocket-opt
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place --hocket-partition --hocket-schedule -o %t
// RUN: hocket-opt %t --hocket-verify-schedule -o /dev/null
// Each line changes one thing that the verifier must see.
// RUN: sed '0,/sched.send.*"grad emb"/{/sched.send.*"grad emb"/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SEND
// RUN: sed '0,/sched.recv.*"recv grad.emb"/{/sched.recv.*"recv grad.emb"/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-RECV
// RUN: sed '/comm = @pipeline/s/home = "param emb"/home = "param none"/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=WRONG-HOME
// RUN: sed '0,/sched.send.*"send x"/{/sched.send.*"send x"/s/slot = 0/slot = 1/}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=SEND-SLOT
// RUN: sed '0,/sched.recv.*micro = 1/{/sched.recv.*"recv dz".*micro = 1/s/micro = 1/micro = 0/}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=MICRO
// RUN: sed 's/stash = 1 : i64/stash = 0 : i64/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=STASH
// RUN: sed 's/, stash = 1 : i64//' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// RUN: sed 's/order = 2 : i64, pair/order = 1 : i64, pair/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=COMM-ORDER
// RUN: sed '/sched.comm/s/axes = \["data"\]/axes = ["dato"]/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=COMM-AXIS
// RUN: sed 's/comm = @data/comm = @pipeline/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: sed 's/{comm = @pipeline/{comm = @data/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: sed '/comm = @world/s/stream = "pipeline"/stream = "world"/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=IN-FLIGHT
// RUN: sed '0,/comm = @data/{/comm = @data/s/stream = "data"/stream = "other"/}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWO-STREAMS
// RUN: sed '0,/delta = 1/s/delta = 1/delta = 5/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=PEER
// RUN: sed '0,/task = @s1.N/{/task = @s1.N/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=WORLD
// RUN: sed 's/task = @s1.N/task = @s0.N/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=TASK
// RUN: sed 's/{stage = "s1", table = "init"}/{stage = "s0", table = "init"}/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: sed '0,/sched.run {micro = 1/s/sched.run {micro = 1/sched.run {micro = 0/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed '0,/kernel = @gather_f32_16x8_[0-9a-f]*/s/kernel = @gather_f32_16x8_[0-9a-f]*/kernel = @nobody/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: sed 's/\["input tokens", "param layer.w", "recv dz"/["input tokens", "param emb", "recv dz"/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=HOME-TYPE
// RUN: sed 's/sched.kernel @constant_f32_scalar_[0-9a-f]*/sched.kernel @probe/; s/kernel = @constant_f32_scalar_[0-9a-f]*/kernel = @probe/; s/kernel = @gather_f32_16x8_[0-9a-f]*/kernel = @probe/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=KERNEL-TYPES
// RUN: sed '0,/sched.send.*"param emb"/{/sched.send.*"param emb"/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: sed '0,/task = @s1.F/{/task = @s1.F/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=RECV-OVERWRITE
// RUN: sed '/task = @s1.F/d' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNREAD
// RUN: sed '/stash = 1.*task = @s0.B/d' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: sed 's/outputs = \["sum loss"\], stage = "s1"/outputs = ["sum loss"], stage = "s7"/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=TASK-STAGE
// RUN: sed 's/{stage = "s1", table = "init"}/{stage = "s7", table = "init"}/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER-STAGE
// RUN: sed '0,/sched.transfers {/s//sched.transfers {\n%%z = arith.constant 1 : index/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NEITHER
// RUN: sed '0,/level = 11/s//level = 12/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: sed '/^  sched.order {$/{:a;N;/table = /!ba;/stage = "s1", table = "init"/d}' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-TABLE
// RUN: sed '/place.mesh/s/stage = 1/stage = 2/' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=MESH-STAGE
// RUN: sed '/place.mesh/d' %t | not hocket-opt --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-MESHES
// RUN: not hocket-opt %s --hocket-verify-schedule 2>&1 | FileCheck %s --check-prefix=CIRCLE

// NO-SEND: is one of 2 sends from stage 1 to stage 0, which receives 3
// NO-RECV: reads slot 0 of "recv grad.emb", which does not hold micro-batch 0
// WRONG-HOME: moves a home that no task has
// SEND-SLOT: sends slot 1 of "send x", which does not hold micro-batch 0
// MICRO: reads slot 0 of "recv dz", which does not hold micro-batch 1
// STASH: overwrites slot 0 of "stash", still in use by micro-batch 0
// NO-SLOT: has no slot for "stash"
// COMM-ORDER: has the order number of another communicator
// COMM-AXIS: joins "dato", which is no axis of devices
// GROUP: needs a group communicator, @pipeline is none
// PAIR: needs a pair communicator, @data is none
// IN-FLIGHT: on stream {{"(pipeline|world)"}} may be in flight together with @{{pipeline|world}} on stream {{"(pipeline|world)"}}, whose groups share devices
// TWO-STREAMS: on stream {{"(data|other)"}} may be in flight together with @data on stream {{"(data|other)"}}
// PEER: has its peer at distance 5, where there is none
// WORLD: has collectives over stages that stage 1 does not issue at that point
// TASK: runs @s0.N, which is no task of "s1"
// TABLE: is the second table init of "s0"
// TWICE: is the second of @s0.F for micro-batch 0
// KERNEL: runs unknown kernel @nobody
// HOME-TYPE: has "param emb" of type 'tensor<1x8x8xf32>', elsewhere it is 'tensor<16x8xf32>'
// KERNEL-TYPES: and kernel @probe differ in types
// EMPTY: is empty
// RECV-OVERWRITE: overwrites slot 0 of "recv x", still in use
// UNREAD: receives "recv x", which nobody reads
// FULL: leaves slot 0 of "recv dz" full (micro-batch 1)
// TASK-STAGE: belongs to unknown stage "s7"
// ORDER-STAGE: is for unknown stage "s7"
// NEITHER: 'arith.constant' op is neither send nor recv
// LEVEL: of "param emb" for micro-batch 0 meets the send of "param emb" for micro-batch 0
// NO-TABLE: stage 1 has no table "init"
// MESH-STAGE: has stage 2 of 2
// NO-MESHES: has no meshes

// Two stages that send before they receive: each waits for the other.
par.mesh {axes = ["pipeline"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 1>}
place.mesh {device = 0 : i64, strides = array<i64>, axes = [], sizes = array<i64>, sym_name = "s0", stage = 0 : i64, layers = array<i64: 0, 1>}
place.mesh {device = 2 : i64, strides = array<i64>, axes = [], sizes = array<i64>, sym_name = "s1", stage = 1 : i64, layers = array<i64: 1, 2>}
sched.comm {axes = ["pipeline"], order = 0 : i64, pair, sym_name = "pipeline"}
sched.task @s0.F {
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  sched.yield(%x) : (tensor<f32>) -> ()
} {inputs = ["param p", "recv y"], outputs = ["param p"], stage = "s0"}
sched.task @s1.F {
^bb0(%x: tensor<f32>, %y: tensor<f32>):
  sched.yield(%x) : (tensor<f32>) -> ()
} {inputs = ["param p", "recv y"], outputs = ["param p"], stage = "s1"}
sched.order {
  sched.transfers {
    sched.send {comm = @pipeline, delta = 1 : i64, home = "param p", micro = 0 : i64, slot = 0 : i64, stream = "pipeline"}
  } {level = 1 : i64}
  sched.transfers {
    sched.recv {comm = @pipeline, delta = 1 : i64, home = "recv y", micro = 0 : i64, slot = 0 : i64, stream = "pipeline"}
  } {level = 1 : i64}
  sched.run {micro = 0 : i64, slots = {"recv y" = 0 : i64}, task = @s0.F}
} {stage = "s0", table = "step"}
sched.order {
  sched.transfers {
    sched.send {comm = @pipeline, delta = -1 : i64, home = "param p", micro = 0 : i64, slot = 0 : i64, stream = "pipeline"}
  } {level = 1 : i64}
  sched.transfers {
    sched.recv {comm = @pipeline, delta = -1 : i64, home = "recv y", micro = 0 : i64, slot = 0 : i64, stream = "pipeline"}
  } {level = 1 : i64}
  sched.run {micro = 0 : i64, slots = {"recv y" = 0 : i64}, task = @s1.F}
} {stage = "s1", table = "step"}
// CIRCLE: waits for itself in a circle over stages
