// REQUIRES: hocket-opt
// RUN: echo 'module {}' | hocket-opt --hocket-import="config=%examples/gpt2-tiny batch=2 sequence=8" --hocket-verify-import -o %t
// RUN: echo 'module {}' | hocket-opt --hocket-import="config=%examples/llama-tiny batch=2 sequence=8" --hocket-verify-import -o /dev/null
// RUN: echo 'module {}' | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=NO-LOSS
// Each line changes one thing that the verifier must see.
// RUN: sed 's/model.dims = "grdh", model.name = "wo"/model.name = "wo"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: sed 's/model.dims = "s", model.name = "positions"/model.dims = "z", model.name = "positions"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=LETTER
// RUN: sed 's/model.dims = "s", model.name = "positions"/model.dims = "h", model.name = "positions"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=EXTENT
// RUN: sed 's/model.name = "x"/model.name = "x", model.scalar = "lr"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=LAYER-ROLE
// RUN: sed 's/model.input = "tokens"/model.scalar = "lr"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: sed 's/model.input = "tokens", //' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: sed 's/model.input = "tokens"/model.input = "labels"/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/part = \[1, 2, 3\]/part = [1, 1, 3]/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=PART-TWICE
// RUN: sed 's/part = \[1, 2, 3\]/part = [1, 2, 4]/' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=PART-COUNT
// RUN: sed 's/part = \[1, \([0-9]\), 3\]/part = [1, \1, 4]/g' %t | not hocket-opt --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=PART-MISSING
// RUN: not hocket-opt %s --split-input-file --hocket-verify-import 2>&1 | FileCheck %s --check-prefix=SMALL

// NO-LOSS: has no @loss
// NAME: argument {{[0-9]+}} has no model.name or no model.dims
// LETTER: argument 'positions' has the letter 'z'; letters are bsthgrdfvpl
// EXTENT: argument 'positions' has extent 8 of 'h', elsewhere it is 128
// LAYER-ROLE: argument 'x' has the role model.scalar; only arguments of @loss have one
// LATER: argument 'tokens' is a model.scalar, which differentiate adds
// ROLE: argument 'tokens' has no role
// TWICE: takes "labels" twice
// PART-TWICE: has part 1 of '{{.*}}c_attn{{.*}}' twice
// PART-COUNT: in 3 and in 4 parts
// PART-MISSING: has 3 of the 4 parts of '{{.*}}c_attn

// SMALL: is no tensor on one device: 'index'
func.func @loss(%i: index) -> tensor<f32> {
  %0 = arith.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}
// -----
// SMALL: must give one scalar, the loss
func.func @loss(%t: tensor<2x8xi32> {model.dims = "bs", model.input = "tokens", model.name = "tokens"},
                %l: tensor<2x8xi32> {model.dims = "bs", model.input = "labels", model.name = "labels"}) -> tensor<2x8xi32> {
  return %t : tensor<2x8xi32>
}
// -----
// SMALL: takes no labels
func.func @loss(%t: tensor<2x8xi32> {model.dims = "bs", model.input = "tokens", model.name = "tokens"}) -> tensor<2x8xi32> {
  return %t : tensor<2x8xi32>
}
// -----
// SMALL: is not a function with a body; import leaves nothing else
func.func private @elsewhere()
func.func @loss() {
  return
}
