//===- main.cpp - hocket-opt: single passes on MLIR text --------------------===//
#include "compiler/driver/Register.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerAllDialects(registry);
  hocket::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Hocket's optimizer driver\n", registry));
}
