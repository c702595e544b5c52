// REQUIRES: hocket-opt
// RUN: hocket-opt %s --verify-roundtrip | FileCheck %s
// RUN: hocket-opt %s --mlir-print-op-generic | hocket-opt | FileCheck %s

// CHECK: plan.mesh {axes = ["data"], micro_batches = 2 : i64, sizes = array<i64: 2>, strides = array<i64: 1>}
plan.mesh {axes = ["data"], micro_batches = 2 : i64, sizes = array<i64: 2>, strides = array<i64: 1>}
// CHECK: plan.comm {axes = array<i64: 0>, order = 0 : i64, sym_name = "comm.data"}
plan.comm {axes = array<i64: 0>, order = 0 : i64, sym_name = "comm.data"}
// CHECK: plan.comm {axes = array<i64: 0>, order = 1 : i64, pair, sym_name = "comm.pipeline"}
plan.comm {axes = array<i64: 0>, order = 1 : i64, pair, sym_name = "comm.pipeline"}
// CHECK: plan.affine
plan.affine {constant = 3 : i64, coordinate = array<i64: 4>, layer = 1 : i64, micro = 0 : i64}
// CHECK: plan.scalar
plan.scalar {kind = "lr", type = f32}
// CHECK: plan.kernel
plan.kernel {access = array<i64: 0, 1>, bytes = array<i64: 16, 16>, flops = 4.0 : f64, memory_bytes = 32.0 : f64, sym_name = "plan.k", work = 1 : i64}
// CHECK: plan.gemm_entry
plan.gemm_entry {accumulate = false, k = 2 : i64, ld = array<i64: 2, 2, 2>, m = 2 : i64, n = 2 : i64, scratch = 0 : i64, sym_name = "gemm0", symbol = "", ta = false, tb = true, type = f32, work = 1 : i64}
// CHECK: plan.class @class.s0 {
plan.class @class.s0 {
  // CHECK: plan.region
  plan.region {bytes = 64 : i64, kind = 0 : i64, layer_stride = 0 : i64, layers = 1 : i64, micro_stride = 0 : i64, micros = 1 : i64, name = "param", offset = 0 : i64, slot_stride = 0 : i64, slots = 1 : i64}
  // CHECK: plan.template {
  plan.template {
    // CHECK-NEXT: plan.mark {end = false
    plan.mark {end = false, name = "F", s = 0 : i64}
    // CHECK-NEXT: plan.wait {event = 0 : i64
    plan.wait {event = 0 : i64, s = 0 : i64, slot = 1 : i64}
    // CHECK-NEXT: plan.repeat {
    plan.repeat {
      // CHECK-NEXT: plan.launch {args = [#plan.at<kind = 0, index = 0, layered = true>, #plan.at<kind = 2, index = 0>, #plan.at<kind = 1, index = 0, offset = 7>]
      plan.launch {args = [#plan.at<kind = 0, index = 0, layered = true>, #plan.at<kind = 2, index = 0>, #plan.at<kind = 1, index = 0, offset = 7>], kernel = @plan.k, name = "k", s = 0 : i64}
      // CHECK-NEXT: plan.gemm {{.*}} entry = @gemm0
      plan.gemm {args = [#plan.at<kind = 0, index = 0>, #plan.at<kind = 0, index = 0, slot = 1>, #plan.at<kind = 0, index = 0, micro = true>], entry = @gemm0, name = "g", s = 0 : i64}
      // CHECK-NEXT: } {from = 3 : i64, step = -1 : i64, to = -1 : i64}
    } {from = 3 : i64, step = -1 : i64, to = -1 : i64}
    // CHECK-NEXT: plan.collective
    plan.collective {args = [#plan.at<kind = 0, index = 0>], bytes = 16 : i64, comm = @comm.data, kind = 0 : i64, name = "x", s = 0 : i64, type = f32}
    // CHECK-NEXT: plan.group
    plan.group {count = 2 : i64, s = 0 : i64}
    // CHECK-NEXT: plan.send
    plan.send {args = [#plan.at<kind = 0, index = 0>], bytes = 16 : i64, comm = @comm.pipeline, delta = 1 : i64, name = "x", s = 0 : i64}
    // CHECK-NEXT: plan.recv
    plan.recv {args = [#plan.at<kind = 0, index = 0>], bytes = 16 : i64, comm = @comm.pipeline, delta = -1 : i64, name = "x", s = 0 : i64}
    // CHECK-NEXT: plan.copy
    plan.copy {args = [#plan.at<kind = 0, index = 0>, #plan.at<kind = 0, index = 0>], bytes = 16 : i64, name = "x", s = 0 : i64}
    // CHECK-NEXT: plan.fill
    plan.fill {args = [#plan.at<kind = 0, index = 0>], bytes = 16 : i64, name = "x", s = 0 : i64}
    // CHECK-NEXT: plan.record
    plan.record {event = 0 : i64, s = 0 : i64, slot = 0 : i64}
    // CHECK-NEXT: plan.metric
    plan.metric {args = [#plan.at<kind = 0, index = 0>], index = 0 : i64, s = 0 : i64}
  } {name = "F"}
  // CHECK: plan.list {entries = array<i64: 0, 1, 0, 0, 0, 0>, table = "step"}
  plan.list {entries = array<i64: 0, 1, 0, 0, 0, 0>, table = "step"}
} {arena = 64 : i64, events = 1 : i64, first = array<i64: 0>, first_use = array<i64: 0>, last = array<i64: 1>, streams = ["compute"]}
// CHECK: plan.param
plan.param {axes = [array<i64>], checkpoint = "w", dims = "h", global = array<i64: 4>, gradient = #plan.at<kind = 0, index = 0>, in = @class.s0, layers = array<i64: 0, 1>, layout = "h", local = array<i64: 4>, moment1 = #plan.at<kind = 0, index = 0>, moment2 = #plan.at<kind = 0, index = 0>, name = "w", owner = true, part = array<i64: 0, 0, 1>, stacked = false, type = f32, value = #plan.at<kind = 0, index = 0>}
// CHECK: plan.input
plan.input {at = #plan.at<kind = 0, index = 0>, axes = array<i64: 0>, in = @class.s0, name = "tokens", rows = 2 : i64}
// CHECK: plan.metric_entry
plan.metric_entry {in = @class.s0, name = "loss", type = f32}
