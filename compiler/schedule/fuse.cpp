#include "compiler/schedule/steps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket::schedule {

/// The one map that takes all results of `map`, with all the letters in each
/// use; null otherwise.
static model::MapOp onlyConsumer(model::MapOp map) {
  model::MapOp consumer;
  for (Value r : map->getResults())
    for (OpOperand &use : r.getUses()) {
      auto user = dyn_cast<model::MapOp>(use.getOwner());
      if (!user || user->getBlock() != map->getBlock() || (consumer && user != consumer))
        return {};
      consumer = user;
      model::Dims dims = cast<model::LetterOp>(user.getOperation()).getLetters();
      if (!model::sameLetters(dims.operands[use.getOperandNumber()], dims.results[0]))
        return {};
    }
  return consumer;
}

/// Letters of `map`'s operands where its result is read as `read`.
static SmallVector<std::string> renamed(const model::Dims &dims, StringRef read) {
  SmallVector<std::string> out;
  for (const std::string &operand : dims.operands) {
    std::string s;
    for (char c : operand)
      s += read[dims.results[0].find(c)];
    out.push_back(s);
  }
  return out;
}

static void fuse(model::MapOp map, model::MapOp into) {
  model::Dims inner = cast<model::LetterOp>(map.getOperation()).getLetters();
  model::Dims outer = cast<model::LetterOp>(into.getOperation()).getLetters();
  OpBuilder b(into);
  // Operands of the fused map: each (value, letters) once.
  SmallVector<Value> operands;
  model::Dims dims;
  dims.results = outer.results;
  auto add = [&](Value v, const std::string &letters) -> unsigned {
    for (unsigned i = 0; i < operands.size(); ++i)
      if (operands[i] == v && dims.operands[i] == letters)
        return i;
    operands.push_back(v);
    dims.operands.push_back(letters);
    return operands.size() - 1;
  };
  // Argument of each outer operand that stays; arguments of each use of `map`.
  SmallVector<unsigned> stays(into->getNumOperands());
  SmallVector<SmallVector<unsigned>> comes(into->getNumOperands());
  for (unsigned i = 0; i < into->getNumOperands(); ++i) {
    Value v = into->getOperand(i);
    if (v.getDefiningOp() != map) {
      stays[i] = add(v, outer.operands[i]);
      continue;
    }
    SmallVector<std::string> letters = renamed(inner, outer.operands[i]);
    for (unsigned k = 0; k < map->getNumOperands(); ++k)
      comes[i].push_back(add(map->getOperand(k), letters[k]));
  }
  auto fused = model::MapOp::create(b, b.getFusedLoc({map.getLoc(), into.getLoc()}), into->getResultTypes(),
                                    operands, dims.str());
  Block *body = b.createBlock(&fused.getBody());
  for (Value v : operands) {
    auto tensor = dyn_cast<RankedTensorType>(v.getType());
    body->addArgument(tensor ? tensor.getElementType() : v.getType(), v.getLoc());
  }
  Block &from = map.getBody().front(), &to = into.getBody().front();
  IRMapping outerMap;
  std::map<SmallVector<unsigned>, SmallVector<Value>> made; // values of `map` at one reading
  for (unsigned i = 0; i < into->getNumOperands(); ++i) {
    if (into->getOperand(i).getDefiningOp() != map) {
      outerMap.map(to.getArgument(i), body->getArgument(stays[i]));
      continue;
    }
    auto [it, fresh] = made.try_emplace(comes[i]);
    if (fresh) {
      IRMapping innerMap;
      for (auto [a, k] : llvm::zip(from.getArguments(), comes[i]))
        innerMap.map(a, body->getArgument(k));
      for (Operation &op : from.without_terminator())
        b.clone(op, innerMap);
      for (Value v : from.getTerminator()->getOperands())
        it->second.push_back(innerMap.lookupOrDefault(v));
    }
    outerMap.map(to.getArgument(i), it->second[cast<OpResult>(into->getOperand(i)).getResultNumber()]);
  }
  for (Operation &op : to)
    b.clone(op, outerMap);
  into->replaceAllUsesWith(fused);
  into->erase();
  map->erase();
}

static void fuseBlock(Block &block) {
  // Producers come before consumers, so one sweep from the top sees each fused
  // map again as the consumer's own producer.
  for (Operation *op = &block.front(); op;) {
    Operation *next = op->getNextNode();
    if (auto repeat = dyn_cast<sched::RepeatOp>(op))
      fuseBlock(repeat.getBody().front());
    if (auto map = dyn_cast<model::MapOp>(op))
      if (model::MapOp consumer = onlyConsumer(map)) {
        bool last = next == consumer.getOperation();
        Operation *after = consumer->getNextNode();
        fuse(map, consumer);
        if (last)
          next = after->getPrevNode();
      }
    op = next;
  }
}

void fuseMaps(sched::TaskOp task) { fuseBlock(task.getBody().front()); }

} // namespace hocket::schedule
