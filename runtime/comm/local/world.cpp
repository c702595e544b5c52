#include "runtime/comm/local/world.h"

#include "runtime/error.h"
#include "runtime/ranks.h"

#include <cstddef>
#include <cstring>
#include <deque>
#include <set>

namespace hocket::comm::local {

using format::Op;

World::World(const format::Plan &p, device::Fault &f) : plan(p), fault(f) {
  uint32_t ranks = plan.ranks();
  bells.reset(new device::Gate[ranks]);
  membership.resize(plan.communicators.size());
  for (uint32_t c = 0; c < plan.communicators.size(); ++c) {
    const format::Communicator &communicator = plan.communicators[c];
    if (communicator.pair)
      continue;
    // Ranks that agree on all axes outside, in rank order.
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> members;
    for (uint32_t r = 0; r < ranks; ++r) {
      std::vector<uint32_t> key = coordinates(plan, r);
      for (uint32_t a : communicator.axes)
        key[a] = 0;
      members[key].push_back(r);
    }
    membership[c].resize(ranks);
    for (auto &[key, list] : members) {
      groups.push_back(std::make_unique<Group>(communicator.name, list, fault));
      for (uint32_t i = 0; i < list.size(); ++i)
        membership[c][list[i]] = {groups.back().get(), i};
    }
  }
  for (uint32_t r = 0; r < ranks; ++r) {
    const format::ClassProgram &program = plan.classes[classOf(plan, r)];
    for (const format::Instr &i : program.instrs) {
      if (i.op == Op::Group && i.arg > int64_t(kMaxGroup))
        throw Error(kExitIncompatible, "class '" + program.name + "' has a group of " +
                                           std::to_string(i.arg) + " transfers; this runtime takes " +
                                           std::to_string(kMaxGroup));
      if (i.op != Op::Send && i.op != Op::Recv)
        continue;
      uint32_t peer = hocket::peer(plan, r, i.index, i.arg);
      auto key = i.op == Op::Send ? std::tuple(i.index, r, peer) : std::tuple(i.index, peer, r);
      Channel *&channel = channelOf[key];
      if (!channel) {
        channels.push_back(std::make_unique<Channel>());
        channel = channels.back().get();
      }
    }
  }
}

namespace {

/// One rank's end of a channel.
struct End {
  bool send = false;
  uint32_t communicator = 0, peer = 0;
  Channel *channel = nullptr;
  std::atomic<uint32_t> receiving{0}; ///< receives begun and not complete
};

/// A transfer as the worker sees it.
struct Leg {
  End *end = nullptr;
  void *buffer = nullptr;
  uint64_t bytes = 0;
  uint32_t name = 0;
};

/// The payload of an exchange; only `count` legs are stored on the stream.
struct Exchange {
  uint64_t count = 0;
  Leg legs[kMaxGroup];
};
static_assert(sizeof(Exchange) <= device::kMaxPayload);

} // namespace

class LocalCommunicator final : public Communicator {
public:
  LocalCommunicator(World &w, uint32_t r) : world(w), rank(r) {
    for (auto &[key, channel] : world.channelOf) {
      auto [communicator, from, to] = key;
      if (from == rank)
        add(true, communicator, to, channel);
      if (to == rank)
        add(false, communicator, from, channel);
    }
  }

  void collective(device::Stream &stream, uint32_t c, format::CollectiveKind kind, format::DType dtype,
                  void *buffer, uint64_t bytes, uint32_t name) override {
    Request request{kind, dtype, static_cast<std::byte *>(buffer), bytes, name};
    auto run = [](void *context, void *payload) {
      auto *place = static_cast<World::Membership *>(context);
      place->group->run(place->member, *static_cast<Request *>(payload));
    };
    stream.host({run, &world.membership[c][rank], &request, sizeof request, kindName(kind)}, name);
  }

  void exchange(device::Stream &stream, std::span<const Transfer> transfers) override {
    Exchange work;
    for (const Transfer &t : transfers) {
      uint32_t peer = hocket::peer(world.plan, rank, t.communicator, t.delta);
      for (End &e : ends)
        if (e.send == t.send && e.communicator == t.communicator && e.peer == peer)
          work.legs[work.count++] = {&e, t.buffer, t.bytes, t.name};
    }
    auto run = [](void *context, void *payload) {
      static_cast<LocalCommunicator *>(context)->run(*static_cast<Exchange *>(payload));
    };
    const char *kind = transfers.size() > 1 ? "group" : transfers[0].send ? "send" : "recv";
    auto bytes = static_cast<uint32_t>(offsetof(Exchange, legs) + work.count * sizeof(Leg));
    stream.host({run, this, &work, bytes, kind}, transfers[0].name);
  }

  std::string waitsFor() const override {
    std::set<uint32_t> ranks;
    for (const auto &places : world.membership)
      if (!places.empty())
        for (uint32_t r : places[rank].group->missing(places[rank].member))
          ranks.insert(r);
    for (const End &e : ends)
      if (e.send ? e.channel->postedCount() != e.channel->takenCount()
                 : e.receiving.load(std::memory_order_acquire) != 0)
        ranks.insert(e.peer);
    std::string text;
    for (uint32_t r : ranks)
      text += (!text.empty() ? ", " : ranks.size() > 1 ? "ranks " : "rank ") + std::to_string(r);
    return text;
  }

private:
  void add(bool send, uint32_t communicator, uint32_t peer, Channel *channel) {
    End &e = ends.emplace_back();
    e.send = send;
    e.communicator = communicator;
    e.peer = peer;
    e.channel = channel;
  }

  /// Advances every leg that can; sleeps only when none can.
  void run(Exchange &work) noexcept {
    enum State : uint8_t { Begun, Posted, Done };
    State state[kMaxGroup] = {};
    uint64_t ticket[kMaxGroup]; // value of takenCount at which a posted send is complete
    size_t open = work.count;
    for (size_t i = 0; i < work.count; ++i)
      if (!work.legs[i].end->send)
        work.legs[i].end->receiving.fetch_add(1, std::memory_order_acq_rel);
    // An open receive holds the later ones of its channel, which would take its message.
    auto held = [&](size_t i) {
      for (size_t j = 0; j < i; ++j)
        if (state[j] == Begun && work.legs[j].end == work.legs[i].end)
          return true;
      return false;
    };
    auto advance = [&] {
      bool moved = false;
      for (size_t i = 0; i < work.count; ++i) {
        Leg &leg = work.legs[i];
        Channel &channel = *leg.end->channel;
        if (state[i] == Begun && leg.end->send) {
          channel.post({leg.buffer, leg.bytes, leg.name});
          ticket[i] = channel.postedCount();
          state[i] = Posted;
          world.bells[leg.end->peer].notify();
          moved = true;
        } else if (state[i] == Begun && !held(i)) {
          const Channel::Post *post = channel.open();
          if (!post)
            continue;
          if (post->bytes != leg.bytes) {
            mismatch(leg, *post);
            return true;
          }
          std::memcpy(leg.buffer, post->data, leg.bytes);
          channel.take();
          leg.end->receiving.fetch_sub(1, std::memory_order_acq_rel);
          state[i] = Done;
          --open;
          world.bells[leg.end->peer].notify();
          moved = true;
        }
        if (state[i] == Posted && channel.takenCount() >= ticket[i]) {
          state[i] = Done;
          --open;
          moved = true;
        }
      }
      return moved;
    };
    while (open && !world.fault.raised())
      if (!world.bells[rank].wait(advance, world.fault))
        return;
  }

  void mismatch(const Leg &leg, const Channel::Post &post) noexcept {
    world.fault.raise(kExitRunTime,
                      "rank " + std::to_string(rank) + " receives " + std::to_string(leg.bytes) +
                          " bytes ('" + world.plan.strings[leg.name] + "'), rank " +
                          std::to_string(leg.end->peer) + " sends " + std::to_string(post.bytes) + " ('" +
                          world.plan.strings[post.name] + "')");
  }

  World &world;
  uint32_t rank;
  std::deque<End> ends;
};

std::unique_ptr<Communicator> World::join(uint32_t rank) {
  return std::make_unique<LocalCommunicator>(*this, rank);
}

} // namespace hocket::comm::local
