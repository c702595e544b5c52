// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --hocket-verify-differentiate --verify-diagnostics

// expected-error @+1 {{has no @step}}
module {
}

// -----

// expected-error @+1 {{argument 3 has no role}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{has 1 parameters and 0 of one moment}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{argument 2 is not the moment of 'layer.w'}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %u: tensor<2xf32> {model.name = "layer.u", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %mu: tensor<2xf32> {model.name = "mu", model.dims = "b", model.state = {of = "layer.u", kind = "m"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}, %vu: tensor<2xf32> {model.name = "vu", model.dims = "b", model.state = {of = "layer.u", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{gives 4 results where loss, norm and 3 new values are due}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{result 3 is not of the type of 'm'}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %l, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<2xf32>
}

// -----

// expected-error @+1 {{does not update 'v'}}
func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %v : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// expected-error @+1 {{is left}}
func.func @loss() {
  return
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// expected-error @+1 {{takes 'x', which it does not use}}
func.func @layer.bwd(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}) {
  return
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// expected-error @+1 {{takes 'x', which it does not use}}
func.func @layer.back(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}) {
  return
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// expected-error @+1 {{takes 'x', which it does not use}}
func.func @layer.wgrad(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}) {
  return
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// expected-error @+1 {{takes the parameter 'w'}}
func.func @layer.wgrad(%x: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> tensor<f32> {
  %r = model.dot(%x, %x) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l, %l, %n, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
func.func @layer.wgrad(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}) -> tensor<f32> {
  // expected-error @+1 {{is in a function of weight gradients, which holds model.dot only}}
  %r = model.reduce(%x) {dims = "b->", kind = "sum"} : (tensor<2xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

func.func @step(%w: tensor<2xf32> {model.name = "layer.w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %m: tensor<2xf32> {model.name = "m", model.dims = "b", model.state = {of = "layer.w", kind = "m"}}, %v: tensor<2xf32> {model.name = "v", model.dims = "b", model.state = {of = "layer.w", kind = "v"}}) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %n = model.map(%w) {
  ^bb0(%i: f32):
    %0 = arith.addf %i, %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  // expected-error @+1 {{keeps residual 1, which no backward pass takes}}
  %s:2 = model.scan(%n) {body = @layer.fwd, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
  return %l, %l, %s#0, %n, %n : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
func.func @layer.fwd(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  return %x, %x : tensor<2xf32>, tensor<2xf32>
}
