#include "compiler/allocate/build_class.h"
#include "compiler/allocate/events.h"
#include "dialects/par/Par.h"

using namespace mlir;

namespace hocket::allocate {

namespace {
class Builder {
public:
  Builder(ModuleOp module, place::MeshOp mesh, Tables &tables,
          llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels)
      : module(module), mesh(mesh), tables(tables), initKernels(initKernels) {}
  LogicalResult run(int64_t micros);

private:
  LogicalResult ranks();
  LogicalResult lists();
  LogicalResult list(sched::OrderOp order, std::vector<format::ListEntry> &out);
  FailureOr<uint32_t> transfersTemplate(sched::TransfersOp op, format::ListEntry &entry);
  FailureOr<uint32_t> metricTemplate(sched::MetricOp op);
  std::optional<uint32_t> fillTemplate(StringRef name, ArrayRef<StringRef> regions);
  uint32_t finish(StringRef name, uint32_t first, std::vector<std::string> keys = {});
  LogicalResult initialValues();
  LogicalResult parameters();
  LogicalResult inputs();
  void placeRegions();
  FailureOr<SmallVector<SmallVector<uint32_t>>> axesOf(Type type, Operation *reportOn);
  LogicalResult checkLocal(Type global, Type local, ArrayRef<SmallVector<uint32_t>> axes, int64_t micros,
                           Operation *reportOn);
  format::Operand homeOperand(StringRef kind, StringRef name);

  ModuleOp module;
  place::MeshOp mesh;
  Tables &tables;
  llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels;
  ClassBuild build;
  llvm::StringMap<uint32_t> templateOf; ///< sched.task symbol or transfer signature -> template
};
} // namespace

uint32_t Builder::finish(StringRef name, uint32_t first, std::vector<std::string> keys) {
  build.program.templates.push_back({name.str(), first, uint32_t(build.program.instrs.size() - first)});
  build.slotKeys.push_back(std::move(keys));
  return build.program.templates.size() - 1;
}

LogicalResult Builder::ranks() {
  build.program.name = mesh.getSymName().str();
  for (const format::Axis &axis : tables.plan.axes) {
    bool all = llvm::is_contained(mesh.getAxes().getAsValueRange<StringAttr>(), axis.name);
    uint32_t here = uint32_t(mesh.getDevice() / axis.stride % axis.size);
    build.program.first.push_back(all ? 0 : here);
    build.program.last.push_back(all ? axis.size - 1 : here);
  }
  return success();
}

/// The mesh axes of every dimension of an encoded type.
FailureOr<SmallVector<SmallVector<uint32_t>>> Builder::axesOf(Type type, Operation *reportOn) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<SmallVector<uint32_t>> result(tensor.getRank());
  auto sharding = dyn_cast_or_null<par::ShardingAttr>(tensor.getEncoding());
  if (!sharding)
    return result;
  for (auto [d, axes] : llvm::enumerate(sharding.getDims()))
    for (StringAttr name : axes.getAsRange<StringAttr>()) {
      int64_t axis = tables.axis(name.getValue());
      if (axis >= 0)
        result[d].push_back(axis);
      else if (name.getValue() != "micro")
        return reportOn->emitOpError("is sharded over ") << name << ", which the mesh does not have";
    }
  return result;
}

/// Local extent × shards = global (padded) extent; an input's rows are also those of `micros` micro-batches.
LogicalResult Builder::checkLocal(Type global, Type local, ArrayRef<SmallVector<uint32_t>> axes,
                                  int64_t micros, Operation *reportOn) {
  auto g = cast<RankedTensorType>(global), l = cast<RankedTensorType>(local);
  bool fits = g.getElementType() == l.getElementType() && g.getRank() == l.getRank();
  for (int64_t d = 0; fits && d < g.getRank(); ++d) {
    int64_t extent = l.getDimSize(d) * (d == 0 ? micros : 1);
    for (uint32_t axis : axes[d])
      extent *= tables.plan.axes[axis].size;
    fits = extent == g.getDimSize(d);
  }
  if (fits)
    return success();
  return reportOn->emitOpError("of type ")
         << global << " is held as " << local << " by @" << mesh.getSymName();
}

format::Operand Builder::homeOperand(StringRef kind, StringRef name) {
  const Home *home = build.layout.find(StringAttr::get(module.getContext(), (kind + " " + name).str()));
  if (!home)
    return format::Operand{format::OperandKind::Constant, 0, 0, 0, 0}; // not held by this class
  return build.at(*home, home->layered, 0);
}

/// One template that zeroes whole regions (those that exist), or none.
std::optional<uint32_t> Builder::fillTemplate(StringRef name, ArrayRef<StringRef> regions) {
  uint32_t first = build.program.instrs.size();
  for (StringRef wanted : regions)
    for (auto [i, region] : llvm::enumerate(build.layout.regions)) {
      if (region.name != wanted)
        continue;
      format::Instr instr;
      instr.op = format::Op::Fill;
      instr.stream = build.stream("compute");
      instr.bytes = region.bytes;
      instr.name = tables.string(("zero " + wanted).str());
      format::Operand at;
      at.index = i;
      build.add(instr, {at});
    }
  if (build.program.instrs.size() == first)
    return std::nullopt;
  return finish(name, first);
}

FailureOr<uint32_t> Builder::transfersTemplate(sched::TransfersOp op, format::ListEntry &entry) {
  // Signature: what moves where; only slots differ between entries of one template.
  struct Item {
    bool send;
    StringRef home, comm, stream;
    int64_t delta, slot;
  };
  SmallVector<Item> items;
  for (Operation &inner : op.getBody().front()) {
    if (auto send = dyn_cast<sched::SendOp>(inner))
      items.push_back({true, send.getHome(), send.getComm(), send.getStream(), int64_t(send.getDelta()),
                       int64_t(send.getSlot())});
    else if (auto recv = dyn_cast<sched::RecvOp>(inner))
      items.push_back({false, recv.getHome(), recv.getComm(), recv.getStream(), int64_t(recv.getDelta()),
                       int64_t(recv.getSlot())});
  }
  std::string signature;
  std::vector<std::string> keys;
  for (const Item &item : items) {
    signature += (Twine(signature.empty() ? "" : ", ") + (item.send ? "to " : "from ") + Twine(item.delta) +
                  ": " + item.home + " on " + item.comm)
                     .str();
    keys.push_back(slotKey(item.home));
  }
  unsigned slotted = 0;
  for (auto [i, item] : llvm::enumerate(items))
    if (!keys[i].empty()) {
      if (slotted == 4)
        return op.emitOpError("moves more than four slotted buffers at one level");
      if (item.slot < 0 || item.slot > UINT16_MAX)
        return op.emitOpError("moves slot ") << item.slot << "; legal: 0 to " << UINT16_MAX;
      entry.slot[slotted++] = uint16_t(item.slot);
    }
  auto it = templateOf.find(signature);
  if (it != templateOf.end())
    return it->second;
  uint32_t first = build.program.instrs.size();
  if (items.size() > 1) {
    format::Instr group;
    group.op = format::Op::Group;
    group.stream = build.stream(items.front().stream);
    group.arg = items.size();
    group.name = tables.string("transfers");
    build.add(group, {});
  }
  unsigned position = 0;
  for (auto [i, item] : llvm::enumerate(items)) {
    const Home *home = build.layout.find(StringAttr::get(module.getContext(), item.home));
    if (!home)
      return op.emitOpError("moves \"")
             << item.home << "\", which no task of " << build.layout.stage << " has";
    FailureOr<uint32_t> comm = tables.communicator(item.comm, op);
    if (failed(comm))
      return failure();
    if (item.stream != items.front().stream)
      return op.emitOpError("groups transfers of two streams");
    format::Instr instr;
    instr.op = item.send ? format::Op::Send : format::Op::Recv;
    instr.stream = build.stream(item.stream);
    instr.index = *comm;
    instr.arg = item.delta;
    instr.bytes = home->bytes;
    instr.name = tables.string(item.home);
    build.add(instr, {build.at(*home, false, keys[i].empty() ? 0 : ++position)});
  }
  uint32_t index = finish(signature, first);
  templateOf[signature] = index;
  return index;
}

FailureOr<uint32_t> Builder::metricTemplate(sched::MetricOp op) {
  std::string name = ("metric " + op.getName()).str();
  auto it = templateOf.find(name);
  if (it != templateOf.end())
    return it->second;
  const Home *home = build.layout.find(StringAttr::get(module.getContext(), op.getHome()));
  if (!home)
    return op.emitOpError("reports \"") << op.getHome() << "\", which no task has";
  FailureOr<format::DType> dtype = dtypeOf(home->type, op);
  if (failed(dtype))
    return failure();
  format::Instr instr;
  instr.op = format::Op::Metric;
  instr.stream = build.stream("compute");
  instr.index = tables.plan.metrics.size();
  instr.name = tables.string(op.getName());
  tables.plan.metrics.push_back({op.getName().str(), uint32_t(tables.plan.classes.size()), *dtype});
  uint32_t first = build.program.instrs.size();
  build.add(instr, {build.at(*home, false, 0)});
  return templateOf[name] = finish(name, first);
}

LogicalResult Builder::list(sched::OrderOp order, std::vector<format::ListEntry> &out) {
  for (Operation &op : order.getBody().front()) {
    format::ListEntry entry;
    if (auto run = dyn_cast<sched::RunOp>(op)) {
      auto it = templateOf.find(run.getTask());
      if (it == templateOf.end())
        return op.emitOpError("runs no task of ") << build.layout.stage << ": @" << run.getTask();
      entry.templateIndex = it->second;
      entry.micro = run.getMicro();
      for (auto [i, key] : llvm::enumerate(build.slotKeys[entry.templateIndex])) {
        Attribute slot = run.getSlots().get(key);
        if (!slot)
          return op.emitOpError("gives no slot for \"") << key << "\"";
        auto number = dyn_cast<IntegerAttr>(slot);
        if (!number || number.getInt() < 0 || number.getInt() > UINT16_MAX)
          return op.emitOpError("slot of \"") << key << "\" is " << slot << "; legal: 0 to " << UINT16_MAX;
        entry.slot[i] = uint16_t(number.getInt());
      }
    } else if (auto transfers = dyn_cast<sched::TransfersOp>(op)) {
      FailureOr<uint32_t> index = transfersTemplate(transfers, entry);
      if (failed(index))
        return failure();
      entry.templateIndex = *index;
    } else {
      FailureOr<uint32_t> index = metricTemplate(cast<sched::MetricOp>(op)); // no fourth op in an order
      if (failed(index))
        return failure();
      entry.templateIndex = *index;
    }
    out.push_back(entry);
  }
  return success();
}

LogicalResult Builder::lists() {
  std::optional<uint32_t> zeroStep = fillTemplate("zero", {"gradient", "gradient.layer", "sum"});
  std::optional<uint32_t> zeroEval = fillTemplate("zero sums", {"sum"});
  auto push = [](std::optional<uint32_t> index, std::vector<format::ListEntry> &list) {
    if (index)
      list.push_back({uint16_t(*index), 0, 0, {}});
  };
  push(zeroStep, build.program.step);
  push(zeroEval, build.program.eval);
  for (sched::OrderOp order : build.layout.orders) {
    std::vector<format::ListEntry> &out = order.getTable() == "step"   ? build.program.step
                                          : order.getTable() == "eval" ? build.program.eval
                                                                       : build.program.init;
    // A tied copy draws the same initial numbers as its owner; nothing needs to be sent.
    if (order.getTable() != "init" && failed(list(order, out)))
      return failure();
  }
  return success();
}

/// 64-bit FNV-1a: the generator's key of a parameter, from its model-level name.
static uint64_t keyOf(StringRef name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

LogicalResult Builder::initialValues() {
  uint32_t first = build.program.instrs.size();
  format::Instr fill;
  for (auto [i, region] : llvm::enumerate(build.layout.regions))
    if (region.kind == format::RegionKind::State) {
      fill.op = format::Op::Fill;
      fill.stream = build.stream("compute");
      fill.bytes = region.bytes;
      fill.name = tables.string("zero moments");
      format::Operand at;
      at.index = i;
      build.add(fill, {at});
    }
  size_t repeatAt = 0;
  for (bool stacked : {false, true}) {
    if (stacked) {
      repeatAt = build.program.instrs.size();
      format::Instr repeat;
      repeat.op = format::Op::Repeat;
      repeat.to = mesh.getLayers()[1] - mesh.getLayers()[0];
      repeat.step = 1;
      build.add(repeat, {});
    }
    for (auto param : module.getOps<place::ParamOp>()) {
      if (param.getMesh() != mesh.getSymName() || param.getStacked() != stacked)
        continue;
      const Home *home =
          build.layout.find(StringAttr::get(module.getContext(), "param " + param.getName().str()));
      if (!home)
        return param.emitOpError("is used by no task of its mesh");
      auto global = cast<RankedTensorType>(param.getType());
      auto local = cast<RankedTensorType>(home->type);
      FailureOr<SmallVector<SmallVector<uint32_t>>> axes = axesOf(global, param);
      if (failed(axes) || failed(checkLocal(global, local, *axes, 1, param)))
        return failure();
      kernels::InitSpec spec;
      DictionaryAttr checkpoint = param.getCheckpoint();
      spec.kind = cast<StringAttr>(checkpoint.get("init")).getValue().str();
      if (auto std = dyn_cast_or_null<FloatAttr>(checkpoint.get("std")))
        spec.std = std.getValueAsDouble();
      spec.type = local.getElementType();
      spec.local.assign(local.getShape().begin(), local.getShape().end());
      spec.global.assign(global.getShape().begin(), global.getShape().end());
      spec.key = keyOf(param.getName());
      SmallVector<format::Operand> operands{build.at(*home, stacked, 0)};
      SmallVector<format::Affine> offsets;
      for (auto [d, letter] : llvm::enumerate(param.getDims()))
        if (param.getValid())
          if (auto valid = dyn_cast_or_null<IntegerAttr>(param.getValid()->get(StringRef(&letter, 1)))) {
            spec.global[d] = valid.getInt();
            spec.padded.push_back(d);
          }
      format::Affine base;
      base.coordinate.assign(tables.plan.axes.size(), 0);
      int64_t stride = 1;
      SmallVector<format::Affine> perDim(spec.local.size());
      for (int64_t d = int64_t(spec.local.size()) - 1; d >= 0; --d) {
        format::Affine &offset = perDim[d];
        offset.coordinate.assign(tables.plan.axes.size(), 0);
        int64_t factor = spec.local[d];
        for (uint32_t axis : llvm::reverse((*axes)[d])) {
          offset.coordinate[axis] = factor;
          factor *= tables.plan.axes[axis].size;
        }
        for (size_t a = 0; a < tables.plan.axes.size(); ++a)
          base.coordinate[a] += offset.coordinate[a] * stride;
        stride *= spec.global[d];
      }
      if (stacked) {
        base.layer = stride;
        base.constant = param.getLayers()[0] * stride;
      }
      auto affine = [&](const format::Affine &a) {
        format::Operand at;
        at.kind = format::OperandKind::Affine;
        at.index = tables.affine(a);
        return at;
      };
      operands.push_back(affine(base));
      FailureOr<uint32_t> seed = tables.scalar("seed", format::DType::I64, param);
      if (failed(seed))
        return failure();
      operands.push_back({format::OperandKind::Scalar, 0, uint16_t(*seed), 0, 0});
      for (unsigned d : spec.padded)
        operands.push_back(affine(perDim[d]));
      kernels::KernelDesc desc = kernels::describeInit(spec);
      for (size_t i = 1; i < desc.args.size(); ++i)
        desc.args[i].access = format::Access::Value;
      initKernels.insert({StringAttr::get(module.getContext(), desc.symbol), spec});
      format::Instr instr;
      instr.op = format::Op::Launch;
      instr.stream = build.stream("compute");
      instr.index = tables.kernel(desc);
      instr.name = tables.string(("init " + param.getName()).str());
      build.add(instr, operands);
    }
  }
  int32_t body = int32_t(build.program.instrs.size() - repeatAt - 1);
  if (body == 0)
    build.program.instrs.pop_back();
  else
    build.program.instrs[repeatAt].arg = body;
  build.program.init.push_back({uint16_t(finish("init", first)), 0, 0, {}});
  return success();
}

LogicalResult Builder::parameters() {
  for (auto param : module.getOps<place::ParamOp>()) {
    if (param.getMesh() != mesh.getSymName())
      continue;
    auto global = cast<RankedTensorType>(param.getType());
    const Home *home =
        build.layout.find(StringAttr::get(module.getContext(), "param " + param.getName().str()));
    auto local = cast<RankedTensorType>(home->type);
    FailureOr<format::DType> dtype = dtypeOf(local, param);
    FailureOr<SmallVector<SmallVector<uint32_t>>> axes = axesOf(global, param);
    if (failed(dtype) || failed(axes))
      return failure();
    format::Param entry;
    DictionaryAttr checkpoint = param.getCheckpoint();
    entry.name = cast<StringAttr>(checkpoint.get("name")).getValue().str();
    entry.id = param.getName().str();
    entry.dtype = *dtype;
    entry.layout = cast<StringAttr>(checkpoint.get("layout")).getValue().str();
    if (auto part = dyn_cast_or_null<ArrayAttr>(checkpoint.get("part"))) {
      entry.partDim = cast<IntegerAttr>(part[0]).getInt();
      entry.partIndex = cast<IntegerAttr>(part[1]).getInt();
      entry.partCount = cast<IntegerAttr>(part[2]).getInt();
    } else if (auto part = dyn_cast_or_null<DenseI64ArrayAttr>(checkpoint.get("part"))) {
      entry.partDim = part[0];
      entry.partIndex = part[1];
      entry.partCount = part[2];
    }
    for (auto [d, letter] : llvm::enumerate(param.getDims())) {
      format::ParamDim dim;
      dim.letter = letter;
      dim.local = local.getDimSize(d);
      dim.global = global.getDimSize(d);
      if (param.getValid())
        if (auto valid = dyn_cast_or_null<IntegerAttr>(param.getValid()->get(StringRef(&letter, 1))))
          dim.global = valid.getInt();
      dim.axes.assign((*axes)[d].begin(), (*axes)[d].end());
      entry.dims.push_back(dim);
    }
    entry.stacked = param.getStacked();
    if (entry.stacked) {
      entry.layerBegin = param.getLayers()[0];
      entry.layerEnd = param.getLayers()[1];
    }
    entry.classIndex = tables.plan.classes.size();
    entry.owner = param.getOwner();
    entry.value = homeOperand("param", param.getName());
    entry.gradient = homeOperand("grad", param.getName());
    entry.moment1 = homeOperand("m", param.getName());
    entry.moment2 = homeOperand("v", param.getName());
    tables.plan.params.push_back(entry);
  }
  return success();
}

LogicalResult Builder::inputs() {
  for (auto input : module.getOps<place::InputOp>()) {
    if (input.getMesh() != mesh.getSymName())
      continue;
    const Home *home =
        build.layout.find(StringAttr::get(module.getContext(), "input " + input.getName().str()));
    if (!home)
      continue;
    format::Input entry;
    if (input.getName() == "tokens")
      entry.kind = format::InputKind::Tokens;
    else if (input.getName() == "labels")
      entry.kind = format::InputKind::Labels;
    else
      return input.emitOpError("is none of the inputs that the runtime writes: tokens, labels");
    entry.classIndex = tables.plan.classes.size();
    entry.at = build.at(*home, false, 0);
    FailureOr<SmallVector<SmallVector<uint32_t>>> axes = axesOf(input.getType(), input);
    if (failed(axes) || failed(checkLocal(input.getType(), home->type, *axes, build.layout.micros, input)))
      return failure();
    entry.rows = cast<RankedTensorType>(home->type).getDimSize(0);
    entry.axes.assign((*axes)[0].begin(), (*axes)[0].end());
    tables.plan.inputs.push_back(entry);
  }
  return success();
}

/// Final offsets, in region order.
void Builder::placeRegions() {
  build.layout.regions[build.scratchRegion].bytes = std::max<uint64_t>(build.scratchBytes, kAlign);
  uint64_t end = 0;
  for (format::Region &region : build.layout.regions) {
    region.offset = alignUp(end);
    end = region.offset + region.bytes;
  }
  build.program.arenaBytes = alignUp(end);
  build.program.regions = build.layout.regions;
}

LogicalResult Builder::run(int64_t micros) {
  FailureOr<ClassLayout> layout = layoutClass(module, mesh.getSymName(), micros);
  if (failed(layout))
    return failure();
  build.layout = std::move(*layout);
  format::Region scratch;
  scratch.name = "scratch";
  scratch.kind = format::RegionKind::Scratch;
  build.scratchRegion = build.layout.addRegion(scratch);
  build.stream("compute");
  if (failed(ranks()))
    return failure();
  for (Operation *op : build.layout.tasks) {
    auto task = cast<sched::TaskOp>(op);
    FailureOr<uint32_t> index = buildTaskTemplate(task, build, tables);
    if (failed(index))
      return failure();
    templateOf[task.getSymName()] = *index;
  }
  if (failed(lists()) || failed(initialValues()) || failed(parameters()) || failed(inputs()))
    return failure();
  placeRegions();
  deriveEvents(build.program, tables.plan);
  tables.plan.classes.push_back(std::move(build.program));
  return success();
}

LogicalResult buildClass(ModuleOp module, place::MeshOp mesh, int64_t micros, Tables &tables,
                         llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels) {
  return Builder(module, mesh, tables, initKernels).run(micros);
}

} // namespace hocket::allocate
