//===- Place.td - Device placement: sub-meshes, one micro-batch body, order tables -*- tablegen -*-===//
#ifndef HOCKET_PLACE_TD
#define HOCKET_PLACE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Place_Dialect : Dialect {
  let name = "place";
  let cppNamespace = "::hocket::place";
  let summary = "Sub-meshes with devices, one SSA body per micro-batch, one order table per sub-mesh";
}

class Place_Op<string mnemonic, list<Trait> traits = []> : Op<Place_Dialect, mnemonic, traits>;

def Place_MeshOp : Place_Op<"mesh", [Symbol]> {
  let summary = "The devices of one stage: the mesh without the pipeline axis, at one pipeline coordinate";
  let description = [{
    The device at coordinates c is number `device` + sum of c[i] × `strides`[i], counted in
    the order of the cluster. No device is on two meshes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes, I64Attr:$device,
                       DenseI64ArrayAttr:$strides, I64Attr:$stage, DenseI64ArrayAttr:$layers);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The numbers of all its devices, ascending by coordinates.
    ::llvm::SmallVector<int64_t> devices();
  }];
}

def Place_ParamOp : Place_Op<"param"> {
  let summary = "A parameter that lives on a mesh, with its checkpoint entry and its sharded type";
  let description = [{
    `type` is the global type of one layer's instance (no l), encoded; `dims` its letters;
    `layers` the global layers held if `stacked`. `checkpoint` is the argument's
    `model.param` dictionary, `valid` the true extents of padded letters. A mesh that holds
    a tied copy has `owner = false`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrAttr:$name, StrAttr:$dims, TypeAttr:$type, DictionaryAttr:$checkpoint,
                       OptionalAttr<DictionaryAttr>:$valid, BoolAttr:$stacked, DenseI64ArrayAttr:$layers,
                       BoolAttr:$owner);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Place_InputOp : Place_Op<"input"> {
  let summary = "An input of a mesh (tokens, labels): the encoded global type says which rows a rank gets";
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrAttr:$name, TypeAttr:$type);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Place_StepOp : Place_Op<"step", [NoTerminator]> {
  let summary = "A step: the body of one micro-batch, the update after the last, and the order table of each mesh";
  let description = [{
    `order` maps a mesh to its list of `"TASK.MICRO"`. The values that the body yields are
    summed over micro-batches and are the arguments of the update, which yields what is
    reported: `metrics` names those. Parameters, moments, inputs and scalars live on their
    meshes and are no operands of tasks: the homes of the function's arguments name them.
  }];
  let arguments = (ins I64Attr:$micro, DictionaryAttr:$order, StrArrayAttr:$metrics);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$update);
  let assemblyFormat = "$body `,` $update attr-dict";
  let hasVerifier = 1;
}

def Place_TaskOp : Place_Op<"task", [HasParent<"StepOp">]> {
  let summary = "One stage's work: a function run on a mesh";
  let description = [{
    `name` is F, B, L, N or U. Operands are the function's arguments whose home is not a
    parameter, moment, input or scalar, in order; results are the function's.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, StrAttr:$name, FlatSymbolRefAttr:$fn, FlatSymbolRefAttr:$mesh);
  let results = (outs Variadic<AnyType>:$results_);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Place_TransferOp : Place_Op<"transfer", [HasParent<"StepOp">]> {
  let summary = "A value moves from one mesh to another, rank to rank with equal coordinates";
  let description = [{ `source` and `target` are the homes on both sides (docs/contracts.md). }];
  let arguments = (ins AnyType:$input, StrAttr:$source, StrAttr:$target, FlatSymbolRefAttr:$from,
                       FlatSymbolRefAttr:$to);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $input `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Place_AllReduceOp : Place_Op<"all_reduce", [HasParent<"StepOp">]> {
  let summary = "Sum of one scalar over meshes (the squares of the gradient norm); every mesh gets the result";
  let arguments = (ins Variadic<AnyType>:$inputs, ArrayAttr:$meshes, StrAttr:$kind);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Place_YieldOp : Place_Op<"yield", [Terminator, HasParent<"StepOp">]> {
  let summary = "What leaves the micro-batch body is summed over micro-batches and enters the update";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "`(` $values `)` attr-dict `:` functional-type(operands, results)";
}

#endif // HOCKET_PLACE_TD
