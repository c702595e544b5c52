//===- Sched.td - Kernels, streams, issue order; still values -*- tablegen -*-===//
#ifndef HOCKET_SCHED_TD
#define HOCKET_SCHED_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::hocket::sched";
  let summary = "Kernels formed, streams, communicators, issue order per rank class; still values";
}

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_CommOp : Sched_Op<"comm", [Symbol]> {
  let summary = "A communicator over axes (a group), or between ranks that differ on one axis (a pair)";
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, UnitAttr:$pair, I64Attr:$order);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sched_KernelOp : Sched_Op<"kernel", [Symbol, IsolatedFromAbove]> {
  let summary = "A kernel: one model op on local types, its block arguments the operands";
  let description = [{
    The symbol is `kernels::describe(op).symbol`; `scratch` the bytes it declared.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
  let hasVerifier = 1;
}

def Sched_TaskOp : Sched_Op<"task", [Symbol]> {
  let summary = "A task of a rank class; text order = issue order; an edge between streams is a wait that will be needed";
  let description = [{
    Every argument and result names its home (docs/contracts.md). A result whose home is a
    gradient, `sum`, parameter or moment is the new value of that home, computed in place.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$stage, StrArrayAttr:$inputs, StrArrayAttr:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
  let hasVerifier = 1;
}

def Sched_LaunchOp : Sched_Op<"launch", [Pure]> {
  let summary = "A generated kernel";
  let description = [{ `inplace` holds pairs (result, operand): the result overwrites that operand. }];
  let arguments = (ins Variadic<AnyType>:$inputs, FlatSymbolRefAttr:$kernel, StrAttr:$stream,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$inplace);
  let results = (outs Variadic<AnyType>:$results_);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_GemmOp : Sched_Op<"gemm", [Pure]> {
  let summary = "c = op(a) op(b), or c' = c + op(a) op(b) in place when a third operand is given";
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b, Optional<AnyRankedTensor>:$c, I64Attr:$m, I64Attr:$n,
                       I64Attr:$k, UnitAttr:$ta, UnitAttr:$tb, StrAttr:$stream);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_CollectiveOp : Sched_Op<"collective", [Pure]> {
  let summary = "A collective on values laid next to each other (one message), in place";
  let description = [{ `kind` is `all_reduce_sum` or `all_reduce_max`. }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrAttr:$kind, FlatSymbolRefAttr:$comm, StrAttr:$algorithm,
                       StrAttr:$stream);
  let results = (outs Variadic<AnyRankedTensor>:$results_);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_RepeatOp : Sched_Op<"repeat", [SingleBlock]> {
  let summary = "The body once per local layer: carries, shared values, slices of stacked values";
  let description = [{
    As model.scan with the body inline. Operands: `carries` carries, `shared` shared values,
    stacked values. Results: carries, then stacked results. Layers are local, [0, count),
    upwards or, with `reverse`, downwards. `inplace` holds pairs (result, operand): a stacked
    result that overwrites a stacked operand (accumulators, the optimizer's update).
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, I64Attr:$carries, I64Attr:$shared, I64Attr:$count, UnitAttr:$reverse,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$inplace);
  let results = (outs Variadic<AnyType>:$results_);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` $body attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Sched_YieldOp : Sched_Op<"yield", [Pure, Terminator]> {
  let summary = "The results of a task, a repeat or a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "`(` $values `)` attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Order tables
//===----------------------------------------------------------------------===//

def Sched_OrderOp : Sched_Op<"order", [NoTerminator, SingleBlock]> {
  let summary = "What a rank class issues, in order; `table` is step, eval or init";
  let arguments = (ins StrAttr:$stage, StrAttr:$table);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

def Sched_RunOp : Sched_Op<"run", [HasParent<"OrderOp">]> {
  let summary = "Run a task for a micro-batch; `slots` by slotted home: {stash = 0, \"send x\" = 1}";
  let arguments = (ins FlatSymbolRefAttr:$task, I64Attr:$micro, DictionaryAttr:$slots);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sched_TransfersOp : Sched_Op<"transfers", [HasParent<"OrderOp">, NoTerminator, SingleBlock]> {
  let summary = "Sends and receives of one level: they start together and end together";
  let arguments = (ins I64Attr:$level);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

class Sched_TransferOp<string mnemonic> : Sched_Op<mnemonic, [HasParent<"TransfersOp">]> {
  let description = [{
    `home` is the buffer (`send x`, `recv x`, `grad emb`, `param emb`), `delta` the peer's
    stage less one's own.
  }];
  let arguments = (ins StrAttr:$home, FlatSymbolRefAttr:$comm, I64Attr:$delta, I64Attr:$micro, I64Attr:$slot,
                       StrAttr:$stream);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}
def Sched_SendOp : Sched_TransferOp<"send"> { let summary = "Send a buffer to the peer"; }
def Sched_RecvOp : Sched_TransferOp<"recv"> { let summary = "Receive a buffer from the peer"; }

def Sched_MetricOp : Sched_Op<"metric", [HasParent<"OrderOp">]> {
  let summary = "Report the scalar in a home";
  let arguments = (ins StrAttr:$name, StrAttr:$home);
  let assemblyFormat = "attr-dict";
}

#endif // HOCKET_SCHED_TD
