#include "compiler/allocate/placement.h"
#include "dialects/par/Par.h"

using namespace mlir;

namespace hocket::allocate {

int Placement::find(int n) const {
  while (table[n].parent != n)
    n = table[n].parent = table[table[n].parent].parent;
  return n;
}

int Placement::newNode(uint64_t bytes) {
  Node node;
  node.parent = table.size();
  node.bytes = bytes;
  table.push_back(node);
  return table.size() - 1;
}

bool Placement::meet(int a, int b) const {
  for (Interval x : table[find(a)].lives)
    for (Interval y : table[find(b)].lives)
      if (std::max(x.begin, y.begin) <= std::min(x.end, y.end))
        return true;
  return false;
}

bool Placement::canFix(int a, const Spot &spot) const {
  a = find(a);
  if (table[a].block >= 0)
    return false;
  if (table[a].fixed)
    return sameFixed(*table[a].fixed, spot);
  for (int i = 0, n = table.size(); i < n; ++i)
    if (find(i) == i && i != a && table[i].fixed && table[i].fixed->home == spot.home && meet(i, a))
      return false;
  return true;
}

bool Placement::canMerge(int a, int b) const {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  const Node &x = table[a], &y = table[b];
  if (x.block >= 0 || y.block >= 0 || meet(a, b))
    return false;
  if (x.fixed && y.fixed)
    return sameFixed(*x.fixed, *y.fixed);
  if (x.fixed)
    return canFix(b, *x.fixed);
  if (y.fixed)
    return canFix(a, *y.fixed);
  return true;
}

void Placement::merge(int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  if (!table[a].fixed)
    table[a].fixed = table[b].fixed;
  if (table[a].block < 0)
    table[a].block = table[b].block;
  table[a].bytes = std::max(table[a].bytes, table[b].bytes);
  table[a].lives.insert(table[a].lives.end(), table[b].lives.begin(), table[b].lives.end());
  table[b].parent = a;
}

void Placement::addCopy(Operation *before, Value from, int toNode) {
  pending.push_back({before, from, toNode});
}

/// Positions in text order; a repeat spans its body.
void Placement::number(Block &block) {
  for (Operation &op : block) {
    int64_t begin = clock++;
    ops.push_back(&op);
    if (auto repeat = dyn_cast<sched::RepeatOp>(op)) {
      number(repeat.getBody().front());
      position[&op] = {begin, clock++};
    } else {
      position[&op] = {begin, begin};
    }
  }
}

static bool isMemory(Value v) { return isa<RankedTensorType>(v.getType()); }

/// Adds the life of `v`, whose uses outside its own block extend over the repeats they stand in.
void Placement::live(Value v) {
  auto it = nodes.find(v);
  if (it == nodes.end())
    return;
  int64_t begin, end;
  mlir::Block *home = v.getParentBlock();
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    auto repeat = dyn_cast<sched::RepeatOp>(home->getParentOp());
    begin = repeat ? position[repeat].begin : -1;
    if (repeat && argument.getArgNumber() >= repeat.getCarries()) {
      table[find(it->second)].lives.push_back(position[repeat]);
      return;
    }
  } else {
    begin = position[v.getDefiningOp()].end;
  }
  end = begin;
  for (OpOperand &use : v.getUses()) {
    Operation *user = use.getOwner();
    Operation *outer = user;
    while (outer->getBlock() != home)
      outer = outer->getParentOp();
    int64_t last = position[outer].end;
    if (outer == user) {
      auto repeat = dyn_cast<sched::RepeatOp>(user);
      if (repeat && use.getOperandNumber() < repeat.getCarries())
        last = position[user].begin - 1; // the carry takes over when the repeat begins
      else if (isa<sched::YieldOp>(user) && isa<sched::TaskOp>(user->getParentOp()))
        last = clock;
    }
    end = std::max(end, last);
  }
  table[find(it->second)].lives.push_back({begin, end});
}

/// The home of each stacked value: its argument's, the operand's it overwrites, the one it
/// is yielded to, or a region of its own that lives for the task.
LogicalResult Placement::stackHomes() {
  Operation *taskYield = task.getBody().front().getTerminator();
  WalkResult walk = task->walk<WalkOrder::PreOrder>([&](sched::RepeatOp repeat) {
    unsigned carries = repeat.getCarries(), first = carries + repeat.getShared();
    for (unsigned i = first; i < repeat.getInputs().size(); ++i) {
      Value operand = repeat.getInputs()[i];
      auto it = nodes.find(operand);
      if (it == nodes.end() || !table[find(it->second)].fixed || !table[find(it->second)].fixed->home ||
          table[find(it->second)].fixed->slice) {
        repeat.emitOpError("operand ") << i << " is stacked but no home or earlier repeat made it";
        return WalkResult::interrupt();
      }
      int node = newNode(0);
      table[node].fixed = Spot{table[find(it->second)].fixed->home, true, 0};
      nodes[repeat.getBody().getArgument(i)] = node;
    }
    for (unsigned r = carries; r < repeat.getResults().size(); ++r) {
      Value result = repeat.getResults()[r];
      StringAttr home;
      for (size_t p = 0; p + 1 < repeat.getInplace().size(); p += 2)
        if (repeat.getInplace()[p] == int64_t(r))
          home = table[find(nodes[repeat.getInputs()[repeat.getInplace()[p + 1]]])].fixed->home;
      for (OpOperand &use : result.getUses())
        if (!home && use.getOwner() == taskYield)
          home = cast<StringAttr>(task.getOutputs()[use.getOperandNumber()]);
      if (!home) {
        std::string name =
            ("temp " + task.getSymName() + " " + Twine(position[repeat].begin) + "." + Twine(r)).str();
        home = StringAttr::get(task.getContext(), name);
        auto tensor = cast<RankedTensorType>(result.getType());
        Home temp;
        temp.name = name;
        temp.type = RankedTensorType::get(tensor.getShape().drop_front(), tensor.getElementType());
        temp.layered = true;
        temp.layers = repeat.getCount();
        temp.bytes = bytesOf(temp.type);
        format::Region region;
        region.name = name;
        region.kind = format::RegionKind::Scratch;
        region.layers = repeat.getCount();
        region.layerStride = alignUp(temp.bytes);
        region.bytes = region.layers * region.layerStride;
        temp.region = layout.addRegion(region);
        layout.homes.insert({home, temp});
      }
      int node = newNode(0);
      table[node].fixed = Spot{home, false, 0};
      nodes[result] = node;
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult Placement::makeNodes(Block &block) {
  auto make = [&](Value v) {
    if (isMemory(v) && !nodes.count(v))
      nodes[v] = newNode(bytesOf(v.getType()));
  };
  for (auto [name, argument] : llvm::zip(task.getInputs(), block.getArguments())) {
    make(argument);
    table[nodes[argument]].fixed = Spot{cast<StringAttr>(name), false, 0};
  }
  if (failed(stackHomes()))
    return failure();
  for (Operation *op : ops) {
    for (Value result : op->getResults())
      make(result);
    if (auto repeat = dyn_cast<sched::RepeatOp>(op)) {
      for (unsigned i = 0; i < repeat.getCarries(); ++i)
        make(repeat.getBody().getArgument(i));
      for (unsigned i = repeat.getCarries(); i < repeat.getCarries() + repeat.getShared(); ++i)
        if (isMemory(repeat.getInputs()[i]))
          nodes[repeat.getBody().getArgument(i)] = nodes[repeat.getInputs()[i]];
    }
  }
  for (auto [value, node] : SmallVector<std::pair<Value, int>>(nodes.begin(), nodes.end()))
    live(value);
  return success();
}

/// The result overwrites the operand; where the operand is needed later, or belongs to a home
/// that does not get the result, the operation works on a copy.
LogicalResult Placement::inPlace(Operation *op, Value result, Value operand) {
  int r = find(nodes[result]), o = find(nodes[operand]);
  int64_t here = position[op].begin;
  bool clobber = true;
  for (Interval life : table[o].lives)
    if (life.begin <= here && life.end > here)
      clobber = false;
  if (table[o].fixed && table[o].fixed->home) {
    // A home's content may be overwritten in place only by the home's own new value.
    StringAttr home = table[o].fixed->home;
    bool own = false;
    Value v = result;
    // Each step goes to a value made later or further out: at most as many as the task has values.
    while (v && !own) {
      Value next;
      for (OpOperand &use : v.getUses()) {
        Operation *user = use.getOwner();
        if (isa<sched::YieldOp>(user)) {
          Operation *parent = user->getParentOp();
          if (isa<sched::TaskOp>(parent))
            own |= task.getOutputs()[use.getOperandNumber()] == home;
          else if (auto repeat = dyn_cast<sched::RepeatOp>(parent))
            next = repeat.getResults()[use.getOperandNumber()];
        } else if (auto launch = dyn_cast<sched::LaunchOp>(user)) {
          for (size_t p = 0; p + 1 < launch.getInplace().size(); p += 2)
            if (launch.getInplace()[p + 1] == int64_t(use.getOperandNumber()))
              next = launch.getResults()[launch.getInplace()[p]];
        } else if (auto collective = dyn_cast<sched::CollectiveOp>(user)) {
          next = collective.getResults()[use.getOperandNumber()];
        } else if (auto repeat = dyn_cast<sched::RepeatOp>(user)) {
          for (size_t p = 0; p + 1 < repeat.getInplace().size(); p += 2)
            if (repeat.getInplace()[p + 1] == int64_t(use.getOperandNumber()))
              next = repeat.getResults()[repeat.getInplace()[p]];
        }
      }
      v = next;
    }
    clobber &= own;
    // An argument lives until its last use; the home's new value starts here.
    if (own && !clobber) {
      clobber = true;
      for (OpOperand &use : operand.getUses())
        if (use.getOwner() != op && use.getOwner()->getBlock() == op->getBlock() &&
            op->isBeforeInBlock(use.getOwner()))
          clobber = false;
    }
  }
  if (clobber) {
    merge(o, r);
    return success();
  }
  int64_t before = here;
  table[r].lives.push_back({before, before});
  addCopy(op, operand, r);
  return success();
}

LogicalResult Placement::coalesce() {
  for (Operation *op : ops) {
    if (auto launch = dyn_cast<sched::LaunchOp>(op)) {
      for (size_t p = 0; p + 1 < launch.getInplace().size(); p += 2)
        if (failed(inPlace(op, launch.getResults()[launch.getInplace()[p]],
                           launch.getInputs()[launch.getInplace()[p + 1]])))
          return failure();
    } else if (auto gemm = dyn_cast<sched::GemmOp>(op)) {
      if (gemm.getC() && failed(inPlace(op, gemm.getResult(), gemm.getC())))
        return failure();
    } else if (auto collective = dyn_cast<sched::CollectiveOp>(op)) {
      for (auto [result, operand] : llvm::zip(collective.getResults(), collective.getInputs()))
        if (failed(inPlace(op, result, operand)))
          return failure();
    }
  }
  return success();
}

/// Operands of one message lie next to each other: in their homes' region, or in one scratch block.
LogicalResult Placement::groups() {
  for (Operation *op : ops) {
    auto collective = dyn_cast<sched::CollectiveOp>(op);
    if (!collective || collective.getInputs().size() < 2)
      continue;
    unsigned fixed = 0;
    for (Value result : collective.getResults())
      fixed += bool(table[find(nodes[result])].fixed);
    if (fixed == collective.getResults().size())
      continue; // templates.cpp checks that the homes are adjacent
    if (fixed)
      return collective.emitOpError(
          "mixes values that have a home with values that have none in one message");
    blocks.push_back({});
    for (Value result : collective.getResults()) {
      int node = find(nodes[result]);
      if (table[node].block >= 0)
        return collective.emitOpError("has an operand that is part of another message");
      table[node].block = blocks.size() - 1;
      blocks.back().members.push_back(node);
    }
  }
  return success();
}

/// Computes yielded values where they are wanted, else copies them there at the end.
LogicalResult Placement::yields() {
  auto want = [&](Value v, Spot spot, Operation *yield) {
    int node = find(nodes[v]);
    if (table[node].fixed && sameFixed(*table[node].fixed, spot))
      return;
    auto argument = dyn_cast<BlockArgument>(v);
    if (!argument && canFix(node, spot)) {
      table[node].fixed = spot;
      return;
    }
    int target = newNode(bytesOf(v.getType()));
    table[target].fixed = spot;
    // A carry is copied before the body overwrites it, everything else when it is complete.
    bool carry = argument && isa<sched::RepeatOp>(argument.getOwner()->getParentOp());
    Operation *before = carry ? &argument.getOwner()->front() : yield;
    int64_t end = isa<sched::TaskOp>(yield->getParentOp()) ? clock : position[yield->getParentOp()].end;
    table[target].lives.push_back({position[before].begin, end});
    addCopy(before, v, target);
  };
  for (Operation *op : ops)
    if (auto repeat = dyn_cast<sched::RepeatOp>(op)) {
      Operation *yield = repeat.getBody().front().getTerminator();
      for (unsigned r = repeat.getCarries(); r < repeat.getResults().size(); ++r)
        want(yield->getOperand(r), Spot{table[find(nodes[repeat.getResults()[r]])].fixed->home, true, 0},
             yield);
    }
  Operation *yield = task.getBody().front().getTerminator();
  for (auto [name, v] : llvm::zip(task.getOutputs(), yield->getOperands())) {
    assert(isMemory(v) && "homes are tensors: layout.cpp, addHome");
    if (kindOf(cast<StringAttr>(name).getValue()) == "scalar" ||
        kindOf(cast<StringAttr>(name).getValue()) == "input")
      return yield->emitOpError("writes ") << name << ", which tasks only read";
    want(v, Spot{cast<StringAttr>(name), false, 0}, yield);
  }
  return success();
}

/// A carry keeps one buffer over all layers if its last use comes before its next value is made.
void Placement::carries(sched::RepeatOp repeat) {
  Operation *yield = repeat.getBody().front().getTerminator();
  const Interval span = position[repeat];
  for (unsigned c = 0; c < repeat.getCarries(); ++c) {
    Value argument = repeat.getBody().getArgument(c), init = repeat.getInputs()[c],
          next = yield->getOperand(c), result = repeat.getResults()[c];
    if (!isMemory(argument))
      continue;
    int a = nodes[argument];
    if (next != argument) {
      if (canMerge(a, nodes[next])) {
        merge(a, nodes[next]);
      } else {
        table[find(a)].lives.push_back({span.begin, span.end - 1});
        addCopy(yield, next, a);
      }
    }
    if (canMerge(a, nodes[result])) {
      merge(a, nodes[result]);
    } else {
      // The result leaves the carry's buffer after the last layer.
      Operation *after = repeat->getNextNode();
      table[find(a)].lives.push_back({span.begin, position[after].begin});
      addCopy(after, argument, nodes[result]);
    }
    if (canMerge(nodes[init], a)) {
      merge(nodes[init], a);
    } else {
      table[find(nodes[init])].lives.push_back({span.begin, span.begin});
      table[find(a)].lives.push_back({span.begin, span.begin});
      addCopy(repeat, init, a);
    }
  }
}

/// First fit by decreasing size over the lives of what has no home.
uint64_t Placement::colour(std::function<FailureOr<uint64_t>(Operation *)> scratchOf, bool &failedFlag) {
  struct Item {
    uint64_t bytes = 0, offset = 0;
    std::vector<Interval> lives;
    int node = -1, block = -1;
    Operation *op = nullptr;
  };
  std::vector<Item> items;
  std::vector<uint64_t> blockBytes(blocks.size(), 0);
  std::map<int, uint64_t> inBlock;
  for (auto [b, block] : llvm::enumerate(blocks)) {
    Item item;
    item.block = b;
    for (int member : block.members) {
      int node = find(member);
      inBlock[node] = item.bytes;
      item.bytes += table[node].bytes;
      item.lives.insert(item.lives.end(), table[node].lives.begin(), table[node].lives.end());
    }
    items.push_back(item);
  }
  for (int i = 0, n = table.size(); i < n; ++i) {
    if (find(i) != i || table[i].fixed || table[i].block >= 0 || table[i].lives.empty())
      continue;
    Item item;
    item.node = i;
    item.bytes = table[i].bytes;
    item.lives = table[i].lives;
    items.push_back(item);
  }
  for (Operation *op : ops) {
    FailureOr<uint64_t> bytes = scratchOf(op);
    if (failed(bytes)) {
      failedFlag = true;
      return 0;
    }
    if (*bytes == 0)
      continue;
    Item item;
    item.op = op;
    item.bytes = *bytes;
    item.lives = {position[op]};
    items.push_back(item);
  }
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(items[b].bytes, a) < std::pair(items[a].bytes, b); });
  auto meets = [](const Item &a, const Item &b) {
    for (Interval x : a.lives)
      for (Interval y : b.lives)
        if (std::max(x.begin, y.begin) <= std::min(x.end, y.end))
          return true;
    return false;
  };
  uint64_t total = 0;
  std::vector<size_t> placed;
  for (size_t i : order) {
    Item &item = items[i];
    std::vector<std::pair<uint64_t, uint64_t>> taken;
    for (size_t j : placed)
      if (meets(item, items[j]))
        taken.push_back({items[j].offset, items[j].offset + items[j].bytes});
    std::sort(taken.begin(), taken.end());
    uint64_t at = 0;
    for (auto [begin, end] : taken)
      if (at + item.bytes > begin)
        at = std::max(at, alignUp(end));
      else
        break;
    item.offset = at;
    placed.push_back(i);
    total = std::max(total, alignUp(at + item.bytes));
  }
  std::map<int, uint64_t> offsetOf;
  for (const Item &item : items) {
    if (item.op)
      opScratch[item.op] = item.offset;
    else if (item.node >= 0)
      offsetOf[item.node] = item.offset;
    else
      for (int member : blocks[item.block].members)
        offsetOf[find(member)] = item.offset + inBlock[find(member)];
  }
  auto spotOf = [&](int node) {
    node = find(node);
    return table[node].fixed ? *table[node].fixed : Spot{StringAttr(), false, offsetOf[node]};
  };
  for (auto [value, node] : nodes)
    spots[value] = spotOf(node);
  for (const PendingCopy &copy : pending)
    copies[copy.before].push_back({copy.from, spotOf(copy.to)});
  return total;
}

FailureOr<uint64_t> Placement::compute(std::function<FailureOr<uint64_t>(Operation *)> scratchOf) {
  number(task.getBody().front());
  if (failed(makeNodes(task.getBody().front())) || failed(coalesce()) || failed(groups()) || failed(yields()))
    return failure();
  for (Operation *op : ops)
    if (auto repeat = dyn_cast<sched::RepeatOp>(op))
      carries(repeat);
  bool failedFlag = false;
  uint64_t bytes = colour(scratchOf, failedFlag);
  if (failedFlag)
    return failure();
  return bytes;
}

} // namespace hocket::allocate
