#include "dialects/model/Order.h"
#include "dialects/model/Model.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace hocket::model {

static void orderBlock(Block &block) {
  Operation *yield = block.getTerminator();
  llvm::DenseSet<Operation *> done;
  // An op on the stack with the number of its operands already seen.
  SmallVector<std::pair<Operation *, unsigned>> stack{{yield, 0}};
  while (!stack.empty()) {
    auto &[op, next] = stack.back();
    if (next < op->getNumOperands()) {
      Operation *needed = op->getOperand(next++).getDefiningOp();
      if (needed && needed->getBlock() == &block && !done.contains(needed))
        stack.push_back({needed, 0});
      continue;
    }
    if (op != yield && done.insert(op).second)
      op->moveBefore(yield);
    stack.pop_back();
  }
  // What nothing needs stands in front now; users go before what they use.
  SmallVector<Operation *> unneeded;
  for (Operation &op : block.without_terminator())
    if (!done.contains(&op))
      unneeded.push_back(&op);
  for (Operation *op : llvm::reverse(unneeded))
    op->erase();
}

void orderMaps(Operation *root) {
  root->walk([](MapOp map) { orderBlock(map.getBody().front()); });
}

} // namespace hocket::model
