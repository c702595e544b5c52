// REQUIRES: hocket-opt
// RUN: hocket-opt %s --hocket-partition -o /dev/null
// RUN: hocket-opt %S/../place/Inputs/two-stages.mlir --hocket-place -o %t
// Each line changes one thing of a module that can be partitioned.
// RUN: sed 's/{tensor}/{dato}/g' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=INDEX-AXIS
// RUN: sed 's/{data, micro}/{dato, micro}/g' %t | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=TYPE-AXIS
// RUN: sed 's/^  %%i = model.iota()/%%c = par.coord() {axes = ["tensor"], times = 4 : i64} : () -> index\n%%i = model.iota(%%c)/; s/: () -> tensor<8xi32/: (index) -> tensor<8xi32/' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: echo "module {}" | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: sed 's/#par.s<.{tensor}.>/"tensor"/g' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=ENCODING
// RUN: sed 's/{tensor}/{micro}/g' %s | not hocket-opt --hocket-partition 2>&1 | FileCheck %s --check-prefix=TIME

// INDEX-AXIS: 'model.iota' op names unknown axis "dato"
// TYPE-AXIS: type 'tensor<8x4x8xf32, #par.s<[{dato, micro}, {}, {}]>>' names unknown axis "dato"
// OFFSET: 'model.iota' op has an offset already
// MESH: partition needs one par.mesh, there are 0
// ENCODING: type 'tensor<8xi32, "tensor">' has an encoding that is no sharding
// TIME: 'model.iota' op needs the index of dimension 0, which is sharded over time

par.mesh {axes = ["tensor"], sizes = array<i64: 2>, sym_name = "m", time = ["micro"], times = array<i64: 2>}
func.func @f() -> tensor<8xi32, #par.s<[{tensor}]>> {
  %i = model.iota() {dims = "->v"} : () -> tensor<8xi32, #par.s<[{tensor}]>>
  return %i : tensor<8xi32, #par.s<[{tensor}]>>
}
