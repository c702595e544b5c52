// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

topo.cluster @c {
  // expected-error @+1 {{isa must be x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, not 'native'}}
  topo.device @cpu isa "native" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'memory' must be above zero}}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 0 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'threads' must be from 1 to 1024}}
  topo.device @cpu isa "x86-64-v3" {threads = 0 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'threads' must be from 1 to 1024}}
  topo.device @cpu isa "x86-64-v3" {threads = 1025 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{needs rate_f32, rate_f64 or both}}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'rate_f32' must be finite and above zero}}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 0.0 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'rate_f64' must be finite and above zero}}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64, rate_f64 = 0x7FF8000000000000 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  // expected-error @+1 {{'memory_rate' must be finite and above zero}}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = -1.0 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{'count' must be from 1 to 1048576}}
  topo.island @host x 0 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{'each' must be from 1 to 1048576}}
  topo.island @host x 1 "memory" of 0 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{'rate' must be finite and above zero}}
  topo.island @host x 1 "memory" of 2 @cpu rate 0x7FF0000000000000 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{'latency' must be finite and not negative}}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency -1.0e-6 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{names @gpu, which is no device of this cluster}}
  topo.island @host x 1 "memory" of 2 @gpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{is the outermost: its count must be 1}}
  topo.island @host x 2 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{must hold devices, or exactly one island}}
  topo.island @host x 1 "memory"  rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{must hold devices, or exactly one island}}
  topo.island @rack x 1 "memory"  rate 1.0e9 latency 0.0 {
    topo.island @a x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
    topo.island @b x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
  }
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{holds devices and cannot hold islands too}}
  topo.island @rack x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {
    topo.island @a x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
  }
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @rack x 1 "memory"  rate 1.0e9 latency 0.0 {
    // expected-error @+1 {{has the label of an island around it}}
    topo.island @rack x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
  }
}

// -----

// expected-error @+1 {{must hold exactly one outermost island}}
topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
}

// -----

// expected-error @+1 {{must hold exactly one outermost island}}
topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @a x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
  topo.island @b x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

// expected-error @+1 {{has more than 1048576 devices}}
topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @rack x 1 "memory"  rate 1.0e9 latency 0.0 {
    topo.island @host x 1048576 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
  }
}

// -----

topo.cluster @c {
  // expected-error @+1 {{cannot stand in a 'topo.cluster': it holds devices and one island}}
  builtin.module {}
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  topo.island @host x 1 "memory" of 2 @cpu rate 1.0e9 latency 0.0 {}
}

// -----

topo.cluster @c {
  topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
  // expected-error @+1 {{needs 'of' and 'each' together}}
  "topo.island"() <{label = "host", count = 1 : i64, kind = "memory", of = @cpu, rate = 1.0 : f64, latency = 0.0 : f64}> ({
  ^bb0:
  }) : () -> ()
}

// -----

// expected-error @+1 {{expects parent op 'topo.cluster'}}
topo.device @cpu isa "x86-64-v3" {threads = 1 : i64, memory = 1024 : i64, rate_f32 = 1.0e9 : f64, memory_rate = 1.0e9 : f64}
