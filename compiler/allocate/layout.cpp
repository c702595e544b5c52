#include "compiler/allocate/layout.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace hocket::allocate {

uint64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0; // dtypeOf reports it where it matters
  uint64_t bits = tensor.getElementType().getIntOrFloatBitWidth();
  return uint64_t(tensor.getNumElements()) * (bits / 8);
}

FailureOr<format::DType> dtypeOf(Type type, Operation *reportOn) {
  Type element = getElementTypeOrSelf(type);
  if (element.isF32())
    return format::DType::F32;
  if (element.isF64())
    return format::DType::F64;
  if (element.isInteger(32))
    return format::DType::I32;
  if (element.isInteger(64))
    return format::DType::I64;
  return reportOn->emitOpError("element type ")
         << element << " has no place in a plan; f32, f64, i32 and i64 have";
}

StringRef kindOf(StringRef home) { return home.split(' ').first; }

std::string slotKey(StringRef home) {
  StringRef kind = kindOf(home);
  if (kind == "stash")
    return "stash";
  if (kind == "send" || kind == "recv")
    return home.str();
  return "";
}

uint32_t ClassLayout::addRegion(format::Region region) {
  uint64_t end = regions.empty() ? 0 : regions.back().offset + regions.back().bytes;
  region.offset = alignUp(end);
  regions.push_back(std::move(region));
  return regions.size() - 1;
}

static sched::TaskOp parentTask(Block *block) { return dyn_cast<sched::TaskOp>(block->getParentOp()); }

std::optional<HomeRef> homeOf(Value value) {
  bool slice = false;
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (auto task = parentTask(argument.getOwner()))
        return HomeRef{cast<StringAttr>(task.getInputs()[argument.getArgNumber()]), slice};
      auto repeat = dyn_cast<sched::RepeatOp>(argument.getOwner()->getParentOp());
      if (!repeat || argument.getArgNumber() < repeat.getCarries())
        return std::nullopt;
      if (argument.getArgNumber() >= repeat.getCarries() + repeat.getShared())
        slice = true;
      value = repeat.getInputs()[argument.getArgNumber()];
      continue;
    }
    auto result = cast<OpResult>(value);
    if (auto launch = dyn_cast<sched::LaunchOp>(result.getOwner())) {
      ArrayRef<int64_t> pairs = launch.getInplace();
      std::optional<int64_t> operand;
      for (size_t i = 0; i + 1 < pairs.size(); i += 2)
        if (pairs[i] == result.getResultNumber())
          operand = pairs[i + 1];
      if (!operand)
        return std::nullopt;
      value = launch.getInputs()[*operand];
    } else if (auto gemm = dyn_cast<sched::GemmOp>(result.getOwner())) {
      if (!gemm.getC())
        return std::nullopt;
      value = gemm.getC();
    } else if (auto collective = dyn_cast<sched::CollectiveOp>(result.getOwner())) {
      value = collective.getInputs()[result.getResultNumber()];
    } else if (auto repeat = dyn_cast<sched::RepeatOp>(result.getOwner())) {
      ArrayRef<int64_t> pairs = repeat.getInplace();
      std::optional<int64_t> operand;
      for (size_t i = 0; i + 1 < pairs.size(); i += 2)
        if (pairs[i] == result.getResultNumber())
          operand = pairs[i + 1];
      if (!operand)
        return std::nullopt;
      value = repeat.getInputs()[*operand];
    } else {
      return std::nullopt;
    }
  }
}

/// A task argument is stacked if a repeat takes it in slices, a task result if a repeat stacks it.
static std::optional<int64_t> stackedCount(Value value, bool asResult) {
  if (asResult) {
    if (auto result = dyn_cast<OpResult>(value))
      if (auto repeat = dyn_cast<sched::RepeatOp>(result.getOwner()))
        if (result.getResultNumber() >= repeat.getCarries())
          return repeat.getCount();
    return std::nullopt;
  }
  for (OpOperand &use : value.getUses())
    if (auto repeat = dyn_cast<sched::RepeatOp>(use.getOwner()))
      if (use.getOperandNumber() >= repeat.getCarries() + repeat.getShared())
        return repeat.getCount();
  return std::nullopt;
}

/// The type of all layers' instances together, which is what a task takes or gives.
static Type wholeType(const Home &home) {
  if (!home.layered)
    return home.type;
  auto tensor = cast<RankedTensorType>(home.type);
  SmallVector<int64_t> shape{home.layers};
  llvm::append_range(shape, tensor.getShape());
  return RankedTensorType::get(shape, tensor.getElementType());
}

static LogicalResult addHome(ClassLayout &layout, StringAttr name, Type type, std::optional<int64_t> stacked,
                             Operation *reportOn) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return reportOn->emitOpError("home \"")
           << name.getValue() << "\" has type " << type << "; homes hold tensors of static shape";
  Home home;
  home.name = name.getValue().str();
  home.layered = stacked.has_value();
  home.layers = stacked.value_or(1);
  home.type = tensor;
  if (stacked)
    home.type = RankedTensorType::get(tensor.getShape().drop_front(), tensor.getElementType());
  if (failed(dtypeOf(home.type, reportOn)))
    return failure();
  home.bytes = bytesOf(home.type);
  auto [it, fresh] = layout.homes.insert({name, home});
  if (fresh)
    return success();
  if (wholeType(it->second) != type)
    return reportOn->emitOpError("home \"") << name.getValue() << "\" has type " << wholeType(it->second)
                                            << " elsewhere and " << type << " here";
  if (home.layered && !it->second.layered)
    it->second = home;
  return success();
}

/// The homes of each collective with several operands, which must lie next to each other.
static SmallVector<SmallVector<StringAttr>> buckets(ClassLayout &layout) {
  SmallVector<SmallVector<StringAttr>> result;
  for (Operation *task : layout.tasks)
    task->walk([&](sched::CollectiveOp collective) {
      if (collective.getInputs().size() < 2)
        return;
      SmallVector<StringAttr> names;
      for (Value v : collective.getInputs())
        if (auto ref = homeOf(v))
          names.push_back(ref->home);
      if (names.size() == collective.getInputs().size())
        result.push_back(names);
    });
  return result;
}

namespace {
struct RegionRule {
  StringRef kind, name;
  format::RegionKind region;
};
} // namespace

/// The regions that hold several homes, in the order of the arena.
static constexpr RegionRule kRules[] = {
    {"param", "parameter", format::RegionKind::Parameter}, {"m", "moment1", format::RegionKind::State},
    {"v", "moment2", format::RegionKind::State},           {"grad", "gradient", format::RegionKind::Gradient},
    {"sum", "sum", format::RegionKind::Gradient},          {"value", "value", format::RegionKind::Buffer},
    {"stash", "stash", format::RegionKind::Stash},
};

static LogicalResult layoutRegions(ClassLayout &layout, const std::map<std::string, uint32_t> &slots) {
  auto slotsOf = [&](const std::string &key) {
    auto it = slots.find(key);
    return it == slots.end() ? 1u : it->second + 1;
  };
  SmallVector<SmallVector<StringAttr>> groups = buckets(layout);
  for (const RegionRule &rule : kRules)
    for (bool layered : {false, true}) {
      SmallVector<StringAttr> order;
      auto take = [&](StringAttr name) {
        auto it = layout.homes.find(name);
        if (it != layout.homes.end() && kindOf(name.getValue()) == rule.kind &&
            it->second.layered == layered && !llvm::is_contained(order, name))
          order.push_back(name);
      };
      for (auto &group : groups)
        for (StringAttr name : group)
          take(name);
      for (auto &entry : layout.homes)
        take(entry.first);
      if (order.empty())
        continue;
      format::Region region;
      region.name = (rule.name + (layered ? ".layer" : "")).str();
      region.kind = rule.region;
      uint64_t size = 0;
      for (StringAttr name : order) {
        Home &home = layout.homes[name];
        home.offset = size;
        home.region = layout.regions.size();
        size = alignUp(size + home.bytes);
        region.layers = home.layers;
      }
      if (layered)
        region.layerStride = size;
      uint64_t one = size * region.layers;
      if (rule.kind == "stash") {
        region.slots = slotsOf("stash");
        region.slotStride = one;
      }
      region.bytes = one * region.slots;
      layout.addRegion(region);
    }
  for (auto &[name, home] : layout.homes) {
    StringRef kind = kindOf(name.getValue());
    if (kind == "scalar" || llvm::any_of(kRules, [&](const RegionRule &r) { return r.kind == kind; }))
      continue;
    assert((kind == "send" || kind == "recv" || kind == "input") && "the task's verifier knows the kinds");
    if (home.layered)
      return layout.tasks.front()->emitOpError("home \"")
             << name.getValue() << "\" cannot be stacked over layers";
    format::Region region;
    region.name = name.getValue().str();
    uint64_t one = alignUp(home.bytes);
    if (kind == "input") {
      region.kind = format::RegionKind::Input;
      region.micros = layout.micros;
      region.microStride = one;
      region.bytes = one * layout.micros;
    } else {
      region.kind = format::RegionKind::Transfer;
      region.slots = slotsOf(name.getValue().str());
      region.slotStride = one;
      region.bytes = one * region.slots;
    }
    home.region = layout.addRegion(region);
  }
  return success();
}

FailureOr<ClassLayout> layoutClass(ModuleOp module, StringRef stage, int64_t micros) {
  ClassLayout layout;
  layout.stage = stage.str();
  layout.micros = micros;
  for (auto task : module.getOps<sched::TaskOp>())
    if (task.getStage() == stage)
      layout.tasks.push_back(task);
  for (auto order : module.getOps<sched::OrderOp>())
    if (order.getStage() == stage)
      layout.orders.push_back(order);

  for (Operation *op : layout.tasks) {
    auto task = cast<sched::TaskOp>(op);
    for (auto [name, argument] : llvm::zip(task.getInputs(), task.getBody().getArguments()))
      if (failed(addHome(layout, cast<StringAttr>(name), argument.getType(), stackedCount(argument, false),
                         task)))
        return failure();
    Operation *yield = task.getBody().front().getTerminator();
    for (auto [name, value] : llvm::zip(task.getOutputs(), yield->getOperands()))
      if (failed(addHome(layout, cast<StringAttr>(name), value.getType(), stackedCount(value, true), task)))
        return failure();
  }

  std::map<std::string, uint32_t> slots;
  auto see = [&](const std::string &key, int64_t slot) {
    if (!key.empty())
      slots[key] = std::max<uint32_t>(slots[key], slot);
  };
  for (sched::OrderOp order : layout.orders)
    order.walk([&](Operation *op) {
      if (auto run = dyn_cast<sched::RunOp>(op))
        for (NamedAttribute slot : run.getSlots())
          see(slot.getName().str(), cast<IntegerAttr>(slot.getValue()).getInt());
      if (auto send = dyn_cast<sched::SendOp>(op))
        see(slotKey(send.getHome()), send.getSlot());
      if (auto recv = dyn_cast<sched::RecvOp>(op))
        see(slotKey(recv.getHome()), recv.getSlot());
    });
  if (failed(layoutRegions(layout, slots)))
    return failure();
  return layout;
}

} // namespace hocket::allocate
