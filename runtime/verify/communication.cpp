//===- communication.cpp - Matching and the rendezvous graph over classes ---===//
//
// Nodes are the communication operations (or groups) of each class's unrolled
// list; edges are stream order, record -> wait, and matching: a collective
// completes when all classes that share its group have reached it, a send when
// the receive was reached and the reverse.  The step list is taken twice.  A
// simulation decides whether the graph is acyclic: run every stream as far as
// it goes; if anything is left, the waits that are left form a cycle.
//
// Classes decide for ranks exactly: all ranks of a class run one program, and
// transfers inside a class are refused (program.cpp), so that a rank is never
// ahead of what its class allows nor behind it.
//
//===----------------------------------------------------------------------===//

#include "runtime/verify/context.h"
#include "runtime/verify/unroll.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

namespace hocket::verify {

namespace {

/// Where an operation stands: class and instruction.
struct Site {
  uint32_t cls, instr;
};

/// Classes that meet in one group of a communicator, ascending.
struct Meeting {
  uint32_t comm;
  std::vector<uint32_t> classes;
  std::vector<uint32_t> arrived; ///< by number of the operation: classes that reached it
};

/// Transfers from one class to another on one communicator at one distance.
struct Channel {
  uint32_t comm, sender, receiver;
  std::vector<Site> sends, receives;
  std::vector<std::pair<uint32_t, uint32_t>> sendNode, receiveNode; ///< (stream, position)
  uint32_t sent = 0, received = 0;                                  ///< reached so far
};

struct Operation {
  uint32_t instr;
  uint32_t number = 0;                                 ///< on its communicator, for collectives
  std::vector<std::pair<uint32_t, uint32_t>> channels; ///< (channel, number in it), for transfers
};

/// An element of a stream's queue.
struct Node {
  enum Kind : uint8_t { Comm, Record, Wait } kind = Comm;
  bool reached = false;
  uint32_t first = 0, count = 0; ///< Comm: operations; Record, Wait: `first` is the record's number
};

struct ClassTrace {
  std::vector<std::vector<Node>> queues; ///< one per stream
  std::vector<size_t> head;
  std::vector<Operation> ops;
  std::vector<bool> recordDone;
  std::vector<std::pair<uint32_t, uint32_t>> recordNode; ///< (stream, position)
  std::map<uint32_t, std::vector<Site>> onComm;          ///< collectives by communicator
  std::map<uint32_t, std::vector<std::pair<uint32_t, uint32_t>>> commNode;
};

class ListCheck {
public:
  ListCheck(Context &cx, const char *name, std::vector<ListEntry> ClassProgram::*list, int runs)
      : cx(cx), plan(cx.plan), name(name), list(list), runs(runs) {}

  void run() {
    findMeetings();
    for (uint32_t i = 0; i < plan.classes.size(); ++i)
      trace(i);
    compareSequences();
    compareChannels();
    if (!cx.findings.any())
      simulate();
  }

private:
  Context &cx;
  const Plan &plan;
  const char *name;
  std::vector<ListEntry> ClassProgram::*list;
  int runs;

  std::vector<Meeting> meetings;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> meetingsOf; ///< (communicator, class)
  std::vector<Channel> channels;
  std::map<std::array<int64_t, 4>, uint32_t> channelOf; ///< communicator, sender, receiver, distance
  std::map<std::array<int64_t, 3>, std::vector<uint32_t>> peersOf; ///< class, axis, distance
  std::vector<ClassTrace> traces;
  std::deque<std::pair<uint32_t, uint32_t>> work; ///< (class, stream) that may go on

  void findMeetings();
  const std::vector<uint32_t> &peers(uint32_t cls, uint32_t axis, int32_t distance);
  uint32_t channel(uint32_t comm, uint32_t sender, uint32_t receiver, int32_t distance);
  void trace(uint32_t cls);
  Operation operation(uint32_t cls, uint32_t instr, std::pair<uint32_t, uint32_t> node);
  void compareSequences();
  void compareChannels();
  void simulate();
  void advance(uint32_t cls, uint32_t stream);
  void reach(uint32_t cls, Node &node);
  bool complete(uint32_t cls, const Node &node) const;
  bool complete(uint32_t cls, const Operation &op) const;
  void wake(uint32_t cls);
  void reportCycle();
  std::pair<uint32_t, uint32_t> blocker(uint32_t cls, const Node &node, std::string &why) const;
};

/// A group joins the ranks that differ on the communicator's axes only.
void ListCheck::findMeetings() {
  for (uint32_t k = 0; k < plan.communicators.size(); ++k) {
    const Communicator &comm = plan.communicators[k];
    if (comm.pair)
      continue;
    std::map<uint32_t, std::vector<uint32_t>> groups; // by the lowest rank of the group
    for (uint32_t r = 0; r < cx.classOf.size(); ++r) {
      uint32_t base = r;
      for (uint32_t a : comm.axes)
        if (plan.axes[a].size > 1)
          base -= r / plan.axes[a].stride % plan.axes[a].size * plan.axes[a].stride;
      std::vector<uint32_t> &g = groups[base];
      if (g.empty() || g.back() != cx.classOf[r])
        g.push_back(cx.classOf[r]);
    }
    std::set<std::vector<uint32_t>> distinct;
    for (auto &[base, g] : groups) {
      std::sort(g.begin(), g.end());
      g.erase(std::unique(g.begin(), g.end()), g.end());
      distinct.insert(std::move(g));
    }
    for (const std::vector<uint32_t> &g : distinct) {
      for (uint32_t cls : g)
        meetingsOf[{k, cls}].push_back(uint32_t(meetings.size()));
      meetings.push_back({k, g, {}});
    }
  }
}

/// Classes of the ranks `distance` further on `axis`, ascending; inside the mesh by program.cpp.
const std::vector<uint32_t> &ListCheck::peers(uint32_t cls, uint32_t axis, int32_t distance) {
  auto [it, fresh] = peersOf.try_emplace({int64_t(cls), int64_t(axis), int64_t(distance)});
  if (fresh) {
    std::set<uint32_t> found;
    for (uint32_t r : cx.ranksOf[cls])
      found.insert(cx.classOf[size_t(int64_t(r) + int64_t(distance) * plan.axes[axis].stride)]);
    it->second.assign(found.begin(), found.end());
  }
  return it->second;
}

uint32_t ListCheck::channel(uint32_t comm, uint32_t sender, uint32_t receiver, int32_t distance) {
  auto [it, fresh] = channelOf.try_emplace(
      {int64_t(comm), int64_t(sender), int64_t(receiver), int64_t(distance)}, uint32_t(channels.size()));
  if (fresh) {
    Channel ch;
    ch.comm = comm, ch.sender = sender, ch.receiver = receiver;
    channels.push_back(std::move(ch));
  }
  return it->second;
}

Operation ListCheck::operation(uint32_t cls, uint32_t instr, std::pair<uint32_t, uint32_t> node) {
  const Instr &in = plan.classes[cls].instrs[instr];
  ClassTrace &t = traces[cls];
  Operation op;
  op.instr = instr;
  if (in.op == Op::Collective) {
    op.number = uint32_t(t.onComm[in.index].size());
    t.onComm[in.index].push_back({cls, instr});
    t.commNode[in.index].push_back(node);
    return op;
  }
  bool send = in.op == Op::Send;
  for (uint32_t peer : peers(cls, plan.communicators[in.index].axes[0], in.arg)) {
    uint32_t id = send ? channel(in.index, cls, peer, in.arg) : channel(in.index, peer, cls, -in.arg);
    Channel &ch = channels[id];
    op.channels.push_back({id, uint32_t((send ? ch.sends : ch.receives).size())});
    (send ? ch.sends : ch.receives).push_back({cls, instr});
    (send ? ch.sendNode : ch.receiveNode).push_back(node);
  }
  return op;
}

/// Queues of communication, records and waits; a wait of nothing is left out.
void ListCheck::trace(uint32_t cls) {
  const ClassProgram &c = plan.classes[cls];
  ClassTrace &t = traces.emplace_back();
  t.queues.resize(c.streams.size());
  t.head.resize(c.streams.size());
  std::unordered_map<uint64_t, uint32_t> lastRecord;
  uint32_t groupLeft = 0;
  for (int run = 0; run < runs; ++run)
    unroll(c, c.*list, [&](const Point &p) {
      const Instr &in = c.instrs[p.instr];
      std::vector<Node> &queue = t.queues[in.stream];
      auto here = [&] { return std::pair(uint32_t(in.stream), uint32_t(queue.size())); };
      Node node;
      switch (in.op) {
      case Op::Group:
        groupLeft = uint32_t(in.arg);
        node.first = uint32_t(t.ops.size());
        queue.push_back(node);
        return true;
      case Op::Collective:
      case Op::Send:
      case Op::Recv:
        if (groupLeft) {
          --groupLeft;
          t.ops.push_back(operation(cls, p.instr, {in.stream, uint32_t(queue.size() - 1)}));
          ++queue.back().count;
          return true;
        }
        node.first = uint32_t(t.ops.size()), node.count = 1;
        t.ops.push_back(operation(cls, p.instr, here()));
        break;
      case Op::Record:
        node.kind = Node::Record, node.first = uint32_t(t.recordNode.size());
        lastRecord[eventOf(in, (c.*list)[p.entry])] = node.first;
        t.recordNode.push_back(here());
        break;
      case Op::Wait: {
        auto it = lastRecord.find(eventOf(in, (c.*list)[p.entry]));
        if (it == lastRecord.end())
          return true;
        node.kind = Node::Wait, node.first = it->second;
        break;
      }
      default:
        return true;
      }
      queue.push_back(node);
      return true;
    });
  t.recordDone.resize(t.recordNode.size());
}

void ListCheck::compareSequences() {
  for (const Meeting &m : meetings) {
    const std::vector<Site> &a = traces[m.classes[0]].onComm[m.comm];
    for (size_t k = 1; k < m.classes.size() && !cx.findings.full(); ++k) {
      const std::vector<Site> &b = traces[m.classes[k]].onComm[m.comm];
      std::string who = "communicator " + quote(plan.communicators[m.comm].name) + ", list " + name + ": ";
      size_t i = 0;
      for (; i < std::min(a.size(), b.size()); ++i) {
        const Instr &x = plan.classes[a[i].cls].instrs[a[i].instr],
                    &y = plan.classes[b[i].cls].instrs[b[i].instr];
        if (x.arg != y.arg || x.bytes != y.bytes || x.flags != y.flags) {
          cx.instrFinding(b[i].cls, b[i].instr,
                          who + "operation " + num(i) + " is " + describe(y) + ", in class " +
                              quote(cx.className(a[i].cls)) + " it is " + describe(x) + " (" +
                              cx.place(a[i].cls, a[i].instr) + ")",
                          "equal sequences of operations in all classes of a group");
          break;
        }
      }
      if (i == std::min(a.size(), b.size()) && a.size() != b.size())
        cx.classFinding(m.classes[k],
                        who + num(b.size()) + " operations, class " + quote(cx.className(m.classes[0])) +
                            " has " + num(a.size()),
                        "equal sequences of operations in all classes of a group");
    }
  }
}

void ListCheck::compareChannels() {
  for (const Channel &ch : channels) {
    std::string who = "communicator " + quote(plan.communicators[ch.comm].name) + ", list " + name +
                      ": class " + quote(cx.className(ch.sender)) + " sends to class " +
                      quote(cx.className(ch.receiver)) + " ";
    if (ch.sends.size() != ch.receives.size()) {
      cx.classFinding(ch.receiver,
                      who + num(ch.sends.size()) + " times, which receives " + num(ch.receives.size()) +
                          " times",
                      "a receive for each send");
      continue;
    }
    for (size_t i = 0; i < ch.sends.size(); ++i) {
      const Instr &x = plan.classes[ch.sender].instrs[ch.sends[i].instr];
      const Instr &y = plan.classes[ch.receiver].instrs[ch.receives[i].instr];
      if (x.bytes != y.bytes) {
        cx.instrFinding(ch.receiver, ch.receives[i].instr,
                        who + num(x.bytes) + " bytes as number " + num(i) + " (" +
                            cx.place(ch.sender, ch.sends[i].instr) + "), this receives " + num(y.bytes),
                        "equal bytes in the same order");
        break;
      }
    }
  }
}

bool ListCheck::complete(uint32_t cls, const Operation &op) const {
  const Instr &in = plan.classes[cls].instrs[op.instr];
  if (in.op == Op::Collective) {
    for (uint32_t id : meetingsOf.at({in.index, cls})) {
      const Meeting &m = meetings[id];
      if (m.classes.size() > 1 && (op.number >= m.arrived.size() || m.arrived[op.number] < m.classes.size()))
        return false;
    }
    return true;
  }
  for (auto [id, number] : op.channels)
    if ((in.op == Op::Send ? channels[id].received : channels[id].sent) <= number)
      return false;
  return true;
}

bool ListCheck::complete(uint32_t cls, const Node &node) const {
  for (uint32_t i = 0; i < node.count; ++i)
    if (!complete(cls, traces[cls].ops[node.first + i]))
      return false;
  return true;
}

void ListCheck::wake(uint32_t cls) {
  for (uint32_t s = 0; s < traces[cls].queues.size(); ++s)
    work.push_back({cls, s});
}

/// A stream has come to a communication node: tells the partners.
void ListCheck::reach(uint32_t cls, Node &node) {
  node.reached = true;
  for (uint32_t i = 0; i < node.count; ++i) {
    const Operation &op = traces[cls].ops[node.first + i];
    const Instr &in = plan.classes[cls].instrs[op.instr];
    if (in.op == Op::Collective) {
      for (uint32_t id : meetingsOf.at({in.index, cls})) {
        Meeting &m = meetings[id];
        if (m.classes.size() == 1)
          continue;
        if (m.arrived.size() <= op.number)
          m.arrived.resize(op.number + 1);
        if (++m.arrived[op.number] == m.classes.size())
          for (uint32_t other : m.classes)
            work.push_back({other, traces[other].commNode.at(in.index)[op.number].first});
      }
      continue;
    }
    for (auto [id, number] : op.channels) {
      Channel &ch = channels[id];
      bool send = in.op == Op::Send;
      (send ? ch.sent : ch.received) = number + 1;
      work.push_back({send ? ch.receiver : ch.sender, (send ? ch.receiveNode : ch.sendNode)[number].first});
    }
  }
}

void ListCheck::advance(uint32_t cls, uint32_t stream) {
  ClassTrace &t = traces[cls];
  std::vector<Node> &queue = t.queues[stream];
  for (size_t &head = t.head[stream]; head < queue.size(); ++head) {
    Node &node = queue[head];
    if (node.kind == Node::Record) {
      t.recordDone[node.first] = true;
      wake(cls);
    } else if (node.kind == Node::Wait) {
      if (!t.recordDone[node.first])
        return;
    } else {
      if (!node.reached)
        reach(cls, node);
      if (!complete(cls, node))
        return;
    }
  }
}

void ListCheck::simulate() {
  for (uint32_t i = 0; i < traces.size(); ++i)
    wake(i);
  while (!work.empty()) {
    auto [cls, stream] = work.front();
    work.pop_front();
    advance(cls, stream);
  }
  for (const ClassTrace &t : traces)
    for (size_t s = 0; s < t.queues.size(); ++s)
      if (t.head[s] < t.queues[s].size())
        return reportCycle();
}

/// The (class, stream) that `node`, which cannot go on, waits for.
std::pair<uint32_t, uint32_t> ListCheck::blocker(uint32_t cls, const Node &node, std::string &why) const {
  const ClassTrace &t = traces[cls];
  if (node.kind == Node::Wait) {
    why = "a wait for an event of stream ";
    uint32_t stream = t.recordNode[node.first].first;
    why += quote(plan.classes[cls].streams[stream]);
    return {cls, stream};
  }
  for (uint32_t i = 0; i < node.count; ++i) {
    const Operation &op = t.ops[node.first + i];
    if (complete(cls, op))
      continue;
    const Instr &in = plan.classes[cls].instrs[op.instr];
    why = cx.place(cls, op.instr) + " on communicator " + quote(plan.communicators[in.index].name);
    if (in.op == Op::Collective) {
      for (uint32_t id : meetingsOf.at({in.index, cls}))
        for (uint32_t other : meetings[id].classes) {
          auto [stream, position] = traces[other].commNode.at(in.index)[op.number];
          if (!traces[other].queues[stream][position].reached)
            return {other, stream};
        }
    } else {
      for (auto [id, number] : op.channels) {
        const Channel &ch = channels[id];
        bool send = in.op == Op::Send;
        if ((send ? ch.received : ch.sent) <= number)
          return {send ? ch.receiver : ch.sender, (send ? ch.receiveNode : ch.sendNode)[number].first};
      }
    }
  }
  return {cls, 0}; // not reached: an incomplete node has an incomplete operation
}

/// Follows what waits for what from the first stream that is stuck until it closes.
void ListCheck::reportCycle() {
  std::pair<uint32_t, uint32_t> at{0, 0};
  for (uint32_t i = 0; i < traces.size(); ++i)
    for (uint32_t s = 0; s < traces[i].queues.size(); ++s)
      if (traces[i].head[s] < traces[i].queues[s].size()) {
        at = {i, s};
        i = uint32_t(traces.size() - 1);
        break;
      }
  std::vector<std::pair<uint32_t, uint32_t>> path;
  std::vector<std::string> words;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    const ClassTrace &t = traces[at.first];
    std::string why;
    auto next = blocker(at.first, t.queues[at.second][t.head[at.second]], why);
    path.push_back(at);
    words.push_back("class " + quote(cx.className(at.first)) + " stream " +
                    quote(plan.classes[at.first].streams[at.second]) + " is at " + why);
    at = next;
  }
  size_t begin = size_t(std::find(path.begin(), path.end(), at) - path.begin());
  std::string text = std::string("cyclic wait in list ") + name + ": ";
  for (size_t i = begin; i < words.size() && i < begin + 8; ++i)
    text += words[i] + ", which waits for ";
  text += "class " + quote(cx.className(at.first)) + " stream " +
          quote(plan.classes[at.first].streams[at.second]) + " again";
  if (words.size() - begin > 8)
    text += " (over " + num(words.size() - begin - 8) + " more)";
  cx.plainFinding(std::move(text), "issue orders in which some operation can always complete, or groups");
}

} // namespace

void verifyCommunication(Context &cx) {
  ListCheck(cx, "init", &ClassProgram::init, 1).run();
  ListCheck(cx, "step", &ClassProgram::step, 2).run();
  ListCheck(cx, "eval", &ClassProgram::eval, 2).run();
}

} // namespace hocket::verify
