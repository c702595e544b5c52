#include "runtime/device/cpu/device.h"

#include "runtime/error.h"
#include "runtime/ranks.h"

#include <algorithm>
#include <cstring>

namespace hocket::device::cpu {

CpuDevice::CpuDevice(const format::Plan &plan, const format::ClassProgram &program, uint32_t rank,
                     const Module &module, std::shared_ptr<MatmulLibrary> library, Fault &fault,
                     const Options &options)
    : memory(program.arenaBytes), pool(plan.threadsPerRank, fault) {
  auto count = static_cast<uint32_t>(program.streams.size());
  shared.plan = &plan;
  shared.module = &module;
  shared.fault = &fault;
  shared.pool = &pool;
  shared.rank = rank;
  shared.streams = count;
  size_t counters = size_t(program.events) * count;
  shared.issued.assign(counters, 0);
  shared.lastStream.assign(program.events, 0);
  shared.completed = std::make_unique<std::atomic<uint32_t>[]>(counters);
  shared.delays = options.delays;
  shared.delaySeed = options.delaySeed;

  // A prepared product belongs to one stream, since two may run the same entry at once.
  std::vector<std::vector<std::unique_ptr<MatmulLibrary::Product>>> products(count);
  for (auto &p : products)
    p.resize(plan.gemms.size());
  for (const format::Instr &i : program.instrs) {
    if (i.op != format::Op::Gemm || module.gemm(i.index))
      continue;
    auto &product = products[i.stream][i.index];
    if (!product)
      product = library->prepare(plan.gemms[i.index], i.index, plan.threadsPerRank);
  }
  for (uint32_t s = 0; s < count; ++s) {
    streams.push_back(std::make_unique<CpuStream>(shared, s));
    if (options.trace)
      streams.back()->trace(
          std::max({unrolledCount(program, program.init), unrolledCount(program, program.step),
                    unrolledCount(program, program.eval)}));
  }
  for (uint32_t s = 0; s < count; ++s)
    streams[s]->start(std::move(products[s]), library);
}

CpuDevice::~CpuDevice() = default;

void CpuDevice::read(uint64_t offset, std::span<std::byte> to) const {
  std::memcpy(to.data(), memory.data() + offset, to.size());
}

void CpuDevice::write(uint64_t offset, std::span<const std::byte> from) {
  std::memcpy(memory.data() + offset, from.data(), from.size());
}

void CpuDevice::clearSpans() {
  for (auto &s : streams)
    s->clearSpans();
}

bool CpuDevice::finish() {
  for (auto &s : streams)
    if (!s->finish())
      return false;
  return true;
}

void CpuDevice::stop() {
  for (auto &s : streams)
    s->stop();
}

uint64_t CpuDevice::progress() const {
  uint64_t sum = 0;
  for (const auto &s : streams)
    sum += s->progress();
  return sum;
}

} // namespace hocket::device::cpu
