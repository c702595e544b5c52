#include "compiler/emit/plan_from_ir.h"
#include "dialects/plan/Plan.h"
#include "runtime/format/declaration.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hocket::emit {

namespace {
class Reader {
public:
  explicit Reader(ModuleOp module) : module(module) { string(""); }
  FailureOr<format::Plan> run();

private:
  LogicalResult tables();
  LogicalResult readClass(plan::ClassOp op);
  LogicalResult readBlock(Block &block, format::ClassProgram &c);
  LogicalResult readData();
  uint32_t string(StringRef text) {
    auto [it, fresh] = strings.try_emplace(text, p.strings.size());
    if (fresh)
      p.strings.push_back(text.str());
    return it->second;
  }
  FailureOr<format::DType> dtype(Type type, Operation *op) {
    if (type.isF32())
      return format::DType::F32;
    if (type.isF64())
      return format::DType::F64;
    if (type.isInteger(32))
      return format::DType::I32;
    if (type.isInteger(64))
      return format::DType::I64;
    return op->emitOpError("type ") << type << " has no place in a plan";
  }
  static format::Operand operand(plan::OperandAttr a) {
    format::Operand o;
    o.kind = format::OperandKind(a.getKind());
    o.index = uint16_t(a.getIndex());
    o.flags = uint8_t(a.getSlot() & format::kSlotMask) | (a.getLayered() ? format::kLayered : 0) |
              (a.getMicro() ? format::kMicro : 0);
    o.offset = a.getOffset();
    return o;
  }
  FailureOr<uint32_t> lookup(const llvm::StringMap<uint32_t> &map, StringRef name, Operation *op) {
    auto it = map.find(name);
    if (it == map.end())
      return op->emitOpError("names @") << name << ", which the module does not have";
    return it->second;
  }

  ModuleOp module;
  format::Plan p;
  llvm::StringMap<uint32_t> strings, comms, kernels, gemms, classes;
};
} // namespace

LogicalResult Reader::tables() {
  for (auto mesh : module.getOps<plan::MeshOp>()) {
    p.microBatches = uint32_t(mesh.getMicroBatches());
    for (auto [name, size, stride] : llvm::zip(mesh.getAxes(), mesh.getSizes(), mesh.getStrides()))
      p.axes.push_back({cast<StringAttr>(name).getValue().str(), uint32_t(size), uint32_t(stride)});
  }
  for (auto comm : module.getOps<plan::CommOp>()) {
    StringRef name = comm.getSymName();
    comms[name] = p.communicators.size();
    name.consume_front("comm.");
    format::Communicator c;
    c.name = name.str();
    c.axes.assign(comm.getAxes().begin(), comm.getAxes().end());
    c.pair = comm.getPair();
    c.order = uint32_t(comm.getOrder());
    p.communicators.push_back(c);
  }
  for (auto affine : module.getOps<plan::AffineOp>())
    p.affines.push_back({std::vector<int64_t>(affine.getCoordinate().begin(), affine.getCoordinate().end()),
                         int64_t(affine.getLayer()), int64_t(affine.getMicro()),
                         int64_t(affine.getConstant())});
  for (auto scalar : module.getOps<plan::ScalarOp>()) {
    FailureOr<format::DType> type = dtype(scalar.getType(), scalar);
    auto kind = llvm::StringSwitch<int>(scalar.getKind())
                    .Case("lr", 0)
                    .Case("c1", 1)
                    .Case("c2", 2)
                    .Case("seed", 3)
                    .Default(-1);
    if (failed(type) || kind < 0)
      return scalar.emitOpError("kind \"") << scalar.getKind() << "\" is none of lr, c1, c2, seed";
    p.scalars.push_back({format::ScalarKind(kind), *type});
  }
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    StringRef name = kernel.getSymName();
    kernels[name] = p.kernels.size();
    name.consume_front("plan.");
    format::Kernel k;
    for (auto [access, bytes] : llvm::zip(kernel.getAccess(), kernel.getBytes()))
      k.args.push_back({format::Access(access), uint64_t(bytes)});
    k.work = kernel.getWork();
    k.flops = kernel.getFlops().convertToDouble();
    k.memoryBytes = kernel.getMemoryBytes().convertToDouble();
    k.symbol = format::declaredSymbol(name.str(), k);
    p.kernels.push_back(k);
  }
  for (auto entry : module.getOps<plan::GemmEntryOp>()) {
    FailureOr<format::DType> type = dtype(entry.getType(), entry);
    if (failed(type))
      return failure();
    gemms[entry.getSymName()] = p.gemms.size();
    format::Gemm g;
    g.m = entry.getM();
    g.n = entry.getN();
    g.k = entry.getK();
    g.transposeA = entry.getTa();
    g.transposeB = entry.getTb();
    g.accumulate = entry.getAccumulate();
    if (entry.getLd().size() != 3)
      return entry.emitOpError("has ") << entry.getLd().size() << " leading dimensions; three are needed";
    g.lda = entry.getLd()[0];
    g.ldb = entry.getLd()[1];
    g.ldc = entry.getLd()[2];
    g.dtype = *type;
    g.scratchBytes = entry.getScratch();
    g.work = entry.getWork();
    if (!entry.getSymbol().empty())
      g.symbol = format::declaredSymbol(entry.getSymbol().str(), g);
    p.gemms.push_back(g);
  }
  return success();
}

LogicalResult Reader::readBlock(Block &block, format::ClassProgram &c) {
  for (Operation &op : block) {
    format::Instr in;
    if (auto repeat = dyn_cast<plan::RepeatOp>(op)) {
      in.op = format::Op::Repeat;
      in.from = int32_t(repeat.getFrom());
      in.to = int32_t(repeat.getTo());
      in.step = int32_t(repeat.getStep());
      size_t at = c.instrs.size();
      c.instrs.push_back(in);
      if (failed(readBlock(repeat.getBody().front(), c)))
        return failure();
      c.instrs[at].arg = int32_t(c.instrs.size() - at - 1);
      continue;
    }
    if (auto s = op.getAttrOfType<IntegerAttr>("s"))
      in.stream = uint16_t(s.getInt());
    if (in.stream >= c.streams.size())
      return op.emitOpError("runs on stream ") << in.stream << " of " << c.streams.size();
    if (auto name = op.getAttrOfType<StringAttr>("name"))
      in.name = string(name.getValue());
    if (auto bytes = op.getAttrOfType<IntegerAttr>("bytes"))
      in.bytes = uint64_t(bytes.getInt());
    if (auto args = op.getAttrOfType<ArrayAttr>("args")) {
      in.firstOperand = args.empty() ? 0 : c.operands.size();
      in.operandCount = args.size();
      for (Attribute a : args) {
        auto at = dyn_cast<plan::OperandAttr>(a);
        if (!at)
          return op.emitOpError("takes #plan.at operands only");
        c.operands.push_back(operand(at));
      }
    }
    FailureOr<uint32_t> index = 0u;
    auto transfer = [&](format::Op kind, FlatSymbolRefAttr comm, int64_t delta) {
      in.op = kind;
      in.arg = int32_t(delta);
      index = lookup(comms, comm.getValue(), &op);
    };
    if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
      in.op = format::Op::Launch;
      index = lookup(kernels, launch.getKernel(), &op);
    } else if (auto gemm = dyn_cast<plan::GemmOp>(op)) {
      in.op = format::Op::Gemm;
      index = lookup(gemms, gemm.getEntry(), &op);
    } else if (auto collective = dyn_cast<plan::CollectiveOp>(op)) {
      FailureOr<format::DType> type = dtype(collective.getType(), &op);
      if (failed(type))
        return failure();
      transfer(format::Op::Collective, collective.getCommAttr(), collective.getKind());
      in.flags = uint16_t(*type);
    } else if (auto send = dyn_cast<plan::SendOp>(op)) {
      transfer(format::Op::Send, send.getCommAttr(), send.getDelta());
    } else if (auto recv = dyn_cast<plan::RecvOp>(op)) {
      transfer(format::Op::Recv, recv.getCommAttr(), recv.getDelta());
    } else if (auto group = dyn_cast<plan::GroupOp>(op)) {
      in.op = format::Op::Group;
      in.arg = int32_t(group.getCount());
    } else if (isa<plan::CopyOp>(op)) {
      in.op = format::Op::Copy;
    } else if (isa<plan::FillOp>(op)) {
      in.op = format::Op::Fill;
    } else if (auto record = dyn_cast<plan::RecordOp>(op)) {
      in.op = format::Op::Record;
      in.flags = uint16_t(record.getSlot());
      index = uint32_t(record.getEvent());
    } else if (auto wait = dyn_cast<plan::WaitOp>(op)) {
      in.op = format::Op::Wait;
      in.flags = uint16_t(wait.getSlot());
      index = uint32_t(wait.getEvent());
    } else if (auto mark = dyn_cast<plan::MarkOp>(op)) {
      in.op = format::Op::Mark;
      in.flags = mark.getEnd();
    } else if (auto metric = dyn_cast<plan::MetricOp>(op)) {
      in.op = format::Op::Metric;
      index = uint32_t(metric.getIndex());
    } else {
      return op.emitOpError("is no instruction of a plan");
    }
    if (failed(index))
      return failure();
    in.index = *index;
    c.instrs.push_back(in);
  }
  return success();
}

LogicalResult Reader::readClass(plan::ClassOp op) {
  format::ClassProgram c;
  classes[op.getSymName()] = p.classes.size();
  StringRef name = op.getSymName();
  name.consume_front("class.");
  c.name = name.str();
  c.first.assign(op.getFirst().begin(), op.getFirst().end());
  c.last.assign(op.getLast().begin(), op.getLast().end());
  for (StringAttr s : op.getStreams().getAsRange<StringAttr>())
    c.streams.push_back(s.getValue().str());
  c.events = uint32_t(op.getEvents());
  c.firstUse.assign(op.getFirstUse().begin(), op.getFirstUse().end());
  c.arenaBytes = op.getArena();
  for (Operation &inner : op.getBody().front()) {
    if (auto r = dyn_cast<plan::RegionOp>(inner)) {
      c.regions.push_back({r.getName().str(), format::RegionKind(r.getKind()), r.getOffset(), r.getBytes(),
                           uint32_t(r.getSlots()), r.getSlotStride(), uint32_t(r.getLayers()),
                           r.getLayerStride(), uint32_t(r.getMicros()), r.getMicroStride()});
    } else if (auto t = dyn_cast<plan::TemplateOp>(inner)) {
      uint32_t first = c.instrs.size();
      if (failed(readBlock(t.getBody().front(), c)))
        return failure();
      c.templates.push_back({t.getName().str(), first, uint32_t(c.instrs.size() - first)});
    } else if (auto l = dyn_cast<plan::ListOp>(inner)) {
      auto &list = l.getTable() == "init" ? c.init : l.getTable() == "step" ? c.step : c.eval;
      ArrayRef<int64_t> e = l.getEntries();
      for (size_t i = 0; i + 5 < e.size(); i += 6)
        list.push_back({uint16_t(e[i]),
                        0,
                        uint32_t(e[i + 1]),
                        {uint16_t(e[i + 2]), uint16_t(e[i + 3]), uint16_t(e[i + 4]), uint16_t(e[i + 5])}});
    }
  }
  p.classes.push_back(std::move(c));
  return success();
}

LogicalResult Reader::readData() {
  for (auto q : module.getOps<plan::ParamOp>()) {
    FailureOr<uint32_t> in = lookup(classes, q.getIn(), q);
    FailureOr<format::DType> type = dtype(q.getType(), q);
    if (failed(in) || failed(type))
      return failure();
    size_t n = q.getDims().size();
    if (q.getLocal().size() != n || q.getGlobal().size() != n || q.getAxes().size() != n ||
        q.getPart().size() != 3 || q.getLayers().size() != 2)
      return q.emitOpError("has ")
             << n << " letters; local, global and axes must have as many, part three, layers two";
    format::Param e;
    e.name = q.getCheckpoint().str();
    e.id = q.getName().str();
    e.dtype = *type;
    for (size_t d = 0; d < n; ++d) {
      format::ParamDim dim;
      dim.letter = q.getDims()[d];
      dim.local = uint64_t(q.getLocal()[d]);
      dim.global = uint64_t(q.getGlobal()[d]);
      for (int64_t a : cast<DenseI64ArrayAttr>(q.getAxes()[d]).asArrayRef())
        dim.axes.push_back(uint32_t(a));
      e.dims.push_back(dim);
    }
    e.stacked = q.getStacked();
    e.layerBegin = q.getLayers()[0];
    e.layerEnd = q.getLayers()[1];
    e.layout = q.getLayout().str();
    e.partDim = q.getPart()[0];
    e.partIndex = q.getPart()[1];
    e.partCount = q.getPart()[2];
    e.classIndex = *in;
    e.owner = q.getOwner();
    e.value = operand(q.getValue());
    e.gradient = operand(q.getGradient());
    e.moment1 = operand(q.getMoment1());
    e.moment2 = operand(q.getMoment2());
    p.params.push_back(e);
  }
  for (auto i : module.getOps<plan::InputOp>()) {
    FailureOr<uint32_t> in = lookup(classes, i.getIn(), i);
    if (failed(in))
      return failure();
    format::Input e;
    e.kind = i.getName() == "tokens" ? format::InputKind::Tokens : format::InputKind::Labels;
    e.classIndex = *in;
    e.at = operand(i.getAt());
    e.rows = uint32_t(i.getRows());
    e.axes.assign(i.getAxes().begin(), i.getAxes().end());
    p.inputs.push_back(e);
  }
  for (auto m : module.getOps<plan::MetricEntryOp>()) {
    FailureOr<uint32_t> in = lookup(classes, m.getIn(), m);
    FailureOr<format::DType> type = dtype(m.getType(), m);
    if (failed(in) || failed(type))
      return failure();
    p.metrics.push_back({m.getName().str(), *in, *type});
  }
  return success();
}

FailureOr<format::Plan> Reader::run() {
  if (failed(tables()))
    return failure();
  for (auto op : module.getOps<plan::ClassOp>())
    if (failed(readClass(op)))
      return failure();
  if (failed(readData()))
    return failure();
  return std::move(p);
}

FailureOr<format::Plan> planFromIR(ModuleOp module) { return Reader(module).run(); }

} // namespace hocket::emit
