// REQUIRES: hocket-opt
// RUN: hocket-opt %s --split-input-file --verify-diagnostics

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{body @none is no function}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @none, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{range must be [first, end) with 0 <= first < end}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{range must be [first, end) with 0 <= first < end}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 6, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{range must be [first, end) with 0 <= first < end}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: -1, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{range must be [first, end) with 0 <= first < end}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 3, 2>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{has 3 operands, fewer than its carries and shared operands}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 3 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{has 3 operands, fewer than its carries and shared operands}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = -1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{has 3 operands, fewer than its carries and shared operands}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = -1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>) {
  // expected-error @+1 {{has 2 operands and 2 results; @body has 3 and 2}}
  %r:2 = model.scan(%a0, %a1) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{has 3 operands and 1 results; @body has 3 and 2}}
  %r = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{has fewer results than carries}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 3 : i64, shared = 0 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<7xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{carry 0 is 'tensor<7xf32>', @body has 'tensor<2xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<7xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<7xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{shared operand 1 is 'tensor<7xi32>', @body has 'tensor<3xi32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<7xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<4xf32>) {
  // expected-error @+1 {{stacked operand 2 is 'tensor<4xf32>', @body has 'tensor<4xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<5x4xf32>) {
  // expected-error @+1 {{stacked operand 2 is 'tensor<5x4xf32>', @body has 'tensor<4xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<5x4xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x7xf32>) {
  // expected-error @+1 {{stacked operand 2 is 'tensor<6x7xf32>', @body has 'tensor<4xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x7xf32>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf64>) {
  // expected-error @+1 {{stacked operand 2 is 'tensor<6x4xf64>', @body has 'tensor<4xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf64>) -> (tensor<2xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{carry result 0 is 'tensor<7xf32>', @body has 'tensor<2xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<7xf32>, tensor<6x5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{stacked result 1 is 'tensor<5xf32>', @body has 'tensor<5xf32>'}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<2xf32>, tensor<5xf32>)
  return
}

// -----

func.func private @body(tensor<2xf32>, tensor<3xi32>, tensor<4xf32>) -> (tensor<3xf32>, tensor<5xf32>)
func.func @f(%a0: tensor<2xf32>, %a1: tensor<3xi32>, %a2: tensor<6x4xf32>) {
  // expected-error @+1 {{carry 0 is 'tensor<2xf32>' in and 'tensor<3xf32>' out of @body}}
  %r:2 = model.scan(%a0, %a1, %a2) {body = @body, carries = 1 : i64, shared = 1 : i64, range = array<i64: 0, 6>} : (tensor<2xf32>, tensor<3xi32>, tensor<6x4xf32>) -> (tensor<3xf32>, tensor<6x5xf32>)
  return
}
