// A step after shard: one stage, four layers of one matrix, two micro-batches, data = 2.
!x = tensor<8x4x8xf32, #par.s<[{data, micro}, {}, {}]>>
!t = tensor<8x4xi32, #par.s<[{data, micro}, {}]>>
!r = tensor<4x8x4x8xf32, #par.s<[{}, {data, micro}, {}, {}]>>
!w = tensor<8x8xf32>
!wp = tensor<8x8xf32, #par.s<[{}, {}], partial = sum{data, micro}>>
!W = tensor<4x8x8xf32>
!Wp = tensor<4x8x8xf32, #par.s<[{}, {}, {}], partial = sum{data, micro}>>
!Wd = tensor<4x8x8xf32, #par.s<[{}, {}, {}], partial = sum{data}>>
!e = tensor<16x8xf32>
!ep = tensor<16x8xf32, #par.s<[{}, {}], partial = sum{data, micro}>>
!ed = tensor<16x8xf32, #par.s<[{}, {}], partial = sum{data}>>
!g = tensor<8x4x16xf32, #par.s<[{data, micro}, {}, {}]>>
!n = tensor<8x4xf32, #par.s<[{data, micro}, {}]>>
!s = tensor<f32>
!sp = tensor<f32, #par.s<[], partial = sum{data, micro}>>
!sd = tensor<f32, #par.s<[], partial = sum{data}>>
!p = tensor<4xi32>

par.mesh {sym_name = "m", axes = ["data"], sizes = array<i64: 2>, time = ["micro"], times = array<i64: 2>}
func.func private @layer.fwd(%x: !x {model.name = "x", model.dims = "bsh"}, %w: !w {model.name = "w", model.dims = "hk"}) -> (!x, !x) {
  %d = model.dot(%x, %w) {dims = "bsh,hk->bsk"} : (!x, !w) -> !x
  %z = "model.map"(%x, %d) <{dims = "bsh,bsh->bsh"}> ({ ^bb0(%i: f32, %j: f32): %z0 = arith.addf %i, %j : f32  model.yield %z0 : f32 }) : (!x, !x) -> !x
  return %z, %x : !x, !x
}
func.func private @layer.bwd(%dz: !x {model.name = "dz", model.dims = "bsh"}, %w: !w {model.name = "w", model.dims = "hk"}) -> !x {
  %d = model.dot(%dz, %w) {dims = "bsk,hk->bsh"} : (!x, !w) -> !x
  %z = "model.map"(%dz, %d) <{dims = "bsh,bsh->bsh"}> ({ ^bb0(%i: f32, %j: f32): %z0 = arith.addf %i, %j : f32  model.yield %z0 : f32 }) : (!x, !x) -> !x
  return %z : !x
}
func.func private @layer.wgrad(%dz: !x {model.name = "dz", model.dims = "bsh"}, %x: !x {model.name = "x", model.dims = "bsh"}) -> !wp {
  %d = model.dot(%x, %dz) {dims = "bsh,bsk->hk"} : (!x, !x) -> !wp
  return %d : !wp
}
func.func private @layer.back(%dz: !x {model.name = "dz", model.dims = "bsh"}, %w: !w {model.name = "w", model.dims = "hk"}, %x: !x {model.name = "x", model.dims = "bsh"}) -> (!x, !wp) {
  %a = call @layer.bwd(%dz, %w) : (!x, !w) -> !x
  %b = call @layer.wgrad(%dz, %x) : (!x, !x) -> !wp
  return %a, %b : !x, !wp
}
func.func @step(%tok: !t {model.name = "tokens", model.dims = "bs", model.input = "tokens"},
    %lab: !t {model.name = "labels", model.dims = "bs", model.input = "labels"},
    %lr: !s {model.name = "lr", model.dims = "", model.scalar = "lr"},
    %c1: !s {model.name = "c1", model.dims = "", model.scalar = "c1"},
    %c2: !s {model.name = "c2", model.dims = "", model.scalar = "c2"},
    %p_emb: !e {model.name = "emb", model.dims = "vh", model.param = {name = "model.embed_tokens.weight", layout = "vh", init = "normal", std = 0.02, part = [0, 0, 1], decay}},
    %p_layer.w: !W {model.name = "layer.w", model.dims = "lhk", model.param = {name = "model.layers.{l}.w.weight", layout = "hk", init = "normal", std = 0.02, part = [0, 0, 1], decay}},
    %p_head: !e {model.name = "head", model.dims = "vh", model.param = {name = "lm_head.weight", layout = "vh", init = "normal", std = 0.02, part = [0, 0, 1], decay}},
    %m_emb: !e {model.name = "m.emb", model.dims = "vh", model.state = {of = "emb", kind = "m"}},
    %m_layer.w: !W {model.name = "m.layer.w", model.dims = "lhk", model.state = {of = "layer.w", kind = "m"}},
    %m_head: !e {model.name = "m.head", model.dims = "vh", model.state = {of = "head", kind = "m"}},
    %v_emb: !e {model.name = "v.emb", model.dims = "vh", model.state = {of = "emb", kind = "v"}},
    %v_layer.w: !W {model.name = "v.layer.w", model.dims = "lhk", model.state = {of = "layer.w", kind = "v"}},
    %v_head: !e {model.name = "v.head", model.dims = "vh", model.state = {of = "head", kind = "v"}})
    -> (!s {model.name = "loss"}, !s {model.name = "grad_norm"}, !e {model.name = "emb"}, !W {model.name = "layer.w"}, !e {model.name = "head"}, !e {model.name = "emb"}, !W {model.name = "layer.w"}, !e {model.name = "head"}, !e {model.name = "emb"}, !W {model.name = "layer.w"}, !e {model.name = "head"}) {
  %x0 = model.gather(%p_emb, %tok) {dims = "vh,bs->bsh"} : (!e, !t) -> !x
  %f:2 = model.scan(%x0, %p_layer.w) {body = @layer.fwd, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 4>} : (!x, !W) -> (!x, !r)
  %lg = model.dot(%f#0, %p_head) {dims = "bsh,vh->bsv"} : (!x, !e) -> !g
  %ls, %lse = model.xent(%lg, %lab) {dims = "bsv,bs->,bs", scale = 0.03125 : f64} : (!g, !t) -> (!sp, !n)
  %l1 = par.all_reduce(%ls) {axes = ["micro"], kind = "sum"} : (!sp) -> !sd
  %loss = par.all_reduce(%l1) {axes = ["data"], kind = "sum"} : (!sd) -> !s
  %dlg = model.xent_grad(%lg, %lab, %lse) {dims = "bsv,bs,bs->bsv", scale = 0.03125 : f64} : (!g, !t, !n) -> !g
  %gh = model.dot(%dlg, %f#0) {dims = "bsv,bsh->vh"} : (!g, !x) -> !ep
  %dx = model.dot(%dlg, %p_head) {dims = "bsv,vh->bsh"} : (!g, !e) -> !x
  %b:2 = model.scan(%dx, %p_layer.w, %f#1) {body = @layer.back, carries = 1 : i64, shared = 0 : i64, range = array<i64: 0, 4>, reverse} : (!x, !W, !r) -> (!x, !Wp)
  %gw1 = par.all_reduce(%b#1) {axes = ["micro"], kind = "sum"} : (!Wp) -> !Wd
  %g_layer.w = par.all_reduce(%gw1) {axes = ["data"], kind = "sum", bucket} : (!Wd) -> !W
  %ge = model.scatter_add(%b#0, %tok) {dims = "bsh,bs->vh"} : (!x, !t) -> !ep
  %ge1, %gh1 = par.all_reduce(%ge, %gh) {axes = ["micro"], kind = "sum"} : (!ep, !ep) -> (!ed, !ed)
  %g_emb, %g_head = par.all_reduce(%ge1, %gh1) {axes = ["data"], kind = "sum", bucket} : (!ed, !ed) -> (!e, !e)
  %q_emb = model.dot(%g_emb, %g_emb) {dims = "vh,vh->"} : (!e, !e) -> !s
  %q_layer.w = model.dot(%g_layer.w, %g_layer.w) {dims = "lhk,lhk->"} : (!W, !W) -> !s
  %q_head = model.dot(%g_head, %g_head) {dims = "vh,vh->"} : (!e, !e) -> !s
  %n2 = "model.map"(%q_emb, %q_layer.w, %q_head) <{dims = ",,->"}> ({ ^bb0(%a0: f32, %a1: f32, %a2: f32):
    %t1 = arith.addf %a0, %a1 : f32
    %t2 = arith.addf %t1, %a2 : f32
    model.yield %t2 : f32 }) : (!s, !s, !s) -> !s
  %norm = "model.map"(%n2) <{dims = "->"}> ({ ^bb0(%i: f32): %z0 = math.sqrt %i : f32  model.yield %z0 : f32 }) : (!s) -> !s
  %fac = "model.map"(%norm) <{dims = "->"}> ({ ^bb0(%i: f32): %one = arith.constant 1.0 : f32  %m = arith.maximumf %i, %one : f32  %z0 = arith.divf %one, %m : f32  model.yield %z0 : f32 }) : (!s) -> !s
  %o_emb:3 = "model.map"(%p_emb, %g_emb, %m_emb, %v_emb, %fac, %lr, %c1, %c2) <{dims = "vh,vh,vh,vh,,,,->vh,vh,vh"}> ({ ^bb0(%p: f32, %g: f32, %m: f32, %v: f32, %fa: f32, %l: f32, %ca: f32, %cb: f32):
    %gg = arith.mulf %g, %fa : f32  %mm = arith.addf %m, %gg : f32  %g2 = arith.mulf %gg, %gg : f32  %vv = arith.addf %v, %g2 : f32
    %mh = arith.divf %mm, %ca : f32  %vh = arith.divf %vv, %cb : f32  %sq = math.sqrt %vh : f32  %u = arith.divf %mh, %sq : f32  %lu = arith.mulf %l, %u : f32  %pp = arith.subf %p, %lu : f32
    model.yield %pp, %mm, %vv : f32, f32, f32 }) : (!e, !e, !e, !e, !s, !s, !s, !s) -> (!e, !e, !e)
  %o_layer.w:3 = "model.map"(%p_layer.w, %g_layer.w, %m_layer.w, %v_layer.w, %fac, %lr, %c1, %c2) <{dims = "lhk,lhk,lhk,lhk,,,,->lhk,lhk,lhk"}> ({ ^bb0(%p: f32, %g: f32, %m: f32, %v: f32, %fa: f32, %l: f32, %ca: f32, %cb: f32):
    %gg = arith.mulf %g, %fa : f32  %mm = arith.addf %m, %gg : f32  %g2 = arith.mulf %gg, %gg : f32  %vv = arith.addf %v, %g2 : f32
    %mh = arith.divf %mm, %ca : f32  %vh = arith.divf %vv, %cb : f32  %sq = math.sqrt %vh : f32  %u = arith.divf %mh, %sq : f32  %lu = arith.mulf %l, %u : f32  %pp = arith.subf %p, %lu : f32
    model.yield %pp, %mm, %vv : f32, f32, f32 }) : (!W, !W, !W, !W, !s, !s, !s, !s) -> (!W, !W, !W)
  %o_head:3 = "model.map"(%p_head, %g_head, %m_head, %v_head, %fac, %lr, %c1, %c2) <{dims = "vh,vh,vh,vh,,,,->vh,vh,vh"}> ({ ^bb0(%p: f32, %g: f32, %m: f32, %v: f32, %fa: f32, %l: f32, %ca: f32, %cb: f32):
    %gg = arith.mulf %g, %fa : f32  %mm = arith.addf %m, %gg : f32  %g2 = arith.mulf %gg, %gg : f32  %vv = arith.addf %v, %g2 : f32
    %mh = arith.divf %mm, %ca : f32  %vh = arith.divf %vv, %cb : f32  %sq = math.sqrt %vh : f32  %u = arith.divf %mh, %sq : f32  %lu = arith.mulf %l, %u : f32  %pp = arith.subf %p, %lu : f32
    model.yield %pp, %mm, %vv : f32, f32, f32 }) : (!e, !e, !e, !e, !s, !s, !s, !s) -> (!e, !e, !e)
  return %loss, %norm, %o_emb#0, %o_layer.w#0, %o_head#0, %o_emb#1, %o_layer.w#1, %o_head#1, %o_emb#2, %o_layer.w#2, %o_head#2 : !s, !s, !e, !W, !e, !e, !W, !e, !e, !W, !e
}
