// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{eps must be finite and greater than 0}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 0.0 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{eps must be finite and greater than 0}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 0x7FF0000000000000 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{w must have one letter, out of "bsh"; it has "x"}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,x->bsh,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{y has letters "bsx" where "bsh" is due}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsx,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{r has letters "bx" where "bs" is due}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bx", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf64>) {
  // expected-error @+1 {{operand 1 holds 'f64', result 0 'f32'}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf64>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{result 1 holds 'f64', result 0 'f32'}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bsh,h->bsh,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf64>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{w must have one letter, out of "bsh"; it has "x"}}
  %y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = "bsh,bsh,bs,x->bsh,x"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dy has letters "bsx" where "bsh" is due}}
  %y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = "bsx,bsh,bs,h->bsh,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{r has letters "bx" where "bs" is due}}
  %y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = "bsh,bsh,bx,h->bsh,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dx has letters "bsx" where "bsh" is due}}
  %y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = "bsh,bsh,bs,h->bsx,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dw has letters "x" where "h" is due}}
  %y, %z = model.rmsnorm_grad(%g, %x, %r, %w) {dims = "bsh,bsh,bs,h->bsh,x"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{eps must be finite and greater than 0}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,h,h->bsh,bs,bs", eps = -1.0 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{w must have one letter, out of "bsh"; it has "x"}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,x,h->bsh,bs,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{b has letters "x" where "h" is due}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,h,x->bsh,bs,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{y has letters "bsx" where "bsh" is due}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,h,h->bsx,bs,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{mean has letters "bx" where "bs" is due}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,h,h->bsh,bx,bs", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{r has letters "bx" where "bs" is due}}
  %y, %m, %r = model.layernorm(%x, %w, %w) {dims = "bsh,h,h->bsh,bs,bx", eps = 0.1 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{w must have one letter, out of "bsh"; it has "x"}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bs,bs,x->bsh,h,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dy has letters "bsx" where "bsh" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsx,bsh,bs,bs,h->bsh,h,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{mean has letters "bx" where "bs" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bx,bs,h->bsh,h,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{r has letters "bx" where "bs" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bs,bx,h->bsh,h,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dx has letters "bsx" where "bsh" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bs,bs,h->bsx,h,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{dw has letters "x" where "h" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bs,bs,h->bsh,x,h"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x4xf32>, %x: tensor<2x3x4xf32>, %m: tensor<2x3xf32>, %r: tensor<2x3xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{db has letters "x" where "h" is due}}
  %y, %z, %b = model.layernorm_grad(%g, %x, %m, %r, %w) {dims = "bsh,bsh,bs,bs,h->bsh,h,x"} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xf32>) -> (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{theta must be finite and greater than 0}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 0.0 : f64} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi64>) {
  // expected-error @+1 {{positions must hold i32, not 'i64'}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 10.0 : f64} : (tensor<2x3x4xf32>, tensor<3xi64>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{rotates halves: the last letter must have an even extent}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 10.0 : f64} : (tensor<2x3x5xf32>, tensor<3xi32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{positions must have one letter, out of "bs"; it has "x"}}
  %y = model.rope(%x, %p) {dims = "bsd,x->bsd", theta = 10.0 : f64} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{result has letters "bsx" where "bsd" is due}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsx", theta = 10.0 : f64} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{scaling must be [factor, low, high, original]}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 10.0 : f64, scaling = array<f64: 1.0>} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{scaling must be finite and greater than 0}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 10.0 : f64, scaling = array<f64: 0.0, 1.0, 4.0, 32.0>} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %p: tensor<3xi32>) {
  // expected-error @+1 {{scaling must have low < high}}
  %y = model.rope(%x, %p) {dims = "bsd,s->bsd", theta = 10.0 : f64, scaling = array<f64: 8.0, 4.0, 4.0, 32.0>} : (tensor<2x3x4xf32>, tensor<3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{mask must be "causal" or "none", not "left"}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "left", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{scale must be finite and greater than 0}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.0 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi64>, %j: tensor<5xi32>) {
  // expected-error @+1 {{query positions must hold i32, not 'i64'}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi64>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi64>) {
  // expected-error @+1 {{key positions must hold i32, not 'i64'}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi64>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{query positions must have one letter, out of "bsgrd"; it has "x"}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,x,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{key positions must have one letter, out of "t"; it has "x"}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,x->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{v has letters "bxgd" where "btgd" is due}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,bxgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{q and e must differ in one letter, which k has; they differ in "rd"}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgx", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{q and e must differ in one letter, which k has; they differ in "r"}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{e has letters "sbgr" where "bsgr" is due}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrd,sbgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<3x2x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<3x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{k has the letter 's' of the query positions}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,stgd,stgd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<3x5x2x4xf32>, tensor<3x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{letter 'x' of k is not in q}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btxd,btxd,s,t->bsgrd,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%q: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{o has letters "bsgrx" where "bsgrd" is due}}
  %o, %e = model.attention(%q, %k, %k, %p, %j) {dims = "bsgrd,btgd,btgd,s,t->bsgrx,bsgr", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{mask must be "causal" or "none", not "left"}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd", mask = "left", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi64>, %j: tensor<5xi32>) {
  // expected-error @+1 {{query positions must hold i32, not 'i64'}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi64>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi64>) {
  // expected-error @+1 {{key positions must hold i32, not 'i64'}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi64>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{dout has letters "bsgrx" where "bsgrd" is due}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrx,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{o has letters "bsgrx" where "bsgrd" is due}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrx,bsgr,s,t->bsgrd,btgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{dq has letters "bsgrx" where "bsgrd" is due}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrx,btgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{dk has letters "bxgd" where "btgd" is due}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,bxgd,btgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%g: tensor<2x3x2x2x4xf32>, %k: tensor<2x5x2x4xf32>, %e: tensor<2x3x2x2xf32>, %p: tensor<3xi32>, %j: tensor<5xi32>) {
  // expected-error @+1 {{dv has letters "bxgd" where "btgd" is due}}
  %a, %b, %c = model.attention_grad(%g, %g, %k, %k, %g, %e, %p, %j) {dims = "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,bxgd", mask = "causal", scale = 0.5 : f64} : (tensor<2x3x2x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x3x2x2x4xf32>, tensor<2x3x2x2xf32>, tensor<3xi32>, tensor<5xi32>) -> (tensor<2x3x2x2x4xf32>, tensor<2x5x2x4xf32>, tensor<2x5x2x4xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi64>) {
  // expected-error @+1 {{labels must hold i32, not 'i64'}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,bs", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi64>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{scale must be finite and greater than 0}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,bs", scale = 0.0 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{logits must have one letter that the labels lack, not "sv"}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bx->,bs", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<3x2x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{labels has letters "sb" where "bs" is due}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,sb->,bs", scale = 0.5 : f64} : (tensor<3x2x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<3x2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{lse has letters "sb" where "bs" is due}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,sb", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<3x2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{valid must be in [1, 5], the classes}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,bs", scale = 0.5 : f64, valid = 6 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{valid must be in [1, 5], the classes}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,bs", scale = 0.5 : f64, valid = 0 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{valid must be in [1, 5], the classes}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->,bs", scale = 0.5 : f64, valid = -1 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<f32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>) {
  // expected-error @+1 {{loss has letters "b" where "" is due}}
  %a, %b = model.xent(%x, %l) {dims = "bsv,bs->b,bs", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>) -> (tensor<2xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi64>, %e: tensor<2x3xf32>) {
  // expected-error @+1 {{labels must hold i32, not 'i64'}}
  %a = model.xent_grad(%x, %l, %e) {dims = "bsv,bs,bs->bsv", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>, %e: tensor<2x3xf32>) {
  // expected-error @+1 {{scale must be finite and greater than 0}}
  %a = model.xent_grad(%x, %l, %e) {dims = "bsv,bs,bs->bsv", scale = -1.0 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>, %e: tensor<2x3xf32>) {
  // expected-error @+1 {{lse has letters "bx" where "bs" is due}}
  %a = model.xent_grad(%x, %l, %e) {dims = "bsv,bs,bx->bsv", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>, %e: tensor<2x3xf32>) {
  // expected-error @+1 {{result has letters "bsx" where "bsv" is due}}
  %a = model.xent_grad(%x, %l, %e) {dims = "bsv,bs,bs->bsx", scale = 0.5 : f64} : (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x5xf32>, %l: tensor<2x3xi32>, %e: tensor<2x3xf32>) {
  // expected-error @+1 {{valid must be in [1, 5], the classes}}
  %a = model.xent_grad(%x, %l, %e) {dims = "bsv,bs,bs->bsv", scale = 0.5 : f64, valid = 9 : i64} : (tensor<2x3x5xf32>, tensor<2x3xi32>, tensor<2x3xf32>) -> tensor<2x3x5xf32>
  return
}
