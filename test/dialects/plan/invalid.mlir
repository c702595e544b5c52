// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{has 1 axes, 2 sizes and 1 strides}}
plan.mesh {axes = ["d"], micro_batches = 1 : i64, sizes = array<i64: 2, 2>, strides = array<i64: 1>}

// -----

// expected-error @+1 {{has 1 axes, 1 sizes and 0 strides}}
plan.mesh {axes = ["d"], micro_batches = 1 : i64, sizes = array<i64: 2>, strides = array<i64>}

// -----

// expected-error @+1 {{has 0 micro-batches; 1 to 16777216}}
plan.mesh {axes = ["d"], micro_batches = 0 : i64, sizes = array<i64: 2>, strides = array<i64: 1>}

// -----

// expected-error @+1 {{has 16777217 micro-batches}}
plan.mesh {axes = ["d"], micro_batches = 16777217 : i64, sizes = array<i64: 2>, strides = array<i64: 1>}

// -----

// expected-error @+1 {{first has 2 coordinates and last 1}}
plan.class @c {
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0, 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{covers no rank: first 2, last 1}}
plan.class @c {
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 2>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{covers no rank: first -1, last 1}}
plan.class @c {
} {arena = 64 : i64, events = 2 : i64, first = array<i64: -1>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{has -1 events}}
plan.class @c {
} {arena = 64 : i64, events = -1 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// A region is verified before its class reads it.
plan.class @c {
  // expected-error @+1 {{requires attribute 'bytes'}}
  plan.region {kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "w", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 0 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{first_use names event 2 of 2}}
plan.class @c {
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64: 2>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{first_use names event -1 of 2}}
plan.class @c {
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64: -1>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
  // expected-error @+1 {{overlaps the region before it: starts at 16, legal from 32}}
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 16 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{regions end at 96, the arena at 64}}
plan.class @c {
  plan.region {bytes = 96 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  // expected-error @+1 {{overlaps the region before it: starts at -8, legal from 0}}
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = -8 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  // expected-error @+1 {{bytes = -32; at least 0}}
  plan.region {bytes = -32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  // expected-error @+1 {{slots = 0; at least 1}}
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 0 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  // expected-error @+1 {{layers = 0; at least 1}}
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 0 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  // expected-error @+1 {{micros = -1; at least 1}}
  plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = -1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

// expected-error @+1 {{expects parent op 'plan.class'}}
plan.region {bytes = 32 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "r", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}

// -----

plan.class @c {
  // expected-error @+1 {{entries come in sixes (template, micro-batch, four slots), got 5}}
  plan.list {entries = array<i64: 0, 0, 0, 0, 0>, table = "step"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.template {
    // expected-error @+1 {{never ends: from 0 to 4 by 0}}
    plan.repeat {
    } {from = 0 : i64, step = 0 : i64, to = 4 : i64}
  } {name = "F"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.template {
    // expected-error @+1 {{never ends: from 0 to 4 by 3}}
    plan.repeat {
    } {from = 0 : i64, step = 3 : i64, to = 4 : i64}
  } {name = "F"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.template {
    // expected-error @+1 {{never ends: from 0 to 4 by -1}}
    plan.repeat {
    } {from = 0 : i64, step = -1 : i64, to = 4 : i64}
  } {name = "F"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.template {
    // expected-error @+1 {{counts with -9223372036854775808, which has more than 32 bits}}
    plan.repeat {
    } {from = -9223372036854775808 : i64, step = -1 : i64, to = 0 : i64}
  } {name = "F"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}

// -----

plan.class @c {
  plan.template {
    plan.repeat {
      // expected-error @+1 {{is nested in a repeat; repeats are flat}}
      plan.repeat {
      } {from = 0 : i64, step = 1 : i64, to = 2 : i64}
    } {from = 0 : i64, step = 1 : i64, to = 2 : i64}
  } {name = "F"}
} {arena = 64 : i64, events = 2 : i64, first = array<i64: 0>, first_use = array<i64>, last = array<i64: 1>, streams = ["compute"]}
