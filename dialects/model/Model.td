//===- Model.td - What is computed, on whole tensors ----------*- tablegen -*-===//
//
// The closed set of value-semantics ops.  An op names its dimensions with
// letters (`dims`, einsum style); that one string gives the verifier, the
// sharding rule, the FLOPs, the local shapes and, for core ops, the derivative.
//
//===----------------------------------------------------------------------===//
#ifndef HOCKET_MODEL_TD
#define HOCKET_MODEL_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Model_Dialect : Dialect {
  let name = "model";
  let cppNamespace = "::hocket::model";
  let summary = "What is computed, on whole tensors, as on one device";
  let description = [{
    Value-semantics ops on ranked tensors. Letters are local to an op; a letter has
    one extent per op. A letter missing from all results is summed. Function
    arguments carry `model.name`, `model.dims` and, by their role, one of
    `model.input`, `model.param`, `model.state`, `model.scalar` (docs/contracts.md).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

def Model_LetterOpInterface : OpInterface<"LetterOp"> {
  let cppNamespace = "::hocket::model";
  let description = "An op whose operand and result dimensions are named by letters.";
  let methods = [
    InterfaceMethod<"The letters of every operand and result.", "::hocket::model::Dims", "getLetters",
      (ins), [{}], [{ return ::hocket::model::Dims::of($_op, $_op.getDims()); }]>,
    InterfaceMethod<"Letters that the op's kernel needs whole: sharding one inlines the definition.",
      "std::string", "getWholeLetters", (ins), [{}], [{ return std::string(); }]>,
    InterfaceMethod<"How result `i` reduces the letters it lacks: `sum` or `max`.",
      "::llvm::StringRef", "getReduction", (ins "unsigned":$i), [{}], [{ return "sum"; }]>,
    InterfaceMethod<"Floating point operations on the present (global or local) extents; multiply-add = 2.",
      "double", "getFlops", (ins), [{}], [{ return ::hocket::model::defaultFlops($_op); }]>
  ];
}

class Model_Op<string mnemonic, list<Trait> traits = []> : Op<Model_Dialect, mnemonic, traits>;

/// `methods`: the interface methods of which the op has its own.
class Model_LetterOp<string mnemonic, list<Trait> traits = [], list<string> methods = []>
    : Model_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<Model_LetterOpInterface, methods>], traits)> {
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

class Model_FusedOp<string mnemonic>
    : Model_LetterOp<mnemonic, [], ["getWholeLetters", "getFlops"]>;

//===----------------------------------------------------------------------===//
// Core ops
//===----------------------------------------------------------------------===//

def Model_DotOp : Model_LetterOp<"dot"> {
  let summary = "Sum over the letters missing from the result of the product of two tensors";
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
}

def Model_MapOp : Model_LetterOp<"map", [SingleBlock, IsolatedFromAbove]> {
  let summary = "A scalar function of elements; operands are broadcast over letters they lack";
  let description = [{
    The region holds `arith`/`math` scalars only and ends in `model.yield`. All results
    have the same letters (in the same order); a letter that no operand has repeats the
    values. An operand may also be an `index` scalar (an offset), with no letters.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$dims);
  let results = (outs Variadic<AnyRankedTensor>:$results_);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` $body attr-dict `:` functional-type(operands, results)";
}

def Model_ReduceOp : Model_LetterOp<"reduce", [], ["getReduction"]> {
  let summary = "Sum or maximum over the letters missing from the result";
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$dims, StrAttr:$kind);
  let results = (outs AnyRankedTensor:$result);
}

def Model_GatherOp : Model_LetterOp<"gather"> {
  let summary = "result[..] = table[.., v = indices[..] - offset, ..]";
  let description = [{
    `v` is the only letter of the table that neither the indices nor the result has.
    `"vh,bs->bsh"` is an embedding, `"bsv,bs->bs"` picks a logit per token. An index
    outside [0, v) after the offset gives zero (`outside = "zero"`), so that a shard of v
    yields a partial sum.
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices, Optional<Index>:$offset, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
}

def Model_ScatterAddOp : Model_LetterOp<"scatter_add"> {
  let summary = "The adjoint of gather: result[v = indices - offset, ..] += updates";
  let description = [{ `"bsh,bs->vh"`: starts from zero; indices outside [0, v) add nothing. }];
  let arguments = (ins AnyRankedTensor:$updates, AnyRankedTensor:$indices, Optional<Index>:$offset, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
}

def Model_IotaOp : Model_LetterOp<"iota"> {
  let summary = "0, 1, 2, … (plus offset) along the one letter of the result (i32)";
  let arguments = (ins Optional<Index>:$offset, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
}

def Model_ConstantOp : Model_LetterOp<"constant"> {
  let summary = "A tensor filled with one value";
  let arguments = (ins TypedAttrInterface:$value, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$result);
}

def Model_ScanOp : Model_Op<"scan", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A stack of equal layers: the body once per layer l in [range[0], range[1])";
  let description = [{
    Operands: `carries` carries, then `shared` operands passed unchanged, then operands
    stacked over l (first dimension), of which the body gets the slice. Body arguments are
    in the same order. Results: the carries after the last layer, then the body's remaining
    results stacked over l. `reverse` runs l downwards (the backward pass).
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, FlatSymbolRefAttr:$body, I64Attr:$carries, I64Attr:$shared,
                       DenseI64ArrayAttr:$range, UnitAttr:$reverse);
  let results = (outs Variadic<AnyType>:$results_);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
}

def Model_YieldOp : Model_Op<"yield", [Pure, Terminator, ParentOneOf<["MapOp"]>]> {
  let summary = "The scalars of a map";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

//===----------------------------------------------------------------------===//
// Fused ops: a name, a definition in core ops, letters needed whole, a kernel
//===----------------------------------------------------------------------===//

def Model_RmsNormOp : Model_FusedOp<"rmsnorm"> {
  let summary = "y = x * r * w with r = 1 / sqrt(mean_h(x^2) + eps); results y, r";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, StrAttr:$dims, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$y, AnyRankedTensor:$r);
}

def Model_RmsNormGradOp : Model_FusedOp<"rmsnorm_grad"> {
  let summary = "(dy, x, r, w) -> (dx, dw)";
  let arguments = (ins AnyRankedTensor:$dy, AnyRankedTensor:$x, AnyRankedTensor:$r, AnyRankedTensor:$w, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$dx, AnyRankedTensor:$dw);
}

def Model_LayerNormOp : Model_FusedOp<"layernorm"> {
  let summary = "y = (x - mean) * r * w + b; results y, mean, r = 1 / sqrt(var_h(x) + eps)";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$w, AnyRankedTensor:$b, StrAttr:$dims, F64Attr:$eps);
  let results = (outs AnyRankedTensor:$y, AnyRankedTensor:$mean, AnyRankedTensor:$r);
}

def Model_LayerNormGradOp : Model_FusedOp<"layernorm_grad"> {
  let summary = "(dy, x, mean, r, w) -> (dx, dw, db)";
  let arguments = (ins AnyRankedTensor:$dy, AnyRankedTensor:$x, AnyRankedTensor:$mean, AnyRankedTensor:$r,
                       AnyRankedTensor:$w, StrAttr:$dims);
  let results = (outs AnyRankedTensor:$dx, AnyRankedTensor:$dw, AnyRankedTensor:$db);
}

def Model_RopeOp : Model_FusedOp<"rope"> {
  let summary = "Rotary position embedding on halves of the last letter; `inverse` rotates back (the derivative)";
  let description = [{
    Angle of pair i of d/2 at position p: p * f_i, f_i = theta^(-2i/d); with `scaling` =
    [factor, low, high, original] the frequencies are those of llama3's rope_scaling.
    x[.., i], x[.., i + d/2] -> x_i cos - x_{i+d/2} sin, x_{i+d/2} cos + x_i sin.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$positions, StrAttr:$dims, F64Attr:$theta,
                       OptionalAttr<DenseF64ArrayAttr>:$scaling, UnitAttr:$inverse);
  let results = (outs AnyRankedTensor:$result);
}

def Model_AttentionOp : Model_FusedOp<"attention"> {
  let summary = "softmax_t(scale q.k, masked) v; results o and the log-sum-exp of every row";
  let description = [{
    `"bsgrd,btgd,btgd,s,t->bsgrd,bsgr"`: g key/value heads, r query heads for each. With
    `mask = "causal"` a query sees the keys whose position is not after its own.
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v, AnyRankedTensor:$qpos,
                       AnyRankedTensor:$kpos, StrAttr:$dims, StrAttr:$mask, F64Attr:$scale);
  let results = (outs AnyRankedTensor:$o, AnyRankedTensor:$e);
}

def Model_AttentionGradOp : Model_FusedOp<"attention_grad"> {
  let summary = "(do, q, k, v, o, e, qpos, kpos) -> (dq, dk, dv)";
  let arguments = (ins AnyRankedTensor:$dout, AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$o, AnyRankedTensor:$e, AnyRankedTensor:$qpos, AnyRankedTensor:$kpos,
                       StrAttr:$dims, StrAttr:$mask, F64Attr:$scale);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk, AnyRankedTensor:$dv);
}

def Model_XentOp : Model_FusedOp<"xent"> {
  let summary = "Cross-entropy: loss = scale * sum_bs (lse_v - logit[label]); results loss, lse";
  let description = [{
    A label below zero is ignored: no loss, no gradient. `valid` is the true number of
    classes when v is padded: logits from there on count as minus infinity.
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels, StrAttr:$dims, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$valid);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$lse);
}

def Model_XentGradOp : Model_FusedOp<"xent_grad"> {
  let summary = "(logits, labels, lse) -> scale * (softmax - onehot), zero where the label is ignored";
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels, AnyRankedTensor:$lse, StrAttr:$dims,
                       F64Attr:$scale, OptionalAttr<I64Attr>:$valid);
  let results = (outs AnyRankedTensor:$dlogits);
}

#endif // HOCKET_MODEL_TD
