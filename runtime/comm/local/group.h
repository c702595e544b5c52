//===- group.h - Collectives among threads of one process -------------------===//
//
// Algorithm "direct": members publish their buffers and meet; member i then
// computes part i for everybody, adding in member order.  The order of additions
// depends on nothing but the members, so every run has the same bits.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/device/gate.h"
#include "runtime/format/plan.h"

#include <memory>
#include <vector>

namespace hocket::comm::local {

struct Request {
  format::CollectiveKind kind = format::CollectiveKind::AllReduceSum;
  format::DType dtype = format::DType::F32;
  std::byte *buffer = nullptr;
  uint64_t bytes = 0;
  uint32_t name = 0;
};

class Group {
public:
  Group(std::string name, std::vector<uint32_t> ranks, device::Fault &fault);

  /// Blocks until member `i`'s part of the collective is complete, or the run failed.
  void run(uint32_t member, const Request &request) noexcept;

  const std::vector<uint32_t> &members() const { return ranks; }
  /// Ranks that have entered fewer collectives than `member`, when it is inside one.
  std::vector<uint32_t> missing(uint32_t member) const;

private:
  struct alignas(64) Slot {
    Request request;
    std::atomic<uint64_t> entered{0}, left{0};
  };
  /// True for the member that arrived last, before it releases the others.
  bool arrive(uint32_t &generation) noexcept;
  void release() noexcept;
  bool await(uint32_t generation) noexcept;
  /// Raises a fault when the members' requests differ or are not possible.
  bool agree() noexcept;
  void part(uint32_t index, uint32_t count) noexcept;

  std::string name;
  std::vector<uint32_t> ranks;
  device::Fault &fault;
  std::unique_ptr<Slot[]> slots;
  alignas(64) std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> generation{0};
  bool alone = false; ///< the last to arrive did all of it; written before release
  device::Gate gate;
};

/// "all_reduce_sum" and so on: the kinds as the reports name them.
const char *kindName(format::CollectiveKind kind);

} // namespace hocket::comm::local
