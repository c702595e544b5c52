// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{model.name must be a string}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{model.dims must be a string}}
func.func @f(%a: tensor<4x2x3xf32> {model.dims = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{model.input must be a string}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.input}) {
  return
}

// -----

// expected-error @+1 {{model.scalar must be a string}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.scalar}) {
  return
}

// -----

// expected-error @+1 {{has two arguments named 'w'}}
func.func @f(%b: tensor<f32> {model.name = "w"}, %a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 of type 'tensor<4x2x3xf32>' has model.dims "lh"}}
func.func @f(%a: tensor<4x2x3xf32> {model.dims = "lh"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 of type 'tensor<4x2x3xf32>' has model.dims "lh2"}}
func.func @f(%a: tensor<4x2x3xf32> {model.dims = "lh2"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 of type 'index' has model.dims ""}}
func.func @f(%a: index {model.dims = ""}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has letter 'h' twice in model.dims}}
func.func @f(%a: tensor<4x2x3xf32> {model.dims = "lhh"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has the unknown attribute 'model.parma'}}
func.func @f(%a: tensor<4x2x3xf32> {model.parma}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has two roles}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.input = "tokens", model.scalar = "lr"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has a role and no model.name or model.dims}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.input = "tokens"}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has a role and no model.name or model.dims}}
func.func @f(%a: tensor<4x2x3xf32> {model.dims = "lhf", model.input = "tokens"}) {
  return
}

// -----

// expected-error @+1 {{model.input must be "tokens" or "labels", not "mask"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.input = "mask"}) {
  return
}

// -----

// expected-error @+1 {{model.scalar must be "lr", "c1" or "c2", not "t"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.scalar = "t"}) {
  return
}

// -----

// expected-error @+1 {{model.param must be a dictionary}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param}) {
  return
}

// -----

// expected-error @+1 {{model.state must be a dictionary}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.state = "m"}) {
  return
}

// -----

// expected-error @+1 {{model.param has the unknown entry 'sdt'}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64, sdt = 1.0 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param needs a name}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param needs a name}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs a layout}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has layout "(hf" for dims "lhf"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "(hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has layout "h" for dims "lhf"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has layout "hhf" for dims "lhf"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hhf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has layout "hx" for dims "lhf"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hx", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has layout "h)f" for dims "lhf"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "h)f", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w' must hold {l} if and only if its dims hold l}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' must hold {l} if and only if its dims hold l}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "ghf", model.param = {name = "w.{l}", layout = "ghf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs part = [dim, index, count]}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs part = [dim, index, count]}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs part = [dim, index, count]}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1.0], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has a part outside its layout}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [2, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has a part outside its layout}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [-1, 0, 1], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has a part outside its layout}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 3, 3], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' has a part outside its layout}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, -1, 3], init = "normal", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs init = "normal", "zero" or "one"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "xavier", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{needs init =}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs std if and only if init is "normal"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal"}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs std if and only if init is "normal"}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "zero", std = 0.02 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.param 'w.{l}' needs a finite std greater than 0}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.0 : f64}}) {
  return
}

// -----

// expected-error @+1 {{model.state must have of = NAME and kind = "m" or "v"}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {of = "w"}}) {
  return
}

// -----

// expected-error @+1 {{model.state must have of = NAME and kind = "m" or "v"}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {kind = "m"}}) {
  return
}

// -----

// expected-error @+1 {{model.state must have of = NAME and kind = "m" or "v"}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {of = "w", kind = "u"}}) {
  return
}

// -----

// expected-error @+1 {{model.state of 'x' differs from it in type or dims}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {of = "x", kind = "m"}}) {
  return
}

// -----

// expected-error @+1 {{model.state is of 'y', which is no parameter}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {of = "y", kind = "v"}}) {
  return
}

// -----

// expected-error @+1 {{model.state is of 'z', which is no parameter}}
func.func @f(%w: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.param = {name = "w.{l}", layout = "hf", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %x: tensor<4x2xf32> {model.name = "x", model.dims = "lh", model.param = {name = "w.{l}", layout = "h", part = [0, 0, 1], init = "normal", std = 0.02 : f64}}, %y: tensor<4x2x3xf32> {model.name = "y"}, %a: tensor<4x2x3xf32> {model.name = "m", model.dims = "lhf", model.state = {of = "z", kind = "v"}}) {
  return
}

// -----

// expected-error @+1 {{result 0 has 'model.dims'; results carry model.name only, a string}}
func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32> {model.dims = "b"}) {
  return %a : tensor<2xf32>
}

// -----

// expected-error @+1 {{result 0 has 'model.name'; results carry model.name only, a string}}
func.func @f(%a: tensor<2xf32>) -> (tensor<2xf32> {model.name = 1 : i64}) {
  return %a : tensor<2xf32>
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{model.names must hold one name per result}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bh,h->bh,b", eps = 0.1 : f64, model.names = ["a"]} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{model.names must hold one name per result}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bh,h->bh,b", eps = 0.1 : f64, model.names = ["a", ""]} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{model.names must hold one name per result}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bh,h->bh,b", eps = 0.1 : f64, model.names = ["a", 3]} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @f(%x: tensor<2x4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{model.names must hold one name per result}}
  %y, %r = model.rmsnorm(%x, %w) {dims = "bh,h->bh,b", eps = 0.1 : f64, model.names = "a"} : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2xf32>)
  return
}

// -----

// expected-error @+1 {{model.valid must be a dictionary}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.valid = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has no padded letter "h" = 2}}
func.func @f(%a: tensor<4x2x3xf32> {model.name = "w", model.dims = "lhf", model.valid = {h = 2 : i64}}) {
  return
}
