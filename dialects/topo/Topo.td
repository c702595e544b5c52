//===- Topo.td - The cluster: counts, not lists ----------------*- tablegen -*-===//
#ifndef HOCKET_TOPO
#define HOCKET_TOPO

include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Topo_Dialect : Dialect {
  let name = "topo";
  let cppNamespace = "::hocket::topo";
  let summary = "The cluster: devices, and the islands that join them";
  let description = [{
    What `cluster.toml` says, with its own locations.  A device is a kind, not
    an instance; islands nest from the outside in, and each says how many times
    it stands in the one around it.  16,384 devices are as small as 4.
  }];
}

class Topo_Op<string mnemonic, list<Trait> traits = []> : Op<Topo_Dialect, mnemonic, traits>;

def Topo_ClusterOp : Topo_Op<"cluster", [
    IsolatedFromAbove, SymbolTable, Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "One cluster: its kinds of devices and one outermost island";
  let description = [{
    ```mlir
    topo.cluster @laptops {
      topo.device @cpu isa "x86-64-v3" {threads = 1, memory = 3221225472, rate_f32 = 6.0e10, memory_rate = 1.0e10}
      topo.island @rack x 1 "switch" rate 1.25e9 latency 2.0e-5 {
        topo.island @host x 2 "memory" of 4 @cpu rate 1.0e10 latency 1.0e-6 {}
      }
    }
    ```
    A rank's coordinates are (rack, host, device), outermost first.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The outermost island.
    IslandOp getRoot();
    /// Devices in all: the product of the counts.
    int64_t getRanks();
  }];
}

def Topo_DeviceOp : Topo_Op<"device", [Symbol, HasParent<"ClusterOp">]> {
  let summary = "A kind of device";
  let description = [{
    `memory` is the arena of one rank in bytes; rates are peaks in FLOP/s per
    element type (absent: the device cannot be planned for that type) and
    `memory_rate` is in bytes/s.  `isa` is the CPU that kernels are compiled
    for; it comes from the file, never from the compiling host.  `threads` are
    those of one rank.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$isa, I64Attr:$threads, I64Attr:$memory,
                       OptionalAttr<F64Attr>:$rate_f32, OptionalAttr<F64Attr>:$rate_f64, F64Attr:$memory_rate);
  let assemblyFormat = "$sym_name `isa` $isa attr-dict";
  let hasVerifier = 1;
}

def Topo_IslandOp : Topo_Op<"island", [
    NoTerminator, SingleBlock, NoRegionArguments, ParentOneOf<["ClusterOp", "IslandOp"]>]> {
  let summary = "Equal islands, or devices of one kind, joined by equal links";
  let description = [{
    `count`: how many times this island stands in the one around it (1 for the
    outermost).  A leaf holds `each` devices of kind `of`; any other island
    holds exactly one island.  `rate` is bytes/s per direction of one member's
    link, `latency` seconds.  The label is for reports; it is no symbol.
  }];
  let arguments = (ins SymbolNameAttr:$label, I64Attr:$count, StrAttr:$kind, OptionalAttr<FlatSymbolRefAttr>:$of,
                       OptionalAttr<I64Attr>:$each, F64Attr:$rate, F64Attr:$latency);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $label `x` $count $kind (`of` $each^ $of)? `rate` $rate `latency` $latency attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The island inside, or null for a leaf.
    IslandOp getInner();
  }];
}

#endif
