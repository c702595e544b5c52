//===- Par.td - Parallelism: mesh, shardings, strategy, collectives -*- tablegen -*-===//
#ifndef HOCKET_PAR_TD
#define HOCKET_PAR_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Par_Dialect : Dialect {
  let name = "par";
  let cppNamespace = "::hocket::par";
  let summary = "Parallelism: a mesh with named axes, shardings as type encodings, the strategy as ordered tactics";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerAttributes(); }];
}

class Par_Op<string mnemonic, list<Trait> traits = []> : Op<Par_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The sharding of a tensor: its type's encoding
//===----------------------------------------------------------------------===//

def Par_ShardingAttr
    : AttrDef<Par_Dialect, "Sharding", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "s";
  let summary = "Axes per dimension (major to minor) and the axes over which the value is still partial";
  let description = [{
    `#par.s<[{data, micro}, {}, {tensor} ]>`, `#par.s<[{}, {} ], partial = sum{tensor}>`.
    An axis occurs once per tensor, dimensions and partial together. A tensor type with no
    encoding at this level is whole on every device.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::ArrayAttr">:$dims,      // one ArrayAttr of StringAttr per dimension
    "::mlir::ArrayAttr":$partial,                      // StringAttrs, empty if none
    "::mlir::StringAttr":$kind);                       // "sum" or "max"; "sum" if partial is empty
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Mesh and strategy
//===----------------------------------------------------------------------===//

def Par_MeshOp : Par_Op<"mesh", [Symbol]> {
  let summary = "Named axes with sizes, outermost first, and time axes (micro)";
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axes, DenseI64ArrayAttr:$sizes,
                       StrArrayAttr:$time, DenseI64ArrayAttr:$times);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Par_StrategyOp : Par_Op<"strategy", [Symbol, NoTerminator, SingleBlock]> {
  let summary = "All choices: an ordered list of tactics; an earlier one wins";
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def Par_TileOp : Par_Op<"tile", [HasParent<"StrategyOp">]> {
  let summary = "Shard `letter` of the named values of a function over an axis";
  let arguments = (ins FlatSymbolRefAttr:$in, StrArrayAttr:$values, StrAttr:$letter, StrAttr:$axis);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Par_PipelineOp : Par_Op<"pipeline", [HasParent<"StrategyOp">]> {
  let summary = "Cut the scan over `body`'s layers into stages: `cuts` are the first layers of stages 1, 2, …";
  let arguments = (ins StrAttr:$body, StrAttr:$axis, DenseI64ArrayAttr:$cuts, StrAttr:$schedule);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Collectives over named axes, on global types while the level is par or
// place, on local types from partition on
//===----------------------------------------------------------------------===//

def Par_AllReduceOp : Par_Op<"all_reduce", [Pure]> {
  let summary = "Reduce partial values over axes; several operands are one bucket (one message)";
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, StrArrayAttr:$axes, StrAttr:$kind, UnitAttr:$bucket);
  let results = (outs Variadic<AnyRankedTensor>:$results_);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Par_CoordOp : Par_Op<"coord", [Pure]> {
  let summary = "The device's coordinate on an axis (or flattened over several), times a constant";
  let arguments = (ins StrArrayAttr:$axes, I64Attr:$times);
  let results = (outs Index:$result);
  let assemblyFormat = "`(` `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // HOCKET_PAR_TD
