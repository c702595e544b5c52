// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-import="config=%examples/gpt2-tiny batch=16 sequence=128" | FileCheck %s

// c_attn's parts, stored [in, out]; biases are parameters of their own.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: model.dims = "hgrd", model.name = "wq"
// CHECK-SAME: tensor<4x1x32xf32> {model.dims = "grd", model.name = "bq"}
// CHECK-SAME: tensor<4x32xf32> {model.dims = "gd", model.name = "bk"}
// CHECK: model.layernorm{{.*}}dims = "bsh,h,h->bsh,bs,bs"
// CHECK: model.map{{.*}}
// CHECK: dims = "bsgrd,grd->bsgrd", model.names = ["q"]
// CHECK: dims = "bsgd,gd->bsgd", model.names = ["k"]
// CHECK: dims = "bsgd,gd->bsgd", model.names = ["v"]
// CHECK: model.attention
// CHECK: dims = "bsh,bsh,h->bsh", model.names = ["y"]
// CHECK: math.tanh
// CHECK: dims = "bsf,f->bsf", model.names = ["m"]
// CHECK: dims = "bsh,bsh,h->bsh", model.names = ["z"]

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: name = "transformer.wte.weight"
// CHECK-SAME: tensor<128x128xf32> {model.dims = "ph", model.name = "emb_pos", model.param = {decay, init = "normal", layout = "ph", name = "transformer.wpe.weight"
// CHECK-SAME: model.name = "layer.n1b", model.param = {init = "zero", layout = "h", name = "transformer.h.{l}.ln_1.bias"
// CHECK-SAME: model.name = "layer.wq", model.param = {decay, init = "normal", layout = "h(grd)", name = "transformer.h.{l}.attn.c_attn.weight", part = [1, 0, 3]
// CHECK-SAME: model.name = "layer.bq", model.param = {init = "zero", layout = "(grd)", name = "transformer.h.{l}.attn.c_attn.bias", part = [0, 0, 3]
// CHECK-SAME: model.name = "layer.wk", model.param = {decay, init = "normal", layout = "h(gd)", name = "transformer.h.{l}.attn.c_attn.weight", part = [1, 1, 3]
// CHECK-SAME: model.name = "layer.bv", model.param = {init = "zero", layout = "(gd)", name = "transformer.h.{l}.attn.c_attn.bias", part = [0, 2, 3]
// CHECK-SAME: model.name = "layer.wo", model.param = {decay, init = "normal", layout = "(grd)h", name = "transformer.h.{l}.attn.c_proj.weight"
// CHECK-SAME: model.name = "head"{{.*}}name = "lm_head.weight"
// CHECK: model.gather{{.*}}dims = "vh,bs->bsh"
// CHECK: model.gather{{.*}}dims = "ph,s->sh"
// CHECK: dims = "bsh,sh->bsh", model.names = ["x"]
// CHECK: model.scan
