//===- world.h - Ranks of one process: who talks to whom --------------------===//
//
// Builds the groups and channels of a plan once; each rank's communicator then
// enqueues on its streams.  Transfers are rendezvous by one copy, done by the
// receiver.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/comm/communicator.h"
#include "runtime/comm/local/group.h"

#include <map>
#include <tuple>

namespace hocket::comm::local {

/// Sends from one rank to another over one communicator, in order.
class Channel {
public:
  struct Post {
    const void *data = nullptr;
    uint64_t bytes = 0;
    uint32_t name = 0;
  };
  /// Posts that may be open at once.  An exchange ends only when all of its posts are
  /// taken and a channel has one sending stream, so a group's worth is enough.
  static constexpr uint32_t kDepth = kMaxGroup;
  void post(const Post &p) noexcept {
    uint64_t n = posted.load(std::memory_order_relaxed);
    posts[n % kDepth] = p;
    posted.store(n + 1, std::memory_order_release);
  }
  /// The oldest open post, or null.
  const Post *open() const noexcept {
    uint64_t n = taken.load(std::memory_order_relaxed);
    return posted.load(std::memory_order_acquire) == n ? nullptr : &posts[n % kDepth];
  }
  void take() noexcept { taken.store(taken.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  uint64_t postedCount() const noexcept { return posted.load(std::memory_order_relaxed); }
  uint64_t takenCount() const noexcept { return taken.load(std::memory_order_acquire); }

private:
  alignas(64) std::atomic<uint64_t> posted{0};
  Post posts[kDepth];
  alignas(64) std::atomic<uint64_t> taken{0};
};

class World final : public comm::World {
public:
  World(const format::Plan &plan, device::Fault &fault);
  std::unique_ptr<Communicator> join(uint32_t rank) override;

private:
  friend class LocalCommunicator;
  const format::Plan &plan;
  device::Fault &fault;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<std::unique_ptr<Channel>> channels;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Channel *> channelOf; ///< (communicator, from, to)
  /// [communicator][rank]: the group and the place in it; null for pair communicators.
  struct Membership {
    Group *group = nullptr;
    uint32_t member = 0;
  };
  std::vector<std::vector<Membership>> membership;
  std::unique_ptr<device::Gate[]> bells; ///< one per rank: something posted to it or taken from it
};

} // namespace hocket::comm::local
