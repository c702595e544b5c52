#include "compiler/kernels/kernels.h"
#include "compiler/schedule/steps.h"
#include "dialects/model/Build.h"

using namespace mlir;

namespace hocket::schedule {

static std::string letters(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return StringRef("abcdefghijkmnop").take_front(tensor.getRank()).str();
}

model::MapOp addMap(OpBuilder &b, Location loc, Value x, Value y) {
  return model::sum(b, loc, letters(x.getType()), {x, y});
}

model::MapOp copyMap(OpBuilder &b, Location loc, Value v) {
  std::string l = letters(v.getType());
  auto map = model::MapOp::create(b, loc, TypeRange{v.getType()}, ValueRange{v}, l + "->" + l);
  OpBuilder::InsertionGuard guard(b);
  Block *body =
      b.createBlock(&map.getBody(), {}, {cast<RankedTensorType>(v.getType()).getElementType()}, {loc});
  model::YieldOp::create(b, loc, body->getArgument(0));
  return map;
}

/// `sum` + `v`, in place of `sum`: a product writes there itself.
static Value addTo(Value v, Value sum) {
  Operation *op = v.getDefiningOp();
  if (auto dot = dyn_cast_if_present<model::DotOp>(op); dot && v.hasOneUse()) {
    bool swapped = false;
    if (auto gemm = kernels::asGemm(dot, /*accumulate=*/true, &swapped)) {
      OpBuilder b(dot);
      return sched::GemmOp::create(b, dot.getLoc(), v.getType(), swapped ? dot.getB() : dot.getA(),
                                   swapped ? dot.getA() : dot.getB(), sum, gemm->m, gemm->n, gemm->k,
                                   gemm->transposeA, gemm->transposeB, "compute");
    }
  }
  OpBuilder b(v.getParentBlock()->getTerminator());
  return addMap(b, v.getLoc(), sum, v).getResult(0);
}

LogicalResult accumulate(sched::TaskOp task) {
  Block &block = task.getBody().front();
  Operation *yield = block.getTerminator();
  SmallVector<Attribute> inputs(task.getInputs().begin(), task.getInputs().end());
  for (auto [i, attr] : llvm::enumerate(task.getOutputs())) {
    StringRef home = cast<StringAttr>(attr).getValue();
    if (!(home.starts_with("grad ") || home.starts_with("sum ")) || llvm::is_contained(inputs, attr))
      continue;
    Value v = yield->getOperand(i);
    Value sum = block.addArgument(v.getType(), v.getLoc());
    inputs.push_back(attr);
    auto repeat = v.getDefiningOp<sched::RepeatOp>();
    unsigned r = repeat ? cast<OpResult>(v).getResultNumber() : 0;
    if (!repeat || r < unsigned(repeat.getCarries())) {
      Value total = addTo(v, sum);
      Operation *old = v.getDefiningOp();
      yield->setOperand(i, total);
      if (old && isOpTriviallyDead(old))
        old->erase();
      continue;
    }
    if (!v.hasOneUse())
      return task.emitOpError("uses the gradient \"") << home << "\" of one micro-batch besides its sum";
    // Stacked: each layer adds to its slice.
    repeat->insertOperands(repeat->getNumOperands(), sum);
    Block &body = repeat.getBody().front();
    auto type = cast<RankedTensorType>(v.getType());
    Value part = body.addArgument(RankedTensorType::get(type.getShape().drop_front(), type.getElementType()),
                                  v.getLoc());
    Operation *inner = body.getTerminator();
    Value slice = inner->getOperand(r);
    Value total = addTo(slice, part);
    Operation *old = slice.getDefiningOp();
    inner->setOperand(r, total);
    if (old && isOpTriviallyDead(old))
      old->erase();
  }
  task.setInputsAttr(ArrayAttr::get(task.getContext(), inputs));
  return success();
}

} // namespace hocket::schedule
