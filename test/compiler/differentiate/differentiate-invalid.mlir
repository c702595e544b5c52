// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --hocket-differentiate --verify-diagnostics
// RUN: echo "module {}" | not hocket-opt --hocket-differentiate=beta1=1 2>&1 | FileCheck %s

// CHECK: AdamW needs betas in [0, 1) and finite eps, decay and clip of at least 0

// expected-error @+1 {{needs a function @loss of one block to differentiate}}
module {
}

// -----

// expected-error @+1 {{must give one value, the loss}}
func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>, tensor<f32>) {
  %l = model.dot(%w, %w) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l, %l : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{must give a scalar tensor of floats, not 'tensor<2xf32>'}}
func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<2xf32>) {
  %l = model.dot(%w, %w) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %w : tensor<2xf32>
}

// -----

// expected-error @+1 {{must give a scalar tensor of floats, not 'tensor<i32>'}}
func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %i: tensor<i32> {model.name = "i", model.dims = "", model.input = "tokens"}) -> (tensor<i32>) {
  %l = model.dot(%w, %w) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %i : tensor<i32>
}

// -----

// expected-error @+1 {{argument 1 is neither an input nor a parameter}}
func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %x: tensor<f32>) -> (tensor<f32>) {
  %l = model.dot(%w, %w) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{has no parameters to train}}
func.func @loss(%tok: tensor<f32> {model.name = "tokens", model.dims = "", model.input = "tokens"}) -> (tensor<f32>) {
  
  return %tok : tensor<f32>
}

// -----

// expected-error @+1 {{does not depend on its parameter 'u'}}
func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}, %u: tensor<2xf32> {model.name = "u", model.dims = "b", model.param = {name = "u", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  %l = model.dot(%w, %w) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func private @layer(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  // expected-error @+1 {{needs a body to differentiate}}
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>) {
  %z = model.map(%x, %w) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.mulf %i, %j : f32
    model.yield %0 : f32
  } {dims = "b,b->b"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  // expected-error @+1 {{in reverse cannot be differentiated}}
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>, reverse} : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{gives a result that does not depend on its carry 0}}
func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>) {
  
  return %w : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{gives no result that depends on 'w': it would have no gradient}}
func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>) {
  
  return %x : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %z = model.map(%x, %w) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.mulf %i, %j : f32
    model.yield %0 : f32
  } {dims = "b,b->b"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z, %z : tensor<2xf32>, tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  // expected-error @+1 {{cannot be differentiated: its stacked result 1 has a gradient}}
  %y:2 = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
  %l = model.dot(%y#1, %y#1) {dims = "lb,lb->"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %s: tensor<2xf32> {model.name = "s", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>) {
  %z = model.map(%x, %w) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.mulf %i, %j : f32
    model.yield %0 : f32
  } {dims = "b,b->b"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %s: tensor<2xf32> {model.name = "s", model.dims = "b", model.param = {name = "s", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  // expected-error @+1 {{cannot be differentiated: its shared operand 0 depends on parameters}}
  %y = model.scan(%x, %s, %w) {body = @layer, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %s: tensor<2xf32> {model.name = "s", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>, tensor<2xf32>) {
  %z = model.map(%x, %w) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.mulf %i, %j : f32
    model.yield %0 : f32
  } {dims = "b,b->b"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z, %s : tensor<2xf32>, tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  // expected-error @+1 {{cannot be differentiated: the loss does not depend on carry 1}}
  %y:2 = model.scan(%x, %x, %w) {body = @layer, carries = 2 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %l = model.dot(%y#0, %y#0) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{has another use than in @loss}}
func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %w: tensor<2xf32> {model.name = "w", model.dims = "b"}) -> (tensor<2xf32>) {
  %z = model.map(%x, %w) {
  ^bb0(%i: f32, %j: f32):
    %0 = arith.mulf %i, %j : f32
    model.yield %0 : f32
  } {dims = "b,b->b"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
func.func @other(%x: tensor<2xf32>, %w: tensor<2xf32>) {
  %z = call @layer(%x, %w) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> (tensor<f32>) {
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{cannot be differentiated: its carry 0 is no tensor of floats}}
func.func @layer(%x: tensor<2xi32>, %w: tensor<2xf32>) -> tensor<2xi32> {
  return %x : tensor<2xi32>
}
func.func @loss(%x: tensor<2xi32> {model.name = "tokens", model.dims = "b", model.input = "tokens"}, %w: tensor<3x2xf32> {model.name = "layer.w", model.dims = "lb", model.param = {name = "{l}.w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %y = model.scan(%x, %w) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xi32>, tensor<3x2xf32>) -> tensor<2xi32>
  %l = model.constant() {dims = "->", value = 0.0 : f32} : () -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{has several blocks and cannot be differentiated}}
func.func @layer(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
^bb1:
  return %x : tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %y = model.scan(%x) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.dot(%y, %y) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @layer(%x: tensor<2xf32> {model.name = "x", model.dims = "b"}, %s: tensor<2xf32> {model.name = "s", model.dims = "b"}) -> (tensor<2xf32>, tensor<2xf32>) {
  return %x, %s : tensor<2xf32>, tensor<2xf32>
}
func.func @loss(%x: tensor<2xf32> {model.name = "x", model.dims = "b", model.param = {name = "x", layout = "b", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %y:2 = model.scan(%x, %x) {body = @layer, carries = 2 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  // expected-error @+1 {{has other carries or shared operands than another scan over @layer}}
  %z:2 = model.scan(%x, %x) {body = @layer, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 3>} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
  %l = model.dot(%y#0, %z#0) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// An offset belongs to a shard, and nothing is sharded yet.
func.func @loss(%t: tensor<3xi32> {model.name = "tokens", model.dims = "b", model.input = "tokens"}, %w: tensor<4x2xf32> {model.name = "w", model.dims = "vh", model.param = {name = "w", layout = "vh", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %c = arith.constant 0 : index
  // expected-error @+1 {{'model.gather' op cannot be differentiated with an offset}}
  %x = model.gather(%w, %t, %c) {dims = "vh,b->bh"} : (tensor<4x2xf32>, tensor<3xi32>, index) -> tensor<3x2xf32>
  %l = model.dot(%x, %x) {dims = "bh,bh->"} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%t: tensor<3xi32> {model.name = "tokens", model.dims = "b", model.input = "tokens"}, %w: tensor<3x2xf32> {model.name = "w", model.dims = "bh", model.param = {name = "w", layout = "bh", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  %c = arith.constant 0 : index
  // expected-error @+1 {{'model.scatter_add' op cannot be differentiated with an offset}}
  %x = model.scatter_add(%w, %t, %c) {dims = "bh,b->vh"} : (tensor<3x2xf32>, tensor<3xi32>, index) -> tensor<4x2xf32>
  %l = model.dot(%x, %x) {dims = "vh,vh->"} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  // expected-error @+1 {{'par.all_reduce' op has no derivative}}
  %x = par.all_reduce(%w) {axes = ["data"], kind = "sum"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.dot(%x, %x) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss(%w: tensor<2xf32> {model.name = "w", model.dims = "b", model.param = {name = "w", layout = "b", part = [0, 0, 1], init = "zero"}}) -> tensor<f32> {
  // expected-error @+1 {{cannot be differentiated: no derivative of 'math.floor'}}
  %x = model.map(%w) {
  ^bb0(%i: f32):
    %0 = math.floor %i : f32
    model.yield %0 : f32
  } {dims = "b->b"} : (tensor<2xf32>) -> tensor<2xf32>
  %l = model.dot(%x, %x) {dims = "b,b->"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  return %l : tensor<f32>
}
