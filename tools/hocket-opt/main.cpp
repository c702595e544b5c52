//===- main.cpp - hocket-opt: single passes on MLIR text --------------------===//
//
// MLIR's own driver behind one guard: its parser recurses, so that text nested
// deeper than kMaxDepth is refused before it is read.
//
//===----------------------------------------------------------------------===//
#include "compiler/driver/Register.h"
#include "compiler/input/mlir_bridge.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace hocket;

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  registerAllPasses();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "Hocket's optimizer driver\n", registry);
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = mlir::openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> file = text ? mlir::openOutputFile(output, &message) : nullptr;
  if (!file) {
    llvm::errs() << "hocket-opt: error: " << message << "\n";
    return kExitBadInput;
  }
  Diagnostics diags;
  int32_t source = diags.addSource(input == "-" ? "<stdin>" : input, text->getBuffer().str());
  if (!checkDepth(source, diags)) {
    diags.print(llvm::errs(), MessageFormat::Human, useColor(ColorMode::Auto, 2));
    return kExitBadInput;
  }
  if (mlir::failed(mlir::MlirOptMain(file->os(), std::move(text), registry, config)))
    return kExitNo;
  file->keep();
  return kExitOk;
}
