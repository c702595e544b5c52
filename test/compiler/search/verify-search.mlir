// REQUIRES: hocket-opt
// RUN: sed '/^.. -----/,$d' %s | hocket-opt --hocket-search="mesh=data=2,tensor=2,pipeline=2 micro-batch=2" -o %t
// RUN: hocket-opt %t --hocket-verify-search -o /dev/null
// Each line changes one thing that the verifier must see.
// RUN: not hocket-opt %s --split-input-file --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed '/par.mesh/d' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: sed 's/par.pipeline {.*/%9 = par.coord() {axes = ["data"], times = 1 : i64} : () -> index/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=TACTIC
// RUN: sed 's/in = @step, letter = "g"/in = @nobody, letter = "g"/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: sed 's/axis = "tensor"/axis = "tensr"/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: sed 's/values = \["layer.wq"\]/values = ["layer.wz"]/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: sed 's/letter = "g"/letter = "q"/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=LETTER
// RUN: sed '/par.pipeline/{p;p}' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=SECOND
// RUN: sed 's/axis = "pipeline", body/axis = "micro", body/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: sed 's/cuts = array<i64: 3>/cuts = array<i64: 2, 3>/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=CUTS
// RUN: sed 's/cuts = array<i64: 3>/cuts = array<i64: 6>/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: sed 's/body = "layer"/body = "lay"/' %t | not hocket-opt --hocket-verify-search 2>&1 | FileCheck %s --check-prefix=BODY

// NONE: has 0 meshes and 0 strategies; one of each is due
// NO-MESH: has 0 meshes and 1 strategies; one of each is due
// TACTIC: is no tactic
// FUNCTION: the tactic is in @nobody, which is no function
// AXIS: shards over "tensr", which is no axis of the mesh
// VALUE: names 'layer.wz', which is no argument of @step
// LETTER: shards letter q of 'layer.wq', whose letters are lhg
// SECOND: is the second pipeline of the strategy
// TIME: is over "micro", which is no axis of devices
// CUTS: has 2 cuts for 2 stages
// BEYOND: cuts at layer 6 of 6
// BODY: cuts 'lay', over which nothing is scanned
func.func @layer(%x: tensor<16x4xf32>, %wq: tensor<4x4xf32>) -> tensor<16x4xf32> {
  %0 = model.dot(%x, %wq) {dims = "bh,hg->bg"} : (tensor<16x4xf32>, tensor<4x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
func.func @step(%tokens: tensor<16x4xf32> {model.dims = "bh", model.input = "tokens", model.name = "tokens"},
                %wq: tensor<6x4x4xf32> {model.dims = "lhg", model.name = "layer.wq"}) -> tensor<16x4xf32> {
  %0 = model.scan(%tokens, %wq) {body = @layer, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 6>} : (tensor<16x4xf32>, tensor<6x4x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
// -----
// NONE: cuts 'layer', which is scanned over different layers
par.mesh {axes = ["pipeline"], sizes = array<i64: 2>, sym_name = "mesh", time = ["micro"], times = array<i64: 1>}
par.strategy {
  par.pipeline {axis = "pipeline", body = "layer", cuts = array<i64: 1>, schedule = "1f1b"}
} {sym_name = "strategy"}
func.func @layer.fwd(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
func.func @step(%x: tensor<4xf32>, %w: tensor<2x4xf32>, %v: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = model.scan(%x, %w) {body = @layer.fwd, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 2>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  %1 = model.scan(%0, %v) {body = @layer.fwd, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 3>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
