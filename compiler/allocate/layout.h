//===- layout.h - The memory of one rank class ------------------------------===//
//
// Takes the tasks and order tables of a stage (sched), gives the homes with
// their places in regions.  Scratch is added by templates.cpp, when the tasks'
// values have been laid out.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/place/Place.h"
#include "dialects/sched/Sched.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/format/plan.h"
#include "llvm/ADT/MapVector.h"

namespace hocket::allocate {

inline constexpr uint64_t kAlign = 64;
inline uint64_t alignUp(uint64_t n) { return (n + kAlign - 1) / kAlign * kAlign; }
uint64_t bytesOf(mlir::Type type);
mlir::FailureOr<format::DType> dtypeOf(mlir::Type type, mlir::Operation *reportOn);

/// A named buffer of the class (docs/contracts.md, "Homes").
struct Home {
  std::string name;
  mlir::Type type; ///< of one layer's instance if layered
  bool layered = false;
  int64_t layers = 1;
  uint32_t region = 0;
  uint64_t offset = 0; ///< in the region (slot 0, layer 0)
  uint64_t bytes = 0;  ///< of one instance
};

/// "grad layer.wq" is of kind "grad" and slotted homes share the slot number of
/// their slot key: all "stash …" one, every "send x" / "recv x" its own.
llvm::StringRef kindOf(llvm::StringRef home);
std::string slotKey(llvm::StringRef home);

struct ClassLayout {
  std::string stage;
  std::vector<mlir::Operation *> tasks; ///< sched.task of the stage in text order
  llvm::SmallVector<sched::OrderOp> orders;
  llvm::MapVector<mlir::StringAttr, Home> homes;
  std::vector<format::Region> regions;
  int64_t micros = 1;

  const Home *find(mlir::StringAttr name) const {
    auto it = homes.find(name);
    return it == homes.end() ? nullptr : &it->second;
  }
  /// Adds a region behind the last one.
  uint32_t addRegion(format::Region region);
};

/// The place of a value of a task: the whole home or one layer's slice of it.
struct HomeRef {
  mlir::StringAttr home;
  bool slice = false;
};
/// The home that a value is, seen through repeat arguments and results, or nothing.
std::optional<HomeRef> homeOf(mlir::Value value);

/// Collects the homes of `stage` and lays out all regions but scratch.
mlir::FailureOr<ClassLayout> layoutClass(mlir::ModuleOp module, llvm::StringRef stage, int64_t micros);

} // namespace hocket::allocate
