#include "compiler/place/builder.h"
#include "compiler/schedule/tables.h"
#include "dialects/place/Place.h"

namespace hocket::placing {

/// The value of import `i` on `stage`, moved there if it was made elsewhere.
Value Builder::flow(Import &i, int stage, Type type, std::map<std::pair<Site, unsigned>, Value> &values) {
  Function &f = functions[i.from];
  unsigned index = 0;
  while (!(f.exports[index] == Export{i.inside, i.source}))
    ++index;
  Value v = i.value.getDefiningOp() == cut.norm ? normOf.lookup(i.value) : values[{i.from, index}];
  if (!i.crosses(stage))
    return v;
  Value &there = moved[{v.getAsOpaquePointer(), {i.stage, stage}}];
  if (!there)
    there = place::TransferOp::create(b, cut.step.getLoc(), type, v, i.source, i.target, meshName(i.stage),
                                      meshName(stage));
  return there;
}

void Builder::emitTasks(TaskKind kind, bool downwards, std::map<std::pair<Site, unsigned>, Value> &values) {
  for (int k = 0; k < cut.stages; ++k) {
    Site site{kind, downwards ? cut.stages - 1 - k : k};
    auto it = functions.find(site);
    if (it == functions.end())
      continue;
    Function &f = it->second;
    SmallVector<Value> operands;
    for (auto [n, i] : llvm::enumerate(f.imports))
      operands.push_back(flow(i, site.stage, f.fn.getArgumentTypes()[f.leaves.size() + n], values));
    auto task = place::TaskOp::create(b, cut.step.getLoc(), f.fn.getResultTypes(), operands, taskName(kind),
                                      f.fn.getSymName(), meshName(site.stage));
    for (auto [r, v] : llvm::enumerate(task.getResults()))
      values[{site, r}] = v;
  }
}

LogicalResult Builder::emitStep() {
  mlir::Location loc = cut.step.getLoc();
  b.setInsertionPoint(cut.step);
  auto tables = schedule::orderTables(cut.schedule, cut.stages, cut.micro);
  assert(tables && "par.pipeline's verifier knows the schedules");
  NamedAttrList order;
  for (auto [s, table] : llvm::enumerate(*tables)) {
    SmallVector<Attribute> list;
    for (const schedule::Entry &e : table)
      list.push_back(b.getStringAttr(std::string(1, e.task) + "." + std::to_string(e.micro)));
    order.set(meshName(s), b.getArrayAttr(list));
  }
  auto step = place::StepOp::create(b, loc, cut.micro, order.getDictionary(b.getContext()),
                                    b.getStrArrayAttr({"loss", "grad_norm"}));
  std::map<std::pair<Site, unsigned>, Value> values;
  b.createBlock(&step.getBody());
  emitTasks(TaskKind::F, false, values);
  emitTasks(TaskKind::B, true, values);

  // What the update takes: sums over micro-batches.
  SmallVector<Value> summed;
  SmallVector<Type> types;
  SmallVector<std::pair<Site, unsigned>> keys;
  auto addSum = [&](const Import &i) {
    Function &f = functions[i.from];
    unsigned index = 0;
    while (!(f.exports[index] == Export{i.inside, i.source}))
      ++index;
    std::pair<Site, unsigned> key{i.from, index};
    if (llvm::is_contained(keys, key))
      return;
    keys.push_back(key);
    summed.push_back(values[key]);
    types.push_back(typeOn(i.value, i.stage));
  };
  for (auto &[site, f] : functions)
    for (Import &i : f.imports)
      if (i.overTime())
        addSum(i);
  Operation *ret = cut.step.getBody().front().getTerminator();
  Value loss = ret->getOperand(0);
  if (cut.isTimeReduce(loss.getDefiningOp()))
    addSum({loss,
            cut.maker(loss, cut.stages - 1),
            {TaskKind::F, cut.maker(loss, cut.stages - 1)},
            loss.getDefiningOp()->getOperand(cast<OpResult>(loss).getResultNumber()),
            "sum loss",
            "sum loss"});
  place::YieldOp::create(b, loc, summed);

  Block *update = b.createBlock(&step.getUpdate());
  for (auto [key, type] : llvm::zip(keys, types))
    values[key] = update->addArgument(type, loc);
  Value lossValue = cut.isTimeReduce(loss.getDefiningOp()) ? values[keys.back()] : Value();
  if (lossValue)
    for (auto [key, v] : llvm::zip(keys, summed))
      if (functions[key.first].exports[key.second].home == "sum loss")
        lossValue = values[key];
  emitTasks(TaskKind::L, false, values);
  emitTasks(TaskKind::N, false, values);
  auto exported = [&](Value v, int stage) -> Value {
    Site site{cut.task.lookup(v.getDefiningOp()), stage};
    for (auto [i, e] : llvm::enumerate(functions[site].exports))
      if (e.inside == v)
        return values[{site, i}];
    return {};
  };
  if (cut.norm) {
    SmallVector<Value> parts;
    SmallVector<Attribute> meshes;
    for (int s = 0; s < cut.stages; ++s)
      if (Value part = exported(cut.norm->getResult(0), s)) {
        parts.push_back(part);
        meshes.push_back(FlatSymbolRefAttr::get(b.getContext(), meshName(s)));
      }
    if (cut.stages == 1 && parts.size() == 1)
      normOf[cut.norm->getResult(0)] = parts[0];
    else if (!parts.empty())
      normOf[cut.norm->getResult(0)] =
          place::AllReduceOp::create(b, loc, parts[0].getType(), parts, b.getArrayAttr(meshes), "sum");
  }
  emitTasks(TaskKind::U, false, values);

  // New values of tied copies.
  SmallVector<BlockArgument> params = cut.arguments("model.param");
  for (auto [i, p] : llvm::enumerate(params)) {
    SmallVector<int> on = cut.stagesOf(p);
    if (isStacked(p))
      continue;
    for (int s : ArrayRef(on).drop_front()) {
      Value fresh = exported(ret->getOperand(2 + i), on.front());
      place::TransferOp::create(b, loc, fresh.getType(), fresh, cut.argumentHome(p), cut.argumentHome(p),
                                meshName(on.front()), meshName(s));
    }
  }
  SmallVector<Value> reported;
  for (unsigned i = 0; i < 2; ++i) {
    Value v = ret->getOperand(i);
    Value r = i == 0 && lossValue             ? lossValue
              : v.getDefiningOp() == cut.norm ? normOf.lookup(v)
                                              : exported(v, cut.maker(v, cut.stages - 1));
    if (!r)
      return cut.step.emitError("result ") << i << " is not computed in the update";
    reported.push_back(r);
  }
  place::YieldOp::create(b, loc, reported);
  return success();
}

} // namespace hocket::placing
