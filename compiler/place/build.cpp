#include "compiler/place/build.h"
#include "compiler/place/builder.h"
#include "dialects/model/Build.h"
#include "dialects/par/Sharding.h"
#include "dialects/place/Place.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace hocket {
namespace placing {

//===----------------------------------------------------------------------===//
// Which ops each function holds
//===----------------------------------------------------------------------===//

void Builder::need(Value v, int stage) {
  Operation *op = v.getDefiningOp();
  if (!op || cut.isFree(v))
    return;
  int from = cut.maker(v, stage);
  if (cut.isTimeReduce(op)) {
    // Made before the sum over time; never itself such a sum.
    v = op->getOperand(cast<OpResult>(v).getResultNumber());
    op = v.getDefiningOp();
    if (!op || cut.isFree(v))
      return;
    from = cut.maker(v, from);
  }
  if (op == cut.norm) {
    for (int s = 0; s < cut.stages; ++s)
      mark(op, s);
    return;
  }
  mark(op, from);
}

/// Puts `op` into its task on `stage`; `drain` does the same for what it needs.
void Builder::mark(Operation *op, int stage) {
  if (functions[{cut.task.lookup(op), stage}].ops.insert(op))
    work.emplace_back(op, stage);
}

void Builder::drain() {
  while (!work.empty()) {
    auto [op, stage] = work.pop_back_val();
    needOperands(op, stage);
  }
}

void Builder::needOperands(Operation *op, int stage) {
  unsigned carries = cut.isPipelined(op) ? cast<model::ScanOp>(op).getCarries() : 0;
  bool passed = carries && cut.before(op, stage) >= 0;
  if (passed)
    mark(op, cut.before(op, stage));
  for (unsigned i : cut.operandsOn(op, stage))
    if (!passed || i >= carries)
      need(op->getOperand(i), stage);
}

LogicalResult Builder::demand() {
  Block &block = cut.step.getBody().front();
  for (auto [i, op] : llvm::enumerate(block))
    position[&op] = i;
  Operation *ret = block.getTerminator();
  // Metrics are read on the last stage, parameters where they live.
  for (auto [i, v] : llvm::enumerate(ret->getOperands())) {
    Location where = cut.locate(v);
    for (int s = 0; s < cut.stages; ++s) {
      bool here = where.kind == Location::At ? s == where.stage
                  : i < 2                    ? s == cut.stages - 1
                                             : where.kind == Location::Sliced;
      if (!here)
        continue;
      need(v, s);
      drain();
      Operation *op = v.getDefiningOp();
      if (!op || cut.isFree(v) || (i >= 2 && cut.isTimeReduce(op)))
        return cut.step.emitError("result ") << i << " is not computed in the update";
      if (cut.isTimeReduce(op)) {
        Value inside = op->getOperand(cast<OpResult>(v).getResultNumber());
        addExport({cut.task.lookup(inside.getDefiningOp()), s}, inside, cut.home.lookup(v));
      } else if (op != cut.norm)
        addExport({cut.task.lookup(op), s}, v, cut.home.lookup(v));
    }
  }
  for (auto &[site, f] : functions) {
    f.sorted = f.ops.takeVector();
    llvm::sort(f.sorted, [&](Operation *x, Operation *y) { return position[x] < position[y]; });
    f.ops.insert(f.sorted.begin(), f.sorted.end());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What goes in and out
//===----------------------------------------------------------------------===//

/// A name for the home of `v`: the letter function's argument or result when a
/// scan made it, else a number.
std::string Builder::valueName(Value v) {
  auto it = names.find(v);
  if (it != names.end())
    return it->second;
  std::string name;
  Operation *op = v.getDefiningOp();
  unsigned i = cast<OpResult>(v).getResultNumber();
  if (auto scan = dyn_cast<model::ScanOp>(op))
    if (auto body = module.lookupSymbol<func::FuncOp>(scan.getBody()); body && !body.isExternal()) {
      if (auto attr = body.getResultAttrOfType<StringAttr>(i, "model.name"))
        name = attr.str();
      auto returned = dyn_cast<BlockArgument>(body.getBody().front().getTerminator()->getOperand(i));
      unsigned arg = returned ? returned.getArgNumber() : i;
      if (name.empty() && (returned || int64_t(i) < int64_t(scan.getCarries())))
        if (auto attr = body.getArgAttrOfType<StringAttr>(arg, "model.name"))
          name = attr.str();
      if (name.empty())
        name = "r" + std::to_string(i);
      if (int64_t(i) >= int64_t(scan.getCarries()))
        name = "layer." + name;
    }
  if (name.empty())
    name = op->getName().stripDialect().str();
  unsigned n = taken[name]++;
  if (n)
    name += "." + std::to_string(n);
  return names[v] = name;
}

void Builder::addExport(Site site, Value inside, const std::string &home) {
  Export e{inside, home};
  Function &f = functions[site];
  if (!llvm::is_contained(f.exports, e))
    f.exports.push_back(e);
}

/// `v`, made on `stage`, is used at `site` and not made there.
void Builder::import(Site site, Function &f, Value v, int stage) {
  for (const Import &i : f.imports)
    if (i.value == v && i.stage == stage)
      return;
  Operation *op = v.getDefiningOp();
  Import i{v, stage, {}, v, "", ""};
  if (cut.isTimeReduce(op)) {
    i.inside = op->getOperand(cast<OpResult>(v).getResultNumber());
    op = i.inside.getDefiningOp();
  }
  i.from = {cut.task.lookup(op), stage};
  bool body = site.task <= TaskKind::B;
  auto known = cut.home.find(v);
  std::string name;
  if (known != cut.home.end())
    i.source = known->second;
  else if (i.overTime())
    i.source = "sum " + valueName(i.inside);
  else if (i.crosses(site.stage))
    i.source = "send " + valueName(v);
  else
    i.source = (body ? "stash " : "value ") + valueName(v);
  i.target = i.source;
  if (i.crosses(site.stage)) {
    std::string rest = StringRef(i.source).starts_with("send ") ? i.source.substr(5) : i.source;
    llvm::replace(rest, ' ', '.');
    i.target = "recv " + rest;
  }
  addExport(i.from, i.inside, i.source);
  f.imports.push_back(std::move(i));
}

LogicalResult Builder::connect(Site site, Function &f) {
  for (Operation *op : f.sorted) {
    unsigned carries = cut.isPipelined(op) ? cast<model::ScanOp>(op).getCarries() : 0;
    int before = carries ? cut.before(op, site.stage) : -1;
    for (unsigned i : cut.operandsOn(op, site.stage)) {
      Value v = op->getOperand(i);
      if (before >= 0 && i < carries) {
        import(site, f, op->getResult(i), before);
        continue;
      }
      SmallVector<Value> work{v};
      while (!work.empty()) {
        Value x = work.pop_back_val();
        if (cut.isFree(x)) {
          llvm::append_range(work, x.getDefiningOp()->getOperands());
          continue;
        }
        if (auto a = dyn_cast<BlockArgument>(x)) {
          if (!llvm::is_contained(f.leaves, a))
            f.leaves.push_back(a);
          continue;
        }
        int from = cut.maker(x, site.stage);
        Operation *d = x.getDefiningOp();
        bool here =
            !cut.isTimeReduce(d) && from == site.stage && cut.task.lookup(d) == site.task && d != cut.norm;
        if (!here)
          import(site, f, x, d == cut.norm ? site.stage : from);
      }
    }
    if (op == cut.norm && cut.operandsOn(op, site.stage).empty())
      return op->emitOpError("has no term on stage ") << site.stage;
  }
  llvm::sort(f.leaves, [](BlockArgument x, BlockArgument y) { return x.getArgNumber() < y.getArgNumber(); });
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Type Builder::typeOn(Value v, int stage) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || cut.stages == 1 || !isStacked(v))
    return v.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = cut.layers[stage].second - cut.layers[stage].first;
  return type.clone(shape);
}

void Builder::emitFunction(Site site, Function &f) {
  mlir::Location loc = cut.step.getLoc();
  static const char *suffix[] = {".fwd", ".back", ".loss", ".norm", ".update"};
  b.setInsertionPoint(cut.step);
  f.fn =
      func::FuncOp::create(b, loc, meshName(site.stage) + suffix[int(site.task)], b.getFunctionType({}, {}));
  Block *block = f.fn.addEntryBlock();
  DenseMap<Value, Value> map;
  std::map<std::pair<void *, int>, Value> imported;
  SmallVector<Attribute> argAttrs, resultAttrs;
  auto attrs = [&](const std::string &home, Value v, StringAttr name) {
    NamedAttrList list;
    list.set("place.home", b.getStringAttr(home));
    if (isStacked(v))
      list.set("place.stacked", b.getUnitAttr());
    if (name)
      list.set("model.name", name);
    return list.getDictionary(b.getContext());
  };
  for (BlockArgument a : f.leaves) {
    map[a] = block->addArgument(typeOn(a, site.stage), loc);
    argAttrs.push_back(attrs(cut.argumentHome(a), a, cut.attrs(a).getAs<StringAttr>("model.name")));
  }
  for (Import &i : f.imports) {
    imported[{i.value.getAsOpaquePointer(), i.stage}] = block->addArgument(typeOn(i.value, i.stage), loc);
    argAttrs.push_back(attrs(i.target, i.value, {}));
  }
  b.setInsertionPointToStart(block);
  auto find = [&](auto &&self, Value v) -> Value {
    if (Value known = map.lookup(v))
      return known;
    if (auto it = imported.find({v.getAsOpaquePointer(), cut.maker(v, site.stage)}); it != imported.end())
      return it->second;
    // A constant.
    Operation *op = v.getDefiningOp();
    IRMapping operands;
    for (Value o : op->getOperands())
      operands.map(o, self(self, o));
    Operation *fresh = b.clone(*op, operands);
    for (auto [old, now] : llvm::zip(op->getResults(), fresh->getResults()))
      map[old] = now;
    return map[v];
  };
  for (Operation *op : f.sorted) {
    unsigned carries = cut.isPipelined(op) ? cast<model::ScanOp>(op).getCarries() : 0;
    int before = carries ? cut.before(op, site.stage) : -1;
    SmallVector<unsigned> taken = cut.operandsOn(op, site.stage);
    SmallVector<Value> operands;
    for (unsigned i : taken)
      operands.push_back(before >= 0 && i < carries
                             ? imported[{op->getResult(i).getAsOpaquePointer(), before}]
                             : find(find, op->getOperand(i)));
    SmallVector<Value> results;
    if (isa<par::AllReduceOp>(op))
      for (unsigned i : taken)
        results.push_back(op->getResult(i));
    else
      llvm::append_range(results, op->getResults());
    SmallVector<Type> types;
    for (Value r : results)
      types.push_back(typeOn(r, site.stage));
    OperationState state(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    for (unsigned r = 0; r < op->getNumRegions(); ++r)
      state.addRegion();
    Operation *fresh = b.create(state);
    for (auto [from, to] : llvm::zip(op->getRegions(), fresh->getRegions())) {
      IRMapping inside;
      from.cloneInto(&to, inside);
    }
    if (carries)
      cast<model::ScanOp>(fresh).setRange({cut.layers[site.stage].first, cut.layers[site.stage].second});
    if (op == cut.norm && taken.size() != op->getNumOperands()) {
      // The terms of this stage only.
      Operation *sum = fresh;
      b.setInsertionPoint(sum);
      fresh = model::sum(b, op->getLoc(), "", operands);
      b.setInsertionPointAfter(sum);
      sum->erase();
    }
    for (auto [old, now] : llvm::zip(results, fresh->getResults()))
      map[old] = now;
  }
  SmallVector<Value> returned;
  SmallVector<Type> types;
  for (Export &e : f.exports) {
    returned.push_back(find(find, e.inside));
    types.push_back(returned.back().getType());
    resultAttrs.push_back(attrs(e.home, e.inside, {}));
  }
  func::ReturnOp::create(b, loc, returned);
  f.fn.setFunctionType(b.getFunctionType(block->getArgumentTypes(), types));
  f.fn.setAllArgAttrs(argAttrs);
  f.fn.setAllResultAttrs(resultAttrs);
}

//===----------------------------------------------------------------------===//
// Meshes, parameters, inputs
//===----------------------------------------------------------------------===//

void Builder::emitMeshes() {
  mlir::Location loc = cut.step.getLoc();
  par::MeshOp mesh = *module.getOps<par::MeshOp>().begin();
  b.setInsertionPoint(cut.step);
  SmallVector<Attribute> axes;
  SmallVector<int64_t> sizes, strides;
  int64_t between = 0; // stages
  for (auto [axis, size, stride] : llvm::zip(mesh.getAxes(), mesh.getSizes(), par::axisStrides(mesh))) {
    if (cast<StringAttr>(axis).getValue() == cut.pipelineAxis) {
      between = stride;
      continue;
    }
    axes.push_back(axis);
    sizes.push_back(size);
    strides.push_back(stride);
  }
  for (int s = 0; s < cut.stages; ++s)
    place::MeshOp::create(b, loc, meshName(s), b.getArrayAttr(axes), sizes, s * between, strides, s,
                          {cut.layers[s].first, cut.layers[s].second});
  auto uses = [&](int s, BlockArgument a) {
    for (auto &[site, f] : functions)
      if (site.stage == s && llvm::is_contained(f.leaves, a))
        return true;
    return false;
  };
  for (int s = 0; s < cut.stages; ++s) {
    for (BlockArgument a : cut.arguments("model.param")) {
      SmallVector<int> on = cut.stagesOf(a);
      if (!llvm::is_contained(on, s))
        continue;
      DictionaryAttr d = cut.attrs(a);
      auto type = cast<RankedTensorType>(a.getType());
      auto dims = d.getAs<StringAttr>("model.dims");
      bool stacked = isStacked(a);
      if (stacked) {
        Attribute encoding = type.getEncoding();
        if (auto sharding = dyn_cast_if_present<par::ShardingAttr>(encoding))
          encoding = llvm::all_of(sharding.getDims(), [](ArrayAttr axes) { return axes.empty(); })
                         ? Attribute()
                         : par::ShardingAttr::get(b.getContext(), sharding.getDims().drop_front(),
                                                  sharding.getPartial(), sharding.getKind());
        type = RankedTensorType::get(type.getShape().drop_front(), type.getElementType(), encoding);
      }
      auto param = dyn_cast<DictionaryAttr>(d.get("model.param"));
      SmallVector<int64_t> layers;
      if (stacked)
        layers = {cut.layers[s].first, cut.layers[s].second};
      place::ParamOp::create(b, loc, meshName(s), cut.argumentName(a),
                             dims ? dims.getValue().drop_front(stacked ? 1 : 0) : "", type,
                             param ? param : b.getDictionaryAttr({}), d.getAs<DictionaryAttr>("model.valid"),
                             stacked, layers, stacked || on.front() == s);
    }
    for (BlockArgument a : cut.arguments("model.input"))
      if (uses(s, a))
        place::InputOp::create(b, loc, meshName(s),
                               cast<StringAttr>(cut.attrs(a).get("model.input")).getValue(), a.getType());
  }
}

LogicalResult Builder::run() {
  if (failed(demand()))
    return failure();
  // From last to first: what a task takes, earlier ones return.
  for (auto &[site, f] : llvm::reverse(functions))
    if (failed(connect(site, f)))
      return failure();
  emitMeshes();
  for (auto &[site, f] : functions) {
    // Returned in program order.
    auto key = [&](const Export &e) {
      return std::tuple(position[e.inside.getDefiningOp()], cast<OpResult>(e.inside).getResultNumber(),
                        e.home);
    };
    llvm::sort(f.exports, [&](const Export &x, const Export &y) { return key(x) < key(y); });
    emitFunction(site, f);
  }
  if (failed(emitStep()))
    return failure();
  cut.step.erase();
  return success();
}

} // namespace placing

LogicalResult buildPlaced(ModuleOp module, StepCut &cut) { return placing::Builder(module, cut).run(); }

} // namespace hocket
