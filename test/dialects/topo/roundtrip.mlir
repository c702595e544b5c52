// REQUIRES: hocket-opt
// RUN: hocket-opt %s | FileCheck %s
// RUN: hocket-opt %s | hocket-opt | FileCheck %s
// RUN: hocket-opt %s --emit-bytecode | hocket-opt | FileCheck %s

// CHECK:      topo.cluster @laptops {
// CHECK-NEXT:   topo.device @cpu isa "x86-64-v4" {memory = 8589934592 : i64, memory_rate = 2.000000e+10 : f64, rate_f32 = 1.200000e+11 : f64, rate_f64 = 2.000000e+10 : f64, threads = 1 : i64}
// CHECK-NEXT:   topo.island @rack x 1 "switch" rate 1.250000e+09 latency 2.000000e-05 {
// CHECK-NEXT:     topo.island @host x 2 "memory" of 2 @cpu rate 1.000000e+10 latency 0.000000e+00 {
topo.cluster @laptops {
  topo.device @cpu isa "x86-64-v4" {threads = 1 : i64, memory = 8589934592 : i64, rate_f32 = 1.2e11 : f64, rate_f64 = 2.0e10 : f64, memory_rate = 2.0e10 : f64}
  topo.island @rack x 1 "switch" rate 1.25e9 latency 2.0e-5 {
    topo.island @host x 2 "memory" of 2 @cpu rate 1.0e10 latency 0.0 {
    }
  }
}
