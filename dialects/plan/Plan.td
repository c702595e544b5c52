//===- Plan.td - One rank class's program: ranges, events, templates, lists -*- tablegen -*-===//
//
// One to one with runtime/format/plan.h: every op below is a record there.
//
//===----------------------------------------------------------------------===//
#ifndef HOCKET_PLAN_TD
#define HOCKET_PLAN_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::hocket::plan";
  let summary = "One rank class's program: memory ranges, events, templates and order lists";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<Plan_Dialect, mnemonic, traits> {
  let assemblyFormat = "attr-dict";
}

def Plan_OperandAttr : AttrDef<Plan_Dialect, "Operand"> {
  let mnemonic = "at";
  let summary = "An operand of an instruction: an address, a constant, an affine expression or a step scalar";
  let description = [{
    `kind` 0 region `index`, 1 constant `offset`, 2 affine `index`, 3 scalar `index`;
    address = region + slot[slot - 1] * slot stride (slot > 0) + l * layer stride (`layered`)
    + mb * micro stride (`micro`) + `offset` bytes.
  }];
  let parameters = (ins "int64_t":$kind, "int64_t":$index, DefaultValuedParameter<"int64_t", "0">:$slot,
                        DefaultValuedParameter<"bool", "false">:$layered,
                        DefaultValuedParameter<"bool", "false">:$micro,
                        DefaultValuedParameter<"int64_t", "0">:$offset);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// Tables of the module
//===----------------------------------------------------------------------===//

def Plan_MeshOp : Plan_Op<"mesh"> {
  let summary = "The axes of the ranks, rank = sum of coordinate * stride, and the micro-batches of a step";
  let arguments = (ins StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
                       I64Attr:$micro_batches);
  let hasVerifier = 1;
}

def Plan_CommOp : Plan_Op<"comm", [Symbol]> {
  let summary = "A communicator: a group over axes, or pairs along axes[0]";
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$axes, UnitAttr:$pair, I64Attr:$order);
}

def Plan_AffineOp : Plan_Op<"affine"> {
  let summary = "Affine expression of coordinates, layer and micro-batch (numbered in order)";
  let arguments = (ins DenseI64ArrayAttr:$coordinate, I64Attr:$layer, I64Attr:$micro, I64Attr:$constant);
}

def Plan_ScalarOp : Plan_Op<"scalar"> {
  let summary = "A step scalar: lr, c1, c2, seed (numbered in order)";
  let arguments = (ins StrAttr:$kind, TypeAttr:$type);
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol]> {
  let summary = "A generated kernel: access (0 read, 1 write, 2 both, 3 value) and bytes of each argument";
  let description = [{
    The body is `sched.kernel` of the same name, or, for initial values, `init` =
    {kind, std, type, local, global, key, padded} (compiler/kernels, InitSpec).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$access, DenseI64ArrayAttr:$bytes, I64Attr:$work,
                       F64Attr:$flops, F64Attr:$memory_bytes, OptionalAttr<DictionaryAttr>:$init);
}

def Plan_GemmEntryOp : Plan_Op<"gemm_entry", [Symbol]> {
  let summary = "A matrix product's shape; `symbol` names the generated kernel, empty for the library's";
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$m, I64Attr:$n, I64Attr:$k, BoolAttr:$ta, BoolAttr:$tb,
                       BoolAttr:$accumulate, DenseI64ArrayAttr:$ld, TypeAttr:$type, I64Attr:$scratch,
                       StrAttr:$symbol, I64Attr:$work);
}

def Plan_ParamOp : Plan_Op<"param"> {
  let summary = "A parameter of a class: its shard, its checkpoint entry, where value, gradient and moments lie";
  let description = [{ `extents` = local and true global extent per letter; `axes` the mesh axes per letter. }];
  let arguments = (ins FlatSymbolRefAttr:$in, StrAttr:$name, StrAttr:$checkpoint, StrAttr:$layout, DenseI64ArrayAttr:$part,
                       StrAttr:$dims, DenseI64ArrayAttr:$local, DenseI64ArrayAttr:$global, ArrayAttr:$axes, TypeAttr:$type,
                       BoolAttr:$stacked, DenseI64ArrayAttr:$layers, BoolAttr:$owner, Plan_OperandAttr:$value,
                       Plan_OperandAttr:$gradient, Plan_OperandAttr:$moment1, Plan_OperandAttr:$moment2);
}

def Plan_InputOp : Plan_Op<"input"> {
  let summary = "Where the runtime writes a class's tokens or labels";
  let arguments = (ins FlatSymbolRefAttr:$in, StrAttr:$name, I64Attr:$rows, DenseI64ArrayAttr:$axes, Plan_OperandAttr:$at);
}

def Plan_MetricEntryOp : Plan_Op<"metric_entry"> {
  let summary = "A value that a class reports (numbered in order)";
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$in, TypeAttr:$type);
}

//===----------------------------------------------------------------------===//
// A rank class
//===----------------------------------------------------------------------===//

def Plan_ClassOp : Plan_Op<"class", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "Ranks with first <= coordinate <= last on every axis, and their program";
  let arguments = (ins SymbolNameAttr:$sym_name, DenseI64ArrayAttr:$first, DenseI64ArrayAttr:$last, StrArrayAttr:$streams,
                       I64Attr:$events, DenseI64ArrayAttr:$first_use, I64Attr:$arena);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $body attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_RegionOp : Plan_Op<"region", [HasParent<"ClassOp">]> {
  let summary = "A range of the arena (numbered in order)";
  let arguments = (ins StrAttr:$name, I64Attr:$kind, I64Attr:$offset, I64Attr:$bytes, I64Attr:$slots, I64Attr:$slot_stride,
                       I64Attr:$layers, I64Attr:$layer_stride, I64Attr:$micros, I64Attr:$micro_stride);
  let hasVerifier = 1;
}

def Plan_TemplateOp : Plan_Op<"template", [HasParent<"ClassOp">, NoTerminator, SingleBlock]> {
  let summary = "Instructions with micro-batch and slots as parameters (numbered in order)";
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Plan_ListOp : Plan_Op<"list", [HasParent<"ClassOp">]> {
  let summary = "An order list (init, step, eval): per entry template, micro-batch and four slots";
  let arguments = (ins StrAttr:$table, DenseI64ArrayAttr:$entries);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

class Plan_Instr<string mnemonic, dag args> : Plan_Op<mnemonic> {
  let arguments = !con((ins I64Attr:$s), args);
}

def Plan_LaunchOp : Plan_Instr<"launch", (ins FlatSymbolRefAttr:$kernel, ArrayAttr:$args, StrAttr:$name)> {
  let summary = "Run a generated kernel on stream s";
}
def Plan_GemmOp : Plan_Instr<"gemm", (ins FlatSymbolRefAttr:$entry, ArrayAttr:$args, StrAttr:$name)> {
  let summary = "Matrix product: operands a, b, c and scratch if the entry declares any";
}
def Plan_CollectiveOp : Plan_Instr<"collective", (ins FlatSymbolRefAttr:$comm, I64Attr:$kind, TypeAttr:$type,
                                    ArrayAttr:$args, I64Attr:$bytes, StrAttr:$name)> {
  let summary = "In-place collective (kind: 0 sum, 1 max)";
}
def Plan_SendOp : Plan_Instr<"send", (ins FlatSymbolRefAttr:$comm, I64Attr:$delta, ArrayAttr:$args, I64Attr:$bytes, StrAttr:$name)> {
  let summary = "Send to the peer at +delta on the communicator's axis";
}
def Plan_RecvOp : Plan_Instr<"recv", (ins FlatSymbolRefAttr:$comm, I64Attr:$delta, ArrayAttr:$args, I64Attr:$bytes, StrAttr:$name)> {
  let summary = "Receive from the peer at +delta on the communicator's axis";
}
def Plan_GroupOp : Plan_Instr<"group", (ins I64Attr:$count)> {
  let summary = "The next `count` sends and receives start together and end together";
}
def Plan_CopyOp : Plan_Instr<"copy", (ins ArrayAttr:$args, I64Attr:$bytes, StrAttr:$name)> {
  let summary = "Copy bytes from args[0] to args[1]";
}
def Plan_FillOp : Plan_Instr<"fill", (ins ArrayAttr:$args, I64Attr:$bytes, StrAttr:$name)> {
  let summary = "Zero bytes at args[0]";
}
def Plan_RecordOp : Plan_Instr<"record", (ins I64Attr:$event, I64Attr:$slot)> {
  let summary = "Record event (+ slot[slot - 1] if slot > 0)";
}
def Plan_WaitOp : Plan_Instr<"wait", (ins I64Attr:$event, I64Attr:$slot)> {
  let summary = "Wait for the last earlier record of event (+ slot)";
}
def Plan_MarkOp : Plan_Instr<"mark", (ins BoolAttr:$end, StrAttr:$name)> {
  let summary = "Begin or end of a named span";
}
def Plan_MetricOp : Plan_Instr<"metric", (ins I64Attr:$index, ArrayAttr:$args)> {
  let summary = "Report metric `index` from args[0]";
}
def Plan_RepeatOp : Plan_Op<"repeat", [NoTerminator, SingleBlock]> {
  let summary = "The body for l = from, from + step, … while l != to";
  let arguments = (ins I64Attr:$from, I64Attr:$to, I64Attr:$step);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
}

#endif // HOCKET_PLAN_TD
