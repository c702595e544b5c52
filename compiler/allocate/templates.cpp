#include "compiler/allocate/templates.h"
#include "compiler/allocate/placement.h"
#include "dialects/par/Par.h"

using namespace mlir;

namespace hocket::allocate {

uint32_t ClassBuild::stream(StringRef name) {
  auto [it, fresh] = streams.try_emplace(name, program.streams.size());
  if (fresh)
    program.streams.push_back(name.str());
  return it->second;
}

void ClassBuild::add(format::Instr instr, ArrayRef<format::Operand> operands) {
  instr.firstOperand = operands.empty() ? 0 : program.operands.size();
  instr.operandCount = operands.size();
  program.operands.insert(program.operands.end(), operands.begin(), operands.end());
  program.instrs.push_back(instr);
}

format::Operand ClassBuild::at(const Home &home, bool slice, unsigned slotPosition) const {
  format::Operand operand;
  operand.index = home.region;
  operand.offset = home.offset;
  operand.flags = slotPosition;
  if (slice)
    operand.flags |= format::kLayered;
  if (layout.regions[home.region].kind == format::RegionKind::Input)
    operand.flags |= format::kMicro;
  return operand;
}

namespace {
class TaskTemplate {
public:
  TaskTemplate(sched::TaskOp task, ClassBuild &build, Tables &tables)
      : task(task), build(build), tables(tables), placement(task, build.layout) {}

  FailureOr<uint32_t> run();

private:
  LogicalResult emitBlock(Block &block);
  LogicalResult emit(Operation &op);
  LogicalResult emitLaunch(sched::LaunchOp op);
  LogicalResult emitGemm(sched::GemmOp op);
  LogicalResult emitCollective(sched::CollectiveOp op);
  LogicalResult emitRepeat(sched::RepeatOp op);
  LogicalResult emitCopies(Operation *before);
  FailureOr<format::Operand> operand(Value value, Operation *user);
  format::Operand scratch(uint64_t offset) const {
    format::Operand at;
    at.index = build.scratchRegion;
    at.offset = offset;
    return at;
  }
  unsigned slotPosition(StringRef home);
  uint32_t nameOf(Operation *op, StringRef fallback);

  sched::TaskOp task;
  ClassBuild &build;
  Tables &tables;
  Placement placement;
  std::vector<std::string> keys;
};
} // namespace

unsigned TaskTemplate::slotPosition(StringRef home) {
  std::string key = slotKey(home);
  if (key.empty())
    return 0;
  for (auto [i, k] : llvm::enumerate(keys))
    if (k == key)
      return i + 1;
  keys.push_back(key);
  return keys.size();
}

/// The value's name where the model gave it one (a location of its own), else the kernel's.
uint32_t TaskTemplate::nameOf(Operation *op, StringRef fallback) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  if (name && op->getLoc() != task->getParentOp()->getLoc())
    return tables.string(name.getName().getValue());
  return tables.string(fallback);
}

FailureOr<format::Operand> TaskTemplate::operand(Value value, Operation *user) {
  if (isa<IndexType>(value.getType())) {
    auto coord = value.getDefiningOp<par::CoordOp>();
    if (!coord)
      return user->emitOpError("takes an index that is no par.coord");
    FailureOr<format::Affine> affine = tables.coordinate(coord.getAxes(), coord.getTimes(), coord);
    if (failed(affine))
      return failure();
    format::Operand at;
    at.kind = format::OperandKind::Affine;
    at.index = tables.affine(*affine);
    return at;
  }
  const Spot &spot = placement.spot(value);
  if (!spot.home)
    return scratch(spot.offset);
  if (kindOf(spot.home.getValue()) == "scalar") {
    FailureOr<format::DType> dtype = dtypeOf(value.getType(), user);
    if (failed(dtype))
      return failure();
    FailureOr<uint32_t> index = tables.scalar(spot.home.getValue().split(' ').second, *dtype, user);
    if (failed(index))
      return failure();
    format::Operand at;
    at.kind = format::OperandKind::Scalar;
    at.index = *index;
    return at;
  }
  return build.at(*build.layout.find(spot.home), spot.slice, slotPosition(spot.home.getValue()));
}

LogicalResult TaskTemplate::emitCopies(Operation *before) {
  for (const Copy &copy : placement.copiesBefore(before)) {
    FailureOr<format::Operand> from = operand(copy.from, before);
    if (failed(from))
      return failure();
    const Spot &to = copy.to;
    format::Operand target =
        to.home ? build.at(*build.layout.find(to.home), to.slice, slotPosition(to.home.getValue()))
                : scratch(to.offset);
    format::Instr instr;
    instr.op = format::Op::Copy;
    instr.stream = build.stream("compute");
    instr.bytes = bytesOf(copy.from.getType());
    instr.name = tables.string("copy");
    build.add(instr, {*from, target});
  }
  return success();
}

LogicalResult TaskTemplate::emitLaunch(sched::LaunchOp op) {
  FailureOr<const kernels::KernelDesc *> desc = tables.describe(op.getKernel(), op);
  if (failed(desc))
    return failure();
  kernels::KernelDesc entry = **desc;
  SmallVector<format::Operand> operands;
  for (Value v :
       llvm::concat<Value>(SmallVector<Value>(op.getInputs()), SmallVector<Value>(op.getResults()))) {
    FailureOr<format::Operand> at = operand(v, op);
    if (failed(at))
      return failure();
    operands.push_back(*at);
  }
  if (entry.scratchBytes > 0)
    operands.push_back(scratch(placement.scratchOf(op)));
  if (operands.size() != entry.args.size())
    return op.emitOpError("passes ") << operands.size() << " arguments to a kernel of " << entry.args.size();
  for (auto [at, arg] : llvm::zip(operands, entry.args))
    if (at.kind != format::OperandKind::Region)
      arg.access = format::Access::Value;
  format::Instr instr;
  instr.op = format::Op::Launch;
  instr.stream = build.stream(op.getStream());
  instr.index = tables.kernel(entry);
  instr.name = nameOf(op, op.getKernel());
  build.add(instr, operands);
  return success();
}

LogicalResult TaskTemplate::emitGemm(sched::GemmOp op) {
  FailureOr<uint32_t> index = tables.gemm(op);
  if (failed(index))
    return failure();
  SmallVector<format::Operand> operands;
  for (Value v : {op.getA(), op.getB(), op.getResult()}) {
    FailureOr<format::Operand> at = operand(v, op);
    if (failed(at))
      return failure();
    operands.push_back(*at);
  }
  if (tables.plan.gemms[*index].scratchBytes > 0)
    operands.push_back(scratch(placement.scratchOf(op)));
  format::Instr instr;
  instr.op = format::Op::Gemm;
  instr.stream = build.stream(op.getStream());
  instr.index = *index;
  instr.name = nameOf(op, "gemm");
  build.add(instr, operands);
  return success();
}

LogicalResult TaskTemplate::emitCollective(sched::CollectiveOp op) {
  FailureOr<uint32_t> comm = tables.communicator(op.getComm(), op);
  FailureOr<format::DType> dtype = dtypeOf(op.getInputs().front().getType(), op);
  if (failed(comm) || failed(dtype))
    return failure();
  FailureOr<format::Operand> first = operand(op.getResults().front(), op);
  if (failed(first))
    return failure();
  // One message: each begins where the one before ends, aligned; whatever lay between would be summed too.
  int64_t end = first->offset;
  for (Value result : op.getResults()) {
    FailureOr<format::Operand> at = operand(result, op);
    if (failed(at))
      return failure();
    if (at->index != first->index || at->flags != first->flags || at->offset < end ||
        at->offset > int64_t(llvm::alignTo(uint64_t(end), 64)))
      return op.emitOpError("has operands that do not lie next to each other");
    end = at->offset + int64_t(bytesOf(result.getType()));
  }
  format::Instr instr;
  instr.op = format::Op::Collective;
  instr.stream = build.stream(op.getStream());
  instr.index = *comm;
  instr.arg = int32_t(op.getKind() == "all_reduce_max" ? format::CollectiveKind::AllReduceMax
                                                       : format::CollectiveKind::AllReduceSum);
  instr.flags = uint16_t(*dtype);
  instr.bytes = uint64_t(end - first->offset);
  instr.name = nameOf(op, ("all_reduce " + op.getComm()).str());
  build.add(instr, {*first});
  return success();
}

LogicalResult TaskTemplate::emitRepeat(sched::RepeatOp op) {
  size_t at = build.program.instrs.size();
  format::Instr instr;
  instr.op = format::Op::Repeat;
  int32_t count = op.getCount();
  instr.from = op.getReverse() ? count - 1 : 0;
  instr.to = op.getReverse() ? -1 : count;
  instr.step = op.getReverse() ? -1 : 1;
  build.add(instr, {});
  if (failed(emitBlock(op.getBody().front())))
    return failure();
  build.program.instrs[at].arg = int32_t(build.program.instrs.size() - at - 1);
  return success();
}

LogicalResult TaskTemplate::emit(Operation &op) {
  if (failed(emitCopies(&op)))
    return failure();
  if (auto launch = dyn_cast<sched::LaunchOp>(op))
    return emitLaunch(launch);
  if (auto gemm = dyn_cast<sched::GemmOp>(op))
    return emitGemm(gemm);
  if (auto collective = dyn_cast<sched::CollectiveOp>(op))
    return emitCollective(collective);
  if (auto repeat = dyn_cast<sched::RepeatOp>(op))
    return emitRepeat(repeat);
  if (isa<sched::YieldOp, par::CoordOp>(op))
    return success();
  return op.emitOpError("cannot stand in a task; launch, gemm, collective, repeat and par.coord can");
}

LogicalResult TaskTemplate::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emit(op)))
      return failure();
  return success();
}

FailureOr<uint32_t> TaskTemplate::run() {
  auto scratchOfOp = [&](Operation *op) -> FailureOr<uint64_t> {
    if (auto launch = dyn_cast<sched::LaunchOp>(op)) {
      FailureOr<const kernels::KernelDesc *> desc = tables.describe(launch.getKernel(), op);
      if (failed(desc))
        return failure();
      return uint64_t((*desc)->scratchBytes);
    }
    if (auto gemm = dyn_cast<sched::GemmOp>(op)) {
      FailureOr<uint32_t> index = tables.gemm(gemm);
      if (failed(index))
        return failure();
      return tables.plan.gemms[*index].scratchBytes;
    }
    return uint64_t(0);
  };
  FailureOr<uint64_t> bytes = placement.compute(scratchOfOp);
  if (failed(bytes))
    return failure();
  build.scratchBytes = std::max(build.scratchBytes, *bytes);

  uint32_t first = build.program.instrs.size();
  StringRef label = task.getSymName();
  format::Instr mark;
  mark.op = format::Op::Mark;
  mark.stream = build.stream("compute");
  mark.name = tables.string(label);
  build.add(mark, {});
  if (failed(emitBlock(task.getBody().front())))
    return failure();
  mark.flags = 1;
  build.add(mark, {});
  if (keys.size() > 4)
    return task.emitOpError("uses ") << keys.size() << " slotted homes; a list entry holds four slots";
  build.program.templates.push_back({label.str(), first, uint32_t(build.program.instrs.size() - first)});
  build.slotKeys.push_back(keys);
  return uint32_t(build.program.templates.size() - 1);
}

FailureOr<uint32_t> buildTaskTemplate(sched::TaskOp task, ClassBuild &build, Tables &tables) {
  return TaskTemplate(task, build, tables).run();
}

} // namespace hocket::allocate
