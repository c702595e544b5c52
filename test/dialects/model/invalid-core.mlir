// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{must have one '->' between operands and results}}
  %r = model.dot(%a, %b) {dims = "bs,sh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{must have one '->' between operands and results}}
  %r = model.dot(%a, %b) {dims = "bs->sh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{has '2': letters and ',' only}}
  %r = model.dot(%a, %b) {dims = "b2,sh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{name 3 operands and 1 results; the op has 2 and 1}}
  %r = model.dot(%a, %b) {dims = "bs,sh,h->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{name 2 operands and 2 results; the op has 2 and 1}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bh,h"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x?xf32>) {
  // expected-error @+1 {{operand 1 has a dynamic shape}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bh"} : (tensor<2x3xf32>, tensor<3x?xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{operand 0 has rank 2, its letters "b" name 1 dimensions}}
  %r = model.dot(%a, %b) {dims = "b,sh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{result 0 has rank 2, its letters "b" name 1 dimensions}}
  %r = model.dot(%a, %b) {dims = "bs,sh->b"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{letter 's' occurs twice in operand 0}}
  %r = model.dot(%a, %b) {dims = "ss,sh->sh"} : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{letter 'b' has extent 2 and, in operand 1, 3}}
  %r = model.dot(%a, %b) {dims = "bs,bh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{letter 'h' has extent 4 and, in result 0, 5}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xi32>, %b: tensor<3x4xi32>) {
  // expected-error @+1 {{result 0 must hold floats, not 'i32'}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bh"} : (tensor<2x3xi32>, tensor<3x4xi32>) -> tensor<2x4xi32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) {
  // expected-error @+1 {{operand 1 holds 'f64', result 0 'f32'}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bh"} : (tensor<2x3xf32>, tensor<3x4xf64>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{result letter 'x' is in no operand}}
  %r = model.dot(%a, %b) {dims = "bs,sh->bx"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{letter 's' is in one operand only and not in the result: reduce it first}}
  %r = model.dot(%a, %b) {dims = "bs,zh->bh"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{letter 'h' is in one operand only and not in the result: reduce it first}}
  %r = model.dot(%a, %b) {dims = "bs,sh->b"} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{kind must be "sum" or "max", not "mean"}}
  %r = model.reduce(%a) {dims = "bs->b", kind = "mean"} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>) {
  // expected-error @+1 {{result letter 'h' is not in the operand}}
  %r = model.reduce(%a) {dims = "bs->h", kind = "sum"} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @f(%t: tensor<5x4xf32>, %i: tensor<2x3xi64>) {
  // expected-error @+1 {{indices must hold i32, not 'i64'}}
  %r = model.gather(%t, %i) {dims = "vh,bs->bsh"} : (tensor<5x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%t: tensor<5x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{result letter 'x' is in no operand}}
  %r = model.gather(%t, %i) {dims = "vh,bs->bsx"} : (tensor<5x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @f(%t: tensor<5x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{letter 's' of the indices is not in the result}}
  %r = model.gather(%t, %i) {dims = "vh,bs->bh"} : (tensor<5x4xf32>, tensor<2x3xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%t: tensor<5x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{must look up one letter of the table, not "vh"}}
  %r = model.gather(%t, %i) {dims = "vh,bs->bs"} : (tensor<5x4xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%t: tensor<5x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{must look up one letter of the table, not ""}}
  %r = model.gather(%t, %i) {dims = "vh,bs->bsvh"} : (tensor<5x4xf32>, tensor<2x3xi32>) -> tensor<2x3x5x4xf32>
  return
}

// -----

func.func @f(%u: tensor<2x3x4xf32>, %i: tensor<2x3xf32>) {
  // expected-error @+1 {{indices must hold i32, not 'f32'}}
  %r = model.scatter_add(%u, %i) {dims = "bsh,bs->vh"} : (tensor<2x3x4xf32>, tensor<2x3xf32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%u: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{letter 'x' of the indices is not in the updates}}
  %r = model.scatter_add(%u, %i) {dims = "bsh,bx->vh"} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<5x4xf32>
  return
}

// -----

func.func @f(%u: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{must add along one letter of the result, not ""}}
  %r = model.scatter_add(%u, %i) {dims = "bsh,bs->sh"} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%u: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{must add along one letter of the result, not "vw"}}
  %r = model.scatter_add(%u, %i) {dims = "bsh,bs->vwh"} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<5x6x4xf32>
  return
}

// -----

func.func @f(%u: tensor<2x3x4xf32>, %i: tensor<2x3xi32>) {
  // expected-error @+1 {{letter 'h' of the updates is neither in the indices nor in the result}}
  %r = model.scatter_add(%u, %i) {dims = "bsh,bs->v"} : (tensor<2x3x4xf32>, tensor<2x3xi32>) -> tensor<5xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result must hold i32, not 'f32'}}
  %r = model.iota() {dims = "->s"} : () -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{result must have one letter}}
  %r = model.iota() {dims = "->st"} : () -> tensor<4x4xi32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{value is 'f64', the result holds 'f32'}}
  %r = model.constant() {dims = "->s", value = 1.0 : f64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{result 1 has letters "sb" where "bs" is due}}
  %r:2 = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
    model.yield %0, %0 : f32, f32
  } {dims = "bs,s->bs,sb"} : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>)
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{letter 'b' of operand 0 is not in the results: a map sums nothing}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
    model.yield %0 : f32
  } {dims = "bs,s->s"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{region has 1 arguments for 2 operands}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32):
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: f32) {
  // expected-error @+1 {{operand 1 must be a tensor or an index, not 'f32'}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
    model.yield %0 : f32
  } {dims = "bs,->bs"} : (tensor<2x3xf32>, f32) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{region argument 1 is 'f64', the operand holds 'f32'}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f64):
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    // expected-error @+1 {{is not allowed in a map: arith and math only}}
    %0 = model.constant() {dims = "->s", value = 1.0 : f32} : () -> tensor<4xf32>
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    // expected-error @+1 {{is not on scalars, as the region of a map must be}}
    %0 = arith.constant dense<1.0> : tensor<4xf32>
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{yields 2 values for 1 results}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    model.yield %p, %q : f32, f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{yields 'f32' for result 0, which holds 'f64'}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{region must end in model.yield}}
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    %0 = arith.addf %p, %q : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @f(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  %r = model.map(%a, %b) {
  ^bb0(%p: f32, %q: f32):
    // expected-error @+1 {{must be the last op of the region}}
    model.yield %p : f32
    model.yield %p : f32
  } {dims = "bs,s->bs"} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
