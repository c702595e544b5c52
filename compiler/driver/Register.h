//===- Register.h - The dialects and passes that there are ------------------===//
//
// One line per dialect and per folder of passes; hocket, hocket-opt and tests
// take them from here.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace mlir {
class DialectRegistry;
}

namespace hocket {

/// Every dialect that a module of any phase may hold.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Every pass, by name, for hocket-opt.
void registerAllPasses();

} // namespace hocket
