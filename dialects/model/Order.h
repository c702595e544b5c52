//===- Order.h - One order for the scalars of a map -------------------------===//
#pragma once

namespace mlir {
class Operation;
}

namespace hocket::model {

/// Brings every `model.map` region under `root` into the order in which its scalars are first
/// needed: depth first from the yield, operands left to right; drops what nothing needs. C++
/// leaves open in which order nested builder calls run, so two builds of the compiler would
/// otherwise write the same function in two ways, and kernels' names and plans would differ.
void orderMaps(mlir::Operation *root);

} // namespace hocket::model
