// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-search --split-input-file --verify-diagnostics

// expected-error @+1 {{has no function that takes inputs (model.input)}}
module {
}

// -----

// expected-error @+1 {{input 'tokens' has no batch letter b}}
func.func @f(%x: tensor<4xi32> {model.dims = "s", model.input = "tokens", model.name = "tokens"}) {
  return
}

// -----

func.func @f(%x: tensor<4xi32> {model.dims = "b", model.input = "tokens", model.name = "tokens"}) {
  return
}
// expected-error @+1 {{takes inputs, as @f does; one function must be the step}}
func.func @g(%x: tensor<4xi32> {model.dims = "b", model.input = "tokens", model.name = "tokens"}) {
  return
}
