#include "compiler/schedule/steps.h"

using namespace mlir;

namespace hocket::schedule {

bool isInPlaceHome(StringRef home) {
  StringRef kind = home.split(' ').first;
  return kind == "grad" || kind == "sum" || kind == "param" || kind == "m" || kind == "v";
}

/// Whether `arg` is read after `op` in their block.
static bool readAfter(BlockArgument arg, Operation *op) {
  return llvm::any_of(arg.getUsers(), [&](Operation *user) {
    Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
    return here && op->isBeforeInBlock(here);
  });
}

/// Makes `v` overwrite `arg`, an argument of its block, as far as ops go.
static bool tie(Value v, BlockArgument arg, InPlace &out) {
  Operation *op = v.getDefiningOp();
  if (!op || op->getBlock() != arg.getOwner() || readAfter(arg, op))
    return false;
  unsigned r = cast<OpResult>(v).getResultNumber();
  auto pair = [&](unsigned operand) {
    SmallVector<int64_t> &list = out.pairs[op];
    list.push_back(r);
    list.push_back(operand);
    return true;
  };
  if (auto map = dyn_cast<model::MapOp>(op)) {
    model::Dims dims = cast<model::LetterOp>(op).getLetters();
    int found = -1;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      if (op->getOperand(i) != arg)
        continue;
      if (dims.operands[i] != dims.results[r])
        return false; // another element's read would come after this one's write
      found = int(i);
    }
    return found >= 0 && pair(unsigned(found));
  }
  if (auto gemm = dyn_cast<sched::GemmOp>(op))
    return gemm.getC() == arg;
  if (isa<par::AllReduceOp>(op)) {
    Value from = op->getOperand(r);
    if (from == arg) {
      out.collectives.insert(op);
      return true;
    }
    return from.hasOneUse() && tie(from, arg, out);
  }
  if (auto repeat = dyn_cast<sched::RepeatOp>(op)) {
    Block &body = repeat.getBody().front();
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (op->getOperand(i) == arg)
        return tie(body.getTerminator()->getOperand(r), body.getArgument(i), out) && pair(i);
  }
  return false;
}

FailureOr<InPlace> tieHomes(sched::TaskOp task) {
  InPlace out;
  Block &block = task.getBody().front();
  for (auto [i, attr] : llvm::enumerate(task.getOutputs())) {
    if (!isInPlaceHome(cast<StringAttr>(attr).getValue()))
      continue;
    for (auto [k, input] : llvm::enumerate(task.getInputs()))
      if (input == attr && !tie(block.getTerminator()->getOperand(i), block.getArgument(k), out))
        return task.emitOpError("cannot write the new value of ") << attr << " over the old one";
  }
  // Sums over layers, carried by repeats.
  task.walk([&](sched::RepeatOp repeat) {
    Block &body = repeat.getBody().front();
    for (unsigned i = 0; i < unsigned(repeat.getCarries()); ++i) {
      auto map = body.getTerminator()->getOperand(i).getDefiningOp<model::MapOp>();
      if (map && map->getNumOperands() == 2 && map->getOperand(0) == body.getArgument(i) &&
          body.getArgument(i).hasOneUse() &&
          cast<RankedTensorType>(map->getResult(0).getType()).getRank() == 0)
        tie(map->getResult(0), body.getArgument(i), out);
    }
  });
  return out;
}

static void copyYields(Block &block, unsigned carries) {
  Operation *yield = block.getTerminator();
  DenseSet<Value> seen;
  OpBuilder b(yield);
  for (unsigned i = 0; i < yield->getNumOperands(); ++i) {
    Value v = yield->getOperand(i);
    auto arg = dyn_cast<BlockArgument>(v);
    if (arg && i < carries && arg.getArgNumber() == i)
      continue; // a carry that stays
    if (arg || !seen.insert(v).second)
      yield->setOperand(i, copyMap(b, yield->getLoc(), v).getResult(0));
  }
}

void insertCopies(sched::TaskOp task, const InPlace &inPlace) {
  task.walk([&](par::AllReduceOp reduce) {
    for (OpOperand &o : reduce->getOpOperands()) {
      bool mine = isa<BlockArgument>(o.get()) ? inPlace.collectives.contains(reduce) : o.get().hasOneUse();
      if (mine)
        continue;
      OpBuilder b(reduce);
      o.set(copyMap(b, reduce.getLoc(), o.get()).getResult(0));
    }
  });
  task.walk([&](sched::RepeatOp repeat) { copyYields(repeat.getBody().front(), repeat.getCarries()); });
  copyYields(task.getBody().front(), 0);
}

} // namespace hocket::schedule
