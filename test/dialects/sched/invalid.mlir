// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{joins no axis}}
sched.comm {sym_name = "c", axes = [], order = 0 : i64}

// -----

// expected-error @+1 {{is between ranks that differ on one axis, but names 2}}
sched.comm {sym_name = "c", axes = ["a", "b"], pair, order = 0 : i64}

// -----

// expected-error @+1 {{has order -1}}
sched.comm {sym_name = "c", axes = ["a"], order = -1 : i64}

// -----

// expected-error @+1 {{has -8 bytes of scratch}}
sched.kernel @k {
^bb0(%x: tensor<4xf32>):
  %y = model.reduce(%x) {dims = "a->", kind = "sum"} : (tensor<4xf32>) -> tensor<f32>
  sched.yield(%y) : (tensor<f32>) -> ()
} {scratch = -8 : i64}

// -----

// expected-error @+1 {{holds one op and the yield of its results}}
sched.kernel @k {
^bb0(%x: tensor<4xf32>):
  sched.yield(%x) : (tensor<4xf32>) -> ()
} {scratch = 0 : i64}

// -----

// expected-error @+1 {{takes the op's operands and yields its results, in order}}
sched.kernel @k {
^bb0(%x: tensor<4xf32>):
  %y = model.reduce(%x) {dims = "a->", kind = "sum"} : (tensor<4xf32>) -> tensor<f32>
  sched.yield(%x) : (tensor<4xf32>) -> ()
} {scratch = 0 : i64}

// -----

// expected-error @+1 {{needs a sched.yield at its end}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>):
  func.return
} {stage = "s0", inputs = ["recv x"], outputs = []}

// -----

// expected-error @+1 {{names 0 inputs and takes 1}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>):
  sched.yield() : () -> ()
} {stage = "s0", inputs = [], outputs = []}

// -----

// expected-error @+1 {{names 0 outputs and yields 1}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>):
  sched.yield(%x) : (tensor<4xf32>) -> ()
} {stage = "s0", inputs = ["recv x"], outputs = []}

// -----

// expected-error @+1 {{has "other x", which is no home}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>):
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["other x"], outputs = []}

// -----

// expected-error @+1 {{has "recv", which is no home}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>):
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv"], outputs = []}

// -----

// expected-error @+1 {{names "recv x" twice}}
sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv x"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{has no stream}}
  %z = sched.launch(%x) {kernel = @k, stream = ""} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{inplace holds pairs}}
  %z = sched.launch(%x) {kernel = @k, stream = "compute", inplace = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{inplace names result 0 and operand 1, which it does not have}}
  %z = sched.launch(%x) {kernel = @k, stream = "compute", inplace = array<i64: 0, 1>} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{result 0 cannot overwrite operand 0 of another type}}
  %z = sched.launch(%x) {kernel = @k, stream = "compute", inplace = array<i64: 0, 0>} : (tensor<4xf32>) -> tensor<5xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{inplace names result 0 twice}}
  %z = sched.launch(%x, %x) {kernel = @k, stream = "compute", inplace = array<i64: 0, 0, 0, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{has m = 0, n = 2, k = 4}}
  %z = sched.gemm(%y, %y) {m = 0 : i64, n = 2 : i64, k = 4 : i64, tb, stream = "compute"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{has no stream}}
  %z = sched.gemm(%y, %y) {m = 2 : i64, n = 2 : i64, k = 4 : i64, tb, stream = ""} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{shapes do not hold}}
  %z = sched.gemm(%y, %y) {m = 2 : i64, n = 2 : i64, k = 3 : i64, tb, stream = "compute"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{mixes element types}}
  %z = sched.gemm(%y, %y) {m = 2 : i64, n = 2 : i64, k = 4 : i64, tb, stream = "compute"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf64>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{adds to a value of another type}}
  %z = sched.gemm(%y, %y, %x) {m = 2 : i64, n = 2 : i64, k = 4 : i64, tb, stream = "compute"} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x2xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{gives back the values it takes}}
  %z = sched.collective(%x) {kind = "all_reduce_sum", comm = @c, algorithm = "direct", stream = "c"} : (tensor<4xf32>) -> tensor<5xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{kind "sum" is neither all_reduce_sum nor all_reduce_max}}
  %z = sched.collective(%x) {kind = "sum", comm = @c, algorithm = "direct", stream = "c"} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{algorithm "ring" is not direct}}
  %z = sched.collective(%x) {kind = "all_reduce_sum", comm = @c, algorithm = "ring", stream = "c"} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{has no stream}}
  %z = sched.collective(%x) {kind = "all_reduce_sum", comm = @c, algorithm = "direct", stream = ""} : (tensor<4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf64>):
  // expected-error @+1 {{mixes element types in one message}}
  %z:2 = sched.collective(%x, %y) {kind = "all_reduce_sum", comm = @c, algorithm = "direct", stream = "c"} : (tensor<4xf32>, tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>)
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{needs a sched.yield at its end}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    func.return
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{runs 0 layers}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 0 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{has 1 carries and 2 shared values of 2 operands and 1 results}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 2 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{differ in the number of operands or results}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{operand 1 does not fit argument 1}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 3 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{operand 0 does not fit argument 0}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<5xf32>, %b: tensor<4xf32>):
    sched.yield(%b) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{result 0 does not fit what its body yields}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<5xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{carry 0 changes its type}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %q = sched.launch(%a) {kernel = @k, stream = "compute"} : (tensor<4xf32>) -> tensor<5xf32>
    sched.yield(%q) : (tensor<5xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<5xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<2x4xf32>):
  // expected-error @+1 {{result 0 cannot overwrite operand 1}}
  %z = sched.repeat(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    sched.yield(%a) : (tensor<4xf32>) -> ()
  } {carries = 1 : i64, shared = 0 : i64, count = 2 : i64, inplace = array<i64: 0, 1>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}

// -----

// expected-error @+1 {{table "other" is none of step, eval, init}}
sched.order {
  sched.metric {name = "a", home = "sum a"}
} {stage = "s0", table = "other"}

// -----

sched.order {
  // expected-error @+1 {{is no entry of an order}}
  sched.comm {sym_name = "c", axes = ["a"], order = 0 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  // expected-error @+1 {{has micro-batch -1}}
  sched.run {task = @s0.F, micro = -1 : i64, slots = {}}
} {stage = "s0", table = "step"}

// -----

sched.order {
  // expected-error @+1 {{slot of "stash" is no number from 0}}
  sched.run {task = @s0.F, micro = 0 : i64, slots = {stash = -1 : i64}}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{moves "x", which is no home}}
    sched.send {home = "x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = 0 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has itself as its peer}}
    sched.send {home = "send x", comm = @p, delta = 0 : i64, micro = 0 : i64, slot = 0 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has a negative slot or micro-batch}}
    sched.send {home = "send x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = -1 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has no stream}}
    sched.send {home = "send x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = 0 : i64, stream = ""}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{moves "x", which is no home}}
    sched.recv {home = "x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = 0 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has itself as its peer}}
    sched.recv {home = "send x", comm = @p, delta = 0 : i64, micro = 0 : i64, slot = 0 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has a negative slot or micro-batch}}
    sched.recv {home = "send x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = -1 : i64, stream = "p"}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.order {
  sched.transfers {
    // expected-error @+1 {{has no stream}}
    sched.recv {home = "send x", comm = @p, delta = 1 : i64, micro = 0 : i64, slot = 0 : i64, stream = ""}
  } {level = 1 : i64}
} {stage = "s0", table = "step"}

// -----

sched.task @s0.F {
^bb0(%x: tensor<4xf32>, %y: tensor<?x4xf32>):
  // expected-error @+1 {{needs static shapes}}
  %z = sched.gemm(%y, %y) {m = 2 : i64, n = 2 : i64, k = 4 : i64, tb, stream = "compute"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<2x2xf32>
  sched.yield() : () -> ()
} {stage = "s0", inputs = ["recv x", "recv y"], outputs = []}
