#include "runtime/comm/local/group.h"

#include "runtime/error.h"

#include <algorithm>
#include <cstring>

namespace hocket::comm::local {

using format::CollectiveKind;
using format::DType;

const char *kindName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduceSum:
    return "all_reduce";
  case CollectiveKind::AllReduceMax:
    return "all_reduce_max";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  }
  return "collective";
}

Group::Group(std::string n, std::vector<uint32_t> r, device::Fault &f)
    : name(std::move(n)), ranks(std::move(r)), fault(f), slots(new Slot[ranks.size()]) {}

bool Group::arrive(uint32_t &current) noexcept {
  current = generation.load(std::memory_order_acquire);
  return arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks.size();
}

void Group::release() noexcept {
  arrived.store(0, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  gate.notify();
}

bool Group::await(uint32_t current) noexcept {
  return gate.wait([&] { return generation.load(std::memory_order_acquire) != current; }, fault);
}

bool Group::agree() noexcept {
  const Request &first = slots[0].request;
  for (size_t i = 1; i < ranks.size(); ++i) {
    const Request &other = slots[i].request;
    if (other.kind == first.kind && other.bytes == first.bytes && other.dtype == first.dtype)
      continue;
    fault.raise(kExitRunTime, "communicator '" + name + "': rank " + std::to_string(ranks[0]) + " is in " +
                                  kindName(first.kind) + " of " + std::to_string(first.bytes) +
                                  " bytes, rank " + std::to_string(ranks[i]) + " in " + kindName(other.kind) +
                                  " of " + std::to_string(other.bytes) + " bytes");
    return false;
  }
  uint64_t size = format::sizeOf(first.dtype);
  bool reduces = first.kind != CollectiveKind::AllGather;
  bool sliced = first.kind == CollectiveKind::AllGather || first.kind == CollectiveKind::ReduceScatter;
  if ((reduces && first.dtype != DType::F32 && first.dtype != DType::F64) || size == 0 ||
      first.bytes % (sliced ? size * ranks.size() : size)) {
    fault.raise(kExitRunTime, "communicator '" + name + "': " + kindName(first.kind) + " of " +
                                  std::to_string(first.bytes) + " bytes over " +
                                  std::to_string(ranks.size()) + " ranks is not possible for its type");
    return false;
  }
  return true;
}

namespace {

/// Accumulates block-wise on the stack: reads each member once, writes each target once.
template <class T, bool Max, class At, class Store>
void reduce(uint64_t begin, uint64_t end, uint32_t members, At at, Store store) {
  constexpr uint64_t kBlock = 1024;
  T sum[kBlock];
  for (uint64_t i = begin; i < end; i += kBlock) {
    uint64_t n = std::min(kBlock, end - i);
    std::memcpy(sum, at(0) + i, n * sizeof(T));
    for (uint32_t m = 1; m < members; ++m) {
      const T *other = at(m) + i;
      for (uint64_t j = 0; j < n; ++j)
        // A NaN of the later member is kept: the comparison is false for it.
        sum[j] = Max ? (sum[j] >= other[j] || sum[j] != sum[j] ? sum[j] : other[j]) : sum[j] + other[j];
    }
    store(i, sum, n * sizeof(T));
  }
}

} // namespace

/// Does part `index` of `count` of the work of all members.
void Group::part(uint32_t index, uint32_t count) noexcept {
  const Request &first = slots[0].request;
  auto members = static_cast<uint32_t>(ranks.size());
  auto doReduce = [&]<class T, bool Max>() {
    auto at = [&](uint32_t m) { return reinterpret_cast<const T *>(slots[m].request.buffer); };
    uint64_t n = first.bytes / sizeof(T);
    if (first.kind == CollectiveKind::ReduceScatter) {
      uint64_t slot = n / members;
      for (uint32_t m = index; m < members; m += count)
        reduce<T, Max>(m * slot, (m + 1) * slot, members, at, [&](uint64_t i, const T *sum, size_t bytes) {
          std::memcpy(slots[m].request.buffer + i * sizeof(T), sum, bytes);
        });
      return;
    }
    // Whole cache lines per part.
    uint64_t lines = (n + 15) / 16;
    uint64_t begin = std::min(n, lines * index / count * 16),
             end = std::min(n, lines * (index + 1) / count * 16);
    reduce<T, Max>(begin, end, members, at, [&](uint64_t i, const T *sum, size_t bytes) {
      for (uint32_t m = 0; m < members; ++m)
        std::memcpy(slots[m].request.buffer + i * sizeof(T), sum, bytes);
    });
  };
  switch (first.kind) {
  case CollectiveKind::AllGather: {
    uint64_t slot = first.bytes / members;
    for (uint32_t m = index; m < members; m += count)
      for (uint32_t to = 0; to < members; ++to)
        if (to != m)
          std::memcpy(slots[to].request.buffer + m * slot, slots[m].request.buffer + m * slot, slot);
    break;
  }
  case CollectiveKind::AllReduceMax:
    first.dtype == DType::F32 ? doReduce.template operator()<float, true>()
                              : doReduce.template operator()<double, true>();
    break;
  default:
    first.dtype == DType::F32 ? doReduce.template operator()<float, false>()
                              : doReduce.template operator()<double, false>();
    break;
  }
}

void Group::run(uint32_t member, const Request &request) noexcept {
  if (ranks.size() == 1)
    return;
  // Below this a second meeting costs more than the work: the last to arrive does all.
  constexpr uint64_t kSmall = 16 << 10;
  Slot &own = slots[member];
  own.request = request;
  own.entered.store(own.entered.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  auto members = static_cast<uint32_t>(ranks.size());
  uint32_t current;
  if (arrive(current)) {
    if (!agree())
      return;
    alone = request.bytes <= kSmall;
    if (alone)
      part(0, 1);
    release();
  } else if (!await(current)) {
    return;
  }
  if (!alone) {
    part(member, members);
    if (arrive(current))
      release();
    else if (!await(current))
      return;
  }
  own.left.store(own.left.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::vector<uint32_t> Group::missing(uint32_t member) const {
  std::vector<uint32_t> result;
  uint64_t entered = slots[member].entered.load(std::memory_order_acquire);
  if (entered == slots[member].left.load(std::memory_order_acquire))
    return result;
  for (size_t i = 0; i < ranks.size(); ++i)
    if (slots[i].entered.load(std::memory_order_acquire) < entered)
      result.push_back(ranks[i]);
  return result;
}

} // namespace hocket::comm::local
