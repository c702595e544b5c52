// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-import="config=%examples/llama-tiny batch=4 sequence=32 dtype=f64" | FileCheck %s
// RUN: hocket-opt %s --hocket-import="config=%examples/llama-3.1-405b batch=4 sequence=8192" | FileCheck %s --check-prefix=BIG

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: tensor<4x32x64xf64> {model.dims = "bsh", model.name = "x"}
// CHECK-SAME: tensor<32xi32> {model.dims = "s", model.name = "positions"}
// CHECK-SAME: tensor<64x4x2x8xf64> {model.dims = "hgrd", model.name = "wq"}
// CHECK-SAME: tensor<64x4x8xf64> {model.dims = "hgd", model.name = "wk"}
// CHECK-SAME: tensor<4x2x8x64xf64> {model.dims = "grdh", model.name = "wo"}
// CHECK-SAME: tensor<128x64xf64> {model.dims = "fh", model.name = "wd"}) -> tensor<4x32x64xf64>
// CHECK: model.rmsnorm{{.*}}dims = "bsh,h->bsh,bs"{{.*}}model.names = ["a", "r1"]
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,hgrd->bsgrd"
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,hgd->bsgd"
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,hgd->bsgd"
// CHECK-NEXT: model.rope{{.*}}dims = "bsgrd,s->bsgrd"{{.*}}theta = 5.000000e+05
// CHECK-NEXT: model.rope{{.*}}dims = "bsgd,s->bsgd"
// CHECK-NEXT: model.attention{{.*}}dims = "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", mask = "causal"
// CHECK-NEXT: model.dot{{.*}}dims = "bsgrd,grdh->bsh"
// CHECK: model.rmsnorm
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,hf->bsf"
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,hf->bsf"
// CHECK: math.tanh
// CHECK: model.dot{{.*}}dims = "bsf,fh->bsh"

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<4x32xi32> {model.dims = "bs", model.input = "tokens", model.name = "tokens"}
// CHECK-SAME: tensor<4x32xi32> {model.dims = "bs", model.input = "labels", model.name = "labels"}
// CHECK-SAME: model.name = "emb", model.param = {decay, init = "normal", layout = "vh", name = "model.embed_tokens.weight", part = [0, 0, 1], std = 2.000000e-02 : f64}
// CHECK-SAME: tensor<4x64xf64> {model.dims = "lh", model.name = "layer.n1", model.param = {init = "one", layout = "h", name = "model.layers.{l}.input_layernorm.weight", part = [0, 0, 1]}}
// CHECK-SAME: tensor<4x64x4x2x8xf64> {model.dims = "lhgrd", model.name = "layer.wq", model.param = {decay, init = "normal", layout = "(grd)h", name = "model.layers.{l}.self_attn.q_proj.weight"
// The residual projections: 0.02 / sqrt(2 * 4).
// CHECK-SAME: model.name = "layer.wo", model.param = {decay, init = "normal", layout = "h(grd)", name = "model.layers.{l}.self_attn.o_proj.weight", part = [0, 0, 1], std = 0.0070710678118654745 : f64}
// CHECK-SAME: model.name = "norm"
// CHECK-SAME: model.name = "head", model.param = {decay, init = "normal", layout = "vh", name = "lm_head.weight"
// CHECK-SAME: -> (tensor<f64> {model.name = "loss"})
// CHECK-NEXT: model.iota() {dims = "->s"} : () -> tensor<32xi32>
// CHECK-NEXT: model.gather{{.*}}dims = "vh,bs->bsh"
// CHECK-NEXT: model.scan{{.*}}body = @layer, carries = 1 : i64{{.*}}range = array<i64: 0, 4>, shared = 1 : i64
// CHECK-NEXT: model.rmsnorm
// CHECK-NEXT: model.dot{{.*}}dims = "bsh,vh->bsv"
// 1 / (4 * 32)
// CHECK-NEXT: model.xent{{.*}}dims = "bsv,bs->,bs"{{.*}}scale = 7.812500e-03

// BIG-LABEL: func.func @layer(
// BIG-SAME: tensor<16384x8x16x128xf32> {model.dims = "hgrd", model.name = "wq"}
// BIG: model.rope{{.*}}scaling = array<f64: 8.000000e+00, 1.000000e+00, 4.000000e+00, 8.192000e+03>
// BIG: model.scan{{.*}}range = array<i64: 0, 126>
