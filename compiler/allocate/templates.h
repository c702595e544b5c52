//===- templates.h - From a task's values to instructions on addresses ------===//
//
// Takes one sched.task and the class's homes, gives a template: every value is
// placed (destination passing: a yielded value is computed where it is wanted;
// carries share a buffer where their lives allow; the rest goes to scratch by
// interval colouring), then every operation is an instruction.  No events yet.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/allocate/layout.h"
#include "compiler/allocate/tables.h"

namespace hocket::allocate {

/// A class under construction: program plus what the later steps need to know.
struct ClassBuild {
  ClassLayout layout;
  format::ClassProgram program;
  /// Slot keys of a template in the order of ListEntry::slot.
  std::vector<std::vector<std::string>> slotKeys;
  uint64_t scratchBytes = 0;
  uint32_t scratchRegion = 0; ///< number of the scratch region; its bytes are set at the end
  llvm::StringMap<uint32_t> streams;

  uint32_t stream(llvm::StringRef name);
  void add(format::Instr instr, llvm::ArrayRef<format::Operand> operands);
  /// Address of a home at slot number `slotPosition` (1..4) of the list entry, 0 if not slotted.
  format::Operand at(const Home &home, bool slice, unsigned slotPosition) const;
};

mlir::FailureOr<uint32_t> buildTaskTemplate(sched::TaskOp task, ClassBuild &build, Tables &tables);

} // namespace hocket::allocate
