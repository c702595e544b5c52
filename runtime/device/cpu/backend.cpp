#include "runtime/device/cpu/backend.h"

#include "runtime/device/cpu/memory_limit.h"
#include "runtime/error.h"
#include "runtime/ranks.h"

#include <algorithm>

namespace hocket::device::cpu {

/// Throws unless this process can hold all ranks.  Before anything is loaded.
static const format::Plan &checked(const format::Plan &plan) {
  for (const format::ClassProgram &program : plan.classes)
    for (const format::Instr &i : program.instrs)
      if (i.operandCount > CpuStream::kMaxArguments)
        throw Error(kExitIncompatible, "class '" + program.name + "' has an instruction of " +
                                           std::to_string(i.operandCount) + " operands; this runtime takes " +
                                           std::to_string(CpuStream::kMaxArguments));
  uint64_t threads = 0, bytes = 0;
  for (uint32_t r = 0; r < plan.ranks(); ++r) {
    const format::ClassProgram &program = plan.classes[classOf(plan, r)];
    threads += program.streams.size() + std::max(1u, plan.threadsPerRank);
    if (__builtin_add_overflow(bytes, program.arenaBytes, &bytes))
      bytes = UINT64_MAX;
  }
  if (threads > 4096)
    throw Error(kExitIncompatible, "the plan's " + std::to_string(plan.ranks()) + " ranks of " +
                                       std::to_string(std::max(1u, plan.threadsPerRank)) +
                                       " threads, with a thread for each stream, are " +
                                       std::to_string(threads) +
                                       " threads; all ranks run in one process here, which may have 4096");
  MemoryLimit memory = memoryLimit();
  if (bytes > memory.bytes)
    throw Error(kExitNo, "the plan does not fit: its arenas need " + std::to_string(bytes) +
                             " bytes, which is " + std::to_string(bytes - memory.bytes) + " more than the " +
                             std::to_string(memory.bytes) + " that this process may have (" + memory.source +
                             "); a smaller micro-batch or a shorter sequence needs less");
  return plan;
}

CpuBackend::CpuBackend(const format::Plan &p, Fault &f, const Options &o)
    : plan(checked(p)), fault(f), options(o), module(plan, options.resolve) {
  for (const format::Gemm &g : plan.gemms)
    if (g.symbol.empty() && !library)
      library = MatmulLibrary::load();
}

std::unique_ptr<Device> CpuBackend::make(uint32_t rank) {
  return std::make_unique<CpuDevice>(plan, plan.classes[classOf(plan, rank)], rank, module, library, fault,
                                     options);
}

} // namespace hocket::device::cpu
