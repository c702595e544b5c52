#include "compiler/place/cut.h"
#include "dialects/model/Build.h"

#include <map>

using namespace mlir;

namespace hocket {

bool isStacked(Value v) {
  while (auto reduce = v.getDefiningOp<par::AllReduceOp>())
    v = reduce.getInputs()[cast<OpResult>(v).getResultNumber()];
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    auto fn = dyn_cast<func::FuncOp>(arg.getOwner()->getParentOp());
    auto dims = fn ? fn.getArgAttrOfType<StringAttr>(arg.getArgNumber(), "model.dims") : StringAttr();
    return dims && dims.getValue().starts_with("l");
  }
  Operation *op = v.getDefiningOp();
  unsigned i = cast<OpResult>(v).getResultNumber();
  if (auto scan = dyn_cast<model::ScanOp>(op))
    return i >= unsigned(scan.getCarries());
  if (auto letters = dyn_cast<model::LetterOp>(op)) {
    model::Dims dims = letters.getLetters();
    return i < dims.results.size() && StringRef(dims.results[i]).starts_with("l");
  }
  return false;
}

bool isSum(Operation *op) {
  auto map = dyn_cast<model::MapOp>(op);
  if (!map || map->getNumResults() != 1)
    return false;
  Block &body = map.getBody().front();
  for (Operation &o : body)
    if (!isa<arith::AddFOp, model::YieldOp>(o))
      return false;
  // n arguments added once each take n - 1 additions, and nothing is used twice.
  for (Value a : body.getArguments())
    if (!a.hasOneUse())
      return false;
  for (Operation &o : body.without_terminator())
    if (!o.getResult(0).hasOneUse())
      return false;
  model::Dims dims = cast<model::LetterOp>(op).getLetters();
  return llvm::all_of(dims.operands, [&](const std::string &o) { return o == dims.results[0]; });
}

bool StepCut::isFree(Value v) const {
  Operation *op = v.getDefiningOp();
  return op && freeOps.contains(op);
}

bool StepCut::isTimeReduce(Operation *op) const {
  auto reduce = dyn_cast<par::AllReduceOp>(op);
  return reduce && llvm::any_of(reduce.getAxes().getAsRange<StringAttr>(),
                                [&](StringAttr a) { return llvm::is_contained(timeAxes, a.getValue()); });
}

Location StepCut::locate(Value v) const {
  auto it = at.find(v);
  return it == at.end() ? Location{} : it->second;
}

int StepCut::maker(Value v, int stage) const {
  Location where = locate(v);
  return where.kind == Location::At ? where.stage : stage;
}

SmallVector<unsigned> StepCut::operandsOn(Operation *op, int stage) const {
  SmallVector<unsigned> out;
  bool pick = op == norm || isa<par::AllReduceOp>(op);
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    Location where = locate(op->getOperand(i));
    if (!pick || where.kind != Location::At || where.stage == stage)
      out.push_back(i);
  }
  return out;
}

DictionaryAttr StepCut::attrs(BlockArgument a) const {
  auto dict = func::FuncOp(step).getArgAttrDict(a.getArgNumber());
  return dict ? dict : DictionaryAttr::get(a.getContext());
}

std::string StepCut::argumentName(BlockArgument a) const {
  auto name = attrs(a).getAs<StringAttr>("model.name");
  return name ? name.str() : "";
}

std::string StepCut::argumentHome(BlockArgument a) const {
  DictionaryAttr d = attrs(a);
  if (d.get("model.param"))
    return "param " + argumentName(a);
  if (auto input = d.getAs<StringAttr>("model.input"))
    return "input " + input.str();
  if (auto scalar = d.getAs<StringAttr>("model.scalar"))
    return "scalar " + scalar.str();
  if (auto state = d.getAs<DictionaryAttr>("model.state")) {
    auto kind = state.getAs<StringAttr>("kind"), of = state.getAs<StringAttr>("of");
    if (kind && of)
      return kind.str() + " " + of.str();
  }
  return "";
}

SmallVector<BlockArgument> StepCut::arguments(StringRef role, StringRef kind) const {
  SmallVector<BlockArgument> out;
  for (BlockArgument a : func::FuncOp(step).getArguments()) {
    Attribute attr = attrs(a).get(role);
    auto dict = dyn_cast_if_present<DictionaryAttr>(attr);
    auto k = dict ? dict.getAs<StringAttr>("kind") : StringAttr();
    if (attr && (kind.empty() || (k && k.getValue() == kind)))
      out.push_back(a);
  }
  return out;
}

SmallVector<int> StepCut::stagesOf(BlockArgument param) const {
  if (isStacked(param)) {
    SmallVector<int> all;
    for (int s = 0; s < stages; ++s)
      all.push_back(s);
    return all;
  }
  auto it = users.find(param);
  return it == users.end() || it->second.empty() ? SmallVector<int>{0} : it->second;
}

//===----------------------------------------------------------------------===//
// Mesh and pipeline
//===----------------------------------------------------------------------===//

LogicalResult StepCut::readMesh(ModuleOp module) {
  auto meshes = llvm::to_vector(module.getOps<par::MeshOp>());
  if (meshes.size() != 1)
    return module.emitError("place needs one par.mesh, there are ") << meshes.size();
  par::MeshOp mesh = meshes.front();
  if (mesh.getTimes().size() != 1)
    return mesh.emitError("place needs one time axis, there are ") << mesh.getTimes().size();
  micro = mesh.getTimes()[0];
  timeAxes.push_back(cast<StringAttr>(mesh.getTime()[0]).str());
  return success();
}

LogicalResult StepCut::readPipeline(ModuleOp module) {
  par::PipelineOp pipeline;
  module.walk([&](par::PipelineOp op) { pipeline = op; });
  SmallVector<int64_t> cuts;
  std::string body;
  if (pipeline) {
    cuts.assign(pipeline.getCuts().begin(), pipeline.getCuts().end());
    schedule = pipeline.getSchedule().str();
    pipelineAxis = pipeline.getAxis().str();
    body = pipeline.getBody().str();
  }
  stages = cuts.size() + 1;
  int64_t first = 0, end = 0;
  Operation *forward = nullptr, *backward = nullptr;
  for (auto scan : step.getOps<model::ScanOp>()) {
    if (!body.empty() && !scan.getBody().starts_with(body + ".") && scan.getBody() != body)
      continue;
    Operation *&slot = scan.getReverse() ? backward : forward;
    if (slot && stages > 1)
      return scan.emitError("second scan over layers of \"") << body << "\": the pipeline would be ambiguous";
    slot = scan;
    if (forward && backward &&
        cast<model::ScanOp>(forward).getRange() != cast<model::ScanOp>(backward).getRange())
      return scan.emitError("runs over other layers than the forward scan");
    first = scan.getRange()[0], end = scan.getRange()[1];
  }
  if (stages > 1) {
    if (!forward || !backward)
      return pipeline.emitError("no forward and reverse scan over \"") << body << "\" in @step";
    forwardScan = forward, backwardScan = backward;
    auto axes = cast<par::MeshOp>(*module.getOps<par::MeshOp>().begin());
    for (auto [axis, size] : llvm::zip(axes.getAxes().getAsRange<StringAttr>(), axes.getSizes()))
      if (axis.getValue() == pipelineAxis && size != stages)
        return pipeline.emitError("has ")
               << stages << " stages, axis \"" << pipelineAxis << "\" has " << size;
  }
  int64_t from = first;
  for (int64_t c : cuts) {
    if (c <= from || c >= end)
      return pipeline.emitError("cut ")
             << c << " leaves a stage without layers in [" << first << ", " << end << ")";
    layers.emplace_back(from, c);
    from = c;
  }
  layers.emplace_back(from, end);
  return success();
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

using Ops = DenseSet<Operation *>;

/// `op` and whatever it depends on, in `step`, as far as `within`.
static void ancestors(Operation *op, Ops &out, llvm::function_ref<bool(Operation *)> within) {
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *o = work.pop_back_val();
    if (!within(o) || !out.insert(o).second)
      continue;
    for (Value v : o->getOperands())
      if (Operation *d = v.getDefiningOp())
        work.push_back(d);
  }
}

LogicalResult StepCut::findFree() {
  freeOps.clear();
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!isa<model::LetterOp, arith::ConstantOp>(op))
      continue;
    if (llvm::all_of(op.getOperands(), [&](Value v) { return isFree(v); }))
      freeOps.insert(&op);
  }
  return success();
}

LogicalResult StepCut::classify() {
  task.clear();
  Block &block = step.getBody().front();
  Operation *ret = block.getTerminator();
  Ops body, forward, reported;
  auto notFree = [&](Operation *o) { return !freeOps.contains(o); };
  SmallVector<Operation *> reduces;
  for (Operation &op : block)
    if (isTimeReduce(&op)) {
      if (cast<par::AllReduceOp>(op).getAxes().size() != 1)
        return op.emitOpError("reduces over a time axis and others at once");
      reduces.push_back(&op);
    }
  if (reduces.empty())
    return step.emitError("no par.all_reduce over \"") << timeAxes[0] << "\" to cut the step at";
  for (Operation *r : reduces)
    for (Value v : r->getOperands()) {
      Operation *d = v.getDefiningOp();
      if (!d || freeOps.contains(d))
        return r->emitOpError("sums over time what no micro-batch computes");
      ancestors(d, body, notFree);
    }
  for (Operation *r : reduces)
    if (body.contains(r))
      return r->emitOpError("over time enters another reduction over time");

  // Results: loss, grad_norm, then parameters and moments.
  if (ret->getNumOperands() < 2)
    return step.emitError("returns no loss and gradient norm");
  Operation *loss = ret->getOperand(0).getDefiningOp();
  if (!loss)
    return step.emitError("returns a loss that is not computed");
  Operation *cutAt = loss;
  unsigned number = cast<OpResult>(ret->getOperand(0)).getResultNumber();
  while (cutAt && !isTimeReduce(cutAt)) {
    auto reduce = dyn_cast<par::AllReduceOp>(cutAt);
    if (!reduce)
      return cutAt->emitOpError("the loss is not a sum over micro-batches");
    auto from = dyn_cast<OpResult>(reduce.getInputs()[number]);
    cutAt = from ? from.getOwner() : nullptr;
    number = from ? from.getResultNumber() : 0;
  }
  if (!cutAt)
    return step.emitError("returns a loss that is not computed");
  if (Operation *d = cutAt->getOperand(number).getDefiningOp())
    ancestors(d, forward, notFree);
  auto inUpdate = [&](Operation *o) { return notFree(o) && !body.contains(o) && !isTimeReduce(o); };
  ancestors(loss, reported, inUpdate);

  // The norm: the sum of all squares, a sum of scalars.
  norm = nullptr;
  for (Operation &op : block)
    if (inUpdate(&op) && !reported.contains(&op) && isSum(&op) && op.getNumOperands() &&
        cast<RankedTensorType>(op.getResult(0).getType()).getRank() == 0) {
      norm = &op;
      break;
    }
  Ops squares;
  if (norm)
    ancestors(norm, squares, inUpdate);
  for (Operation &op : block.without_terminator()) {
    if (!notFree(&op))
      continue;
    TaskKind t = TaskKind::U;
    if (body.contains(&op))
      t = forward.contains(&op) ? TaskKind::F : TaskKind::B;
    else if (reported.contains(&op))
      t = TaskKind::L;
    else if (squares.contains(&op))
      t = TaskKind::N;
    task[&op] = t;
  }
  beforeForward.clear(), beforeBackward.clear(), afterBackward.clear();
  if (forwardScan) {
    if (!forward.contains(forwardScan))
      return forwardScan->emitOpError("is the pipeline's forward scan, but the loss does not depend on it");
    if (!body.contains(backwardScan))
      return backwardScan->emitOpError("is the pipeline's reverse scan, but no gradient depends on it");
    ancestors(forwardScan, beforeForward, notFree);
    ancestors(backwardScan, beforeBackward, notFree);
    for (Operation &op : block)
      if (&op == backwardScan || llvm::any_of(op.getOperands(), [&](Value v) {
            return v.getDefiningOp() && afterBackward.contains(v.getDefiningOp());
          }))
        afterBackward.insert(&op);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

int StepCut::bodyStage(Operation *op) const {
  if (stages == 1)
    return 0;
  if (task.lookup(op) == TaskKind::F)
    return beforeForward.contains(op) ? 0 : stages - 1;
  return !beforeBackward.contains(op) && afterBackward.contains(op) ? 0 : stages - 1;
}

FailureOr<Location> StepCut::updateLocation(Operation *op) const {
  Location where;
  bool sliced = false, split = false;
  for (Value v : op->getOperands()) {
    Location l = locate(v);
    sliced |= l.kind == Location::Sliced, split |= l.kind == Location::Split;
    if (l.kind == Location::Everywhere && where.kind == Location::Free)
      where = l;
    if (l.kind == Location::At && (where.kind != Location::At || l.stage < where.stage))
      where = l;
  }
  if (op == norm)
    return Location{Location::Everywhere};
  if (split && stages > 1)
    return op->emitOpError("takes a value of which each stage has a term; only the sum of squares may");
  if (sliced)
    return Location{Location::Sliced};
  return where;
}

LogicalResult StepCut::locateAll() {
  at.clear(), users.clear();
  Block &block = step.getBody().front();
  for (BlockArgument a : block.getArguments()) {
    if (argumentHome(a).empty())
      return step.emitError("argument ") << a.getArgNumber() << " has no role";
    at[a] = {isStacked(a) ? Location::Sliced : Location::Everywhere};
  }
  for (Operation &op : block.without_terminator()) {
    if (!task.contains(&op) || !isBody(&op))
      continue;
    bool sliced = isPipelined(&op);
    if (!isa<model::ScanOp>(op))
      sliced = llvm::any_of(op.getOperands(), [](Value v) { return isStacked(v); });
    int stage = bodyStage(&op);
    for (Value r : op.getResults())
      at[r] = sliced && isStacked(r) ? Location{Location::Sliced} : Location{Location::At, stage};
    if (isPipelined(&op))
      for (Value r : op.getResults())
        if (!isStacked(r))
          at[r] = {Location::At, &op == forwardScan ? stages - 1 : 0};
    if (stages == 1)
      for (Value r : op.getResults())
        at[r] = isStacked(r) ? Location{Location::Sliced} : Location{Location::At, 0};
    for (Value v : op.getOperands())
      if (auto a = dyn_cast<BlockArgument>(v); a && !isStacked(a)) {
        SmallVector<int> &list = users[a];
        for (int s = 0; s < stages; ++s)
          if (sliced || s == stage)
            if (!llvm::is_contained(list, s))
              list.push_back(s);
        llvm::sort(list);
      }
  }
  for (BlockArgument a : arguments("model.param"))
    if (!isStacked(a))
      at[a] = {Location::At, stagesOf(a).front()};
  for (BlockArgument a : arguments("model.state"))
    if (!isStacked(a)) {
      auto of = cast<DictionaryAttr>(attrs(a).get("model.state")).getAs<StringAttr>("of");
      for (BlockArgument p : arguments("model.param"))
        if (of && argumentName(p) == of.getValue())
          at[a] = at[p];
    }
  for (Operation &op : block.without_terminator()) {
    if (!task.contains(&op) || isBody(&op))
      continue;
    if (isa<par::AllReduceOp>(op)) {
      for (auto [in, out] : llvm::zip(op.getOperands(), op.getResults()))
        at[out] = locate(in);
      continue;
    }
    FailureOr<Location> where = updateLocation(&op);
    if (failed(where))
      return failure();
    for (Value r : op.getResults())
      at[r] = where->kind == Location::Sliced && !isStacked(r)
                  ? Location{stages > 1 ? Location::Split : Location::Sliced}
                  : *where;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sums whose terms live on several stages (a tied parameter's gradient)
//===----------------------------------------------------------------------===//

/// The sum of `terms`, which have the same letters; a single term stays as it is.
static Value addTerms(OpBuilder &b, mlir::Location loc, StringRef letters, ValueRange terms) {
  return terms.size() == 1 ? terms[0] : model::sum(b, loc, letters, terms).getResult(0);
}

LogicalResult StepCut::splitSums() {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    if (!isTimeReduce(&op))
      continue;
    auto reduce = cast<par::AllReduceOp>(op);
    for (unsigned i = 0; i < reduce->getNumOperands(); ++i) {
      Operation *sum = reduce.getInputs()[i].getDefiningOp();
      if (!sum || !isSum(sum) || !sum->getResult(0).hasOneUse())
        continue;
      std::map<int, SmallVector<Value>> byStage;
      for (Value v : sum->getOperands())
        if (locate(v).kind == Location::At)
          byStage[locate(v).stage].push_back(v);
      size_t terms = 0;
      for (auto &[stage, values] : byStage)
        terms += values.size();
      if (byStage.size() < 2 || terms != sum->getNumOperands())
        continue;
      // Reduce each stage's part over time, then add the parts.
      OpBuilder b(reduce);
      std::string letters = cast<model::LetterOp>(sum).getLetters().results[0];
      SmallVector<Value> parts;
      for (auto &[stage, values] : byStage) {
        Value part = addTerms(b, sum->getLoc(), letters, values);
        parts.push_back(par::AllReduceOp::create(b, reduce.getLoc(), TypeRange{reduce.getResult(i).getType()},
                                                 ValueRange{part}, reduce->getAttrs())
                            .getResult(0));
      }
      reduce.getResult(i).replaceAllUsesWith(addTerms(b, sum->getLoc(), letters, parts));
      // Drop operand i.
      SmallVector<Value> inputs(reduce.getInputs());
      SmallVector<Type> types(reduce->getResultTypes());
      inputs.erase(inputs.begin() + i);
      types.erase(types.begin() + i);
      if (!inputs.empty()) {
        auto fresh = par::AllReduceOp::create(b, reduce.getLoc(), types, inputs, reduce->getAttrs());
        for (unsigned r = 0, k = 0; r < reduce->getNumResults(); ++r)
          if (r != i)
            reduce.getResult(r).replaceAllUsesWith(fresh.getResult(k++));
        reduce.erase();
        reduce = fresh;
        --i;
      } else {
        reduce.erase();
      }
      sum->erase();
      changed = true;
      if (inputs.empty())
        break;
    }
  }
  if (!changed)
    return success();
  if (failed(findFree()) || failed(classify()))
    return failure();
  return locateAll();
}

//===----------------------------------------------------------------------===//
// Homes
//===----------------------------------------------------------------------===//

LogicalResult StepCut::nameHomes() {
  Operation *ret = step.getBody().front().getTerminator();
  auto trace = [&](Value v, const std::string &name) {
    SmallVector<Value> work{v};
    while (!work.empty()) {
      Value x = work.pop_back_val();
      Operation *d = x.getDefiningOp();
      if (!d || !task.contains(d) || isBody(d) || home.contains(x))
        continue;
      if (auto reduce = dyn_cast<par::AllReduceOp>(d)) {
        home[x] = name;
        if (!isTimeReduce(d))
          work.push_back(reduce.getInputs()[cast<OpResult>(x).getResultNumber()]);
      } else if (d != norm && isSum(d)) {
        home[x] = name;
        llvm::append_range(work, d->getOperands());
      }
    }
  };
  trace(ret->getOperand(0), "sum loss");
  home.try_emplace(ret->getOperand(0), "sum loss");
  SmallVector<BlockArgument> params = arguments("model.param"), m = arguments("model.state", "m"),
                             v = arguments("model.state", "v");
  if (ret->getNumOperands() != 2 + params.size() + m.size() + v.size())
    return step.emitError("returns ")
           << ret->getNumOperands() << " values; loss, norm, parameters and moments are "
           << 2 + params.size() + m.size() + v.size();
  for (auto [i, p] : llvm::enumerate(params)) {
    Value fresh = ret->getOperand(2 + i);
    Operation *update = fresh.getDefiningOp();
    if (!update)
      return step.emitError("parameter \"") << argumentName(p) << "\" has no new value";
    for (Value o : update->getOperands())
      if (o.getDefiningOp() && !isFree(o) && o.getType() == fresh.getType())
        trace(o, "grad " + argumentName(p));
  }
  // A tied parameter has a gradient from each use. Uses of one stage accumulate apart ("grad emb",
  // "grad emb.1"); the update adds them.
  std::map<std::pair<std::string, int>, int> seen;
  for (Operation &op : step.getBody().front()) {
    if (!isTimeReduce(&op))
      continue;
    for (Value v : op.getResults()) {
      auto it = home.find(v);
      if (it == home.end() || !StringRef(it->second).starts_with("grad "))
        continue;
      Location where = at.lookup(v);
      if (where.kind != Location::At && stages > 1)
        continue;
      int number = seen[{it->second, where.stage}]++;
      if (number > 0)
        it->second += "." + std::to_string(number);
    }
  }
  // After the gradients, so that a result is never taken for one.
  SmallVector<BlockArgument> all(params);
  llvm::append_range(all, m);
  llvm::append_range(all, v);
  for (auto [i, a] : llvm::enumerate(all))
    home[ret->getOperand(2 + i)] = argumentHome(a);
  home.try_emplace(ret->getOperand(1), "value grad_norm");
  if (norm)
    home.try_emplace(norm->getResult(0), "value norm");
  return success();
}

LogicalResult StepCut::analyse(ModuleOp module) {
  step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || step.isExternal() || !step.getBody().hasOneBlock())
    return module.emitError("place needs a function @step of one block");
  if (failed(readMesh(module)) || failed(readPipeline(module)) || failed(findFree()) || failed(classify()) ||
      failed(locateAll()))
    return failure();
  if (stages > 1 && failed(splitSums()))
    return failure();
  return nameHomes();
}

} // namespace hocket
