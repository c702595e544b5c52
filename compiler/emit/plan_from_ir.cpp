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
  /// A number of the IR in a field of a record; one that does not fit is an error.
  template <typename To>
  To fit(int64_t value, Operation *op, const char *what) {
    using Limits = std::numeric_limits<std::conditional_t<std::is_enum_v<To>, uint8_t, To>>;
    if (std::is_unsigned_v<To> || std::is_enum_v<To>
            ? value < 0 || uint64_t(value) > uint64_t(Limits::max())
            : value < int64_t(Limits::min()) || value > int64_t(Limits::max())) {
      op->emitOpError() << what << " " << value << " does not fit a plan; legal: " << int64_t(Limits::min())
                        << " to "
                        << (sizeof(To) == 8 ? std::numeric_limits<int64_t>::max() : int64_t(Limits::max()));
      narrowed = true;
      return To(0);
    }
    return To(value);
  }
  template <typename To>
  std::vector<To> fitAll(ArrayRef<int64_t> values, Operation *op, const char *what) {
    std::vector<To> out;
    for (int64_t v : values)
      out.push_back(fit<To>(v, op, what));
    return out;
  }
  format::Operand operand(plan::OperandAttr a, Operation *op) {
    format::Operand o;
    o.kind = fit<format::OperandKind>(a.getKind(), op, "operand kind");
    o.index = fit<uint16_t>(a.getIndex(), op, "operand index");
    uint8_t slot = fit<uint8_t>(a.getSlot(), op, "slot number");
    if (slot > 4)
      op->emitOpError("slot number ") << slot << " does not fit a plan; legal: 0 to 4", narrowed = true;
    o.flags = slot | (a.getLayered() ? format::kLayered : 0) | (a.getMicro() ? format::kMicro : 0);
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
  bool narrowed = false; ///< an error was emitted by fit
  format::Plan p;
  llvm::StringMap<uint32_t> strings, comms, kernels, gemms, classes;
};
} // namespace

LogicalResult Reader::tables() {
  for (auto mesh : module.getOps<plan::MeshOp>()) {
    p.microBatches = fit<uint32_t>(mesh.getMicroBatches(), mesh, "micro-batches");
    for (auto [name, size, stride] : llvm::zip(mesh.getAxes(), mesh.getSizes(), mesh.getStrides()))
      p.axes.push_back({cast<StringAttr>(name).getValue().str(), fit<uint32_t>(size, mesh, "size"),
                        fit<uint32_t>(stride, mesh, "stride")});
  }
  for (auto comm : module.getOps<plan::CommOp>()) {
    StringRef name = comm.getSymName();
    comms[name] = p.communicators.size();
    name.consume_front("comm.");
    format::Communicator c;
    c.name = name.str();
    c.axes = fitAll<uint32_t>(comm.getAxes(), comm, "axis");
    c.pair = comm.getPair();
    c.order = fit<uint32_t>(comm.getOrder(), comm, "order");
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
    if (failed(type))
      return failure();
    if (kind < 0)
      return scalar.emitOpError("kind \"") << scalar.getKind() << "\" is none of lr, c1, c2, seed";
    p.scalars.push_back({format::ScalarKind(kind), *type});
  }
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    StringRef name = kernel.getSymName();
    kernels[name] = p.kernels.size();
    name.consume_front("plan.");
    format::Kernel k;
    for (auto [access, bytes] : llvm::zip(kernel.getAccess(), kernel.getBytes()))
      k.args.push_back(
          {fit<format::Access>(access, kernel, "access"), fit<uint64_t>(bytes, kernel, "bytes")});
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
    g.scratchBytes = fit<uint64_t>(entry.getScratch(), entry, "scratch");
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
      in.from = fit<int32_t>(repeat.getFrom(), repeat, "from");
      in.to = fit<int32_t>(repeat.getTo(), repeat, "to");
      in.step = fit<int32_t>(repeat.getStep(), repeat, "step");
      size_t at = c.instrs.size();
      c.instrs.push_back(in);
      if (failed(readBlock(repeat.getBody().front(), c)))
        return failure();
      c.instrs[at].arg = int32_t(c.instrs.size() - at - 1);
      continue;
    }
    if (auto s = op.getAttrOfType<IntegerAttr>("s"))
      in.stream = fit<uint16_t>(s.getInt(), &op, "stream");
    if (in.stream >= c.streams.size())
      return op.emitOpError("runs on stream ") << in.stream << " of " << c.streams.size();
    if (auto name = op.getAttrOfType<StringAttr>("name"))
      in.name = string(name.getValue());
    if (auto bytes = op.getAttrOfType<IntegerAttr>("bytes"))
      in.bytes = fit<uint64_t>(bytes.getInt(), &op, "bytes");
    if (auto args = op.getAttrOfType<ArrayAttr>("args")) {
      in.firstOperand = args.empty() ? 0 : c.operands.size();
      in.operandCount = fit<uint16_t>(int64_t(args.size()), &op, "number of operands");
      for (Attribute a : args) {
        auto at = dyn_cast<plan::OperandAttr>(a);
        if (!at)
          return op.emitOpError("takes #plan.at operands only");
        c.operands.push_back(operand(at, &op));
      }
    }
    FailureOr<uint32_t> index = 0u;
    auto transfer = [&](format::Op kind, FlatSymbolRefAttr comm, int64_t delta) {
      in.op = kind;
      in.arg = fit<int32_t>(delta, &op, "peer or kind");
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
      in.arg = fit<int32_t>(group.getCount(), &op, "count");
    } else if (isa<plan::CopyOp>(op)) {
      in.op = format::Op::Copy;
    } else if (isa<plan::FillOp>(op)) {
      in.op = format::Op::Fill;
    } else if (auto record = dyn_cast<plan::RecordOp>(op)) {
      in.op = format::Op::Record;
      in.flags = fit<uint16_t>(record.getSlot(), &op, "slot");
      index = fit<uint32_t>(record.getEvent(), &op, "event");
    } else if (auto wait = dyn_cast<plan::WaitOp>(op)) {
      in.op = format::Op::Wait;
      in.flags = fit<uint16_t>(wait.getSlot(), &op, "slot");
      index = fit<uint32_t>(wait.getEvent(), &op, "event");
    } else if (auto mark = dyn_cast<plan::MarkOp>(op)) {
      in.op = format::Op::Mark;
      in.flags = mark.getEnd();
    } else if (auto metric = dyn_cast<plan::MetricOp>(op)) {
      in.op = format::Op::Metric;
      index = fit<uint32_t>(metric.getIndex(), &op, "index");
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
  c.first = fitAll<uint32_t>(op.getFirst(), op, "first coordinate");
  c.last = fitAll<uint32_t>(op.getLast(), op, "last coordinate");
  for (StringAttr s : op.getStreams().getAsRange<StringAttr>())
    c.streams.push_back(s.getValue().str());
  c.events = fit<uint32_t>(op.getEvents(), op, "events");
  c.firstUse = fitAll<uint32_t>(op.getFirstUse(), op, "first use");
  c.arenaBytes = fit<uint64_t>(op.getArena(), op, "arena");
  for (Operation &inner : op.getBody().front()) {
    if (auto r = dyn_cast<plan::RegionOp>(inner)) {
      auto bytes = [&](uint64_t v, const char *what) { return fit<uint64_t>(int64_t(v), r, what); };
      auto count = [&](uint64_t v, const char *what) { return fit<uint32_t>(int64_t(v), r, what); };
      c.regions.push_back({r.getName().str(), fit<format::RegionKind>(r.getKind(), r, "kind"),
                           bytes(r.getOffset(), "offset"), bytes(r.getBytes(), "bytes"),
                           count(r.getSlots(), "slots"), bytes(r.getSlotStride(), "slot stride"),
                           count(r.getLayers(), "layers"), bytes(r.getLayerStride(), "layer stride"),
                           count(r.getMicros(), "micros"), bytes(r.getMicroStride(), "micro stride")});
    } else if (auto t = dyn_cast<plan::TemplateOp>(inner)) {
      uint32_t first = c.instrs.size();
      if (failed(readBlock(t.getBody().front(), c)))
        return failure();
      c.templates.push_back({t.getName().str(), first, uint32_t(c.instrs.size() - first)});
    } else if (auto l = dyn_cast<plan::ListOp>(inner)) {
      auto &list = l.getTable() == "init" ? c.init : l.getTable() == "step" ? c.step : c.eval;
      ArrayRef<int64_t> e = l.getEntries();
      for (size_t i = 0; i + 5 < e.size(); i += 6)
        list.push_back({fit<uint16_t>(e[i], l, "template"),
                        0,
                        fit<uint32_t>(e[i + 1], l, "micro-batch"),
                        {fit<uint16_t>(e[i + 2], l, "slot"), fit<uint16_t>(e[i + 3], l, "slot"),
                         fit<uint16_t>(e[i + 4], l, "slot"), fit<uint16_t>(e[i + 5], l, "slot")}});
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
      dim.local = fit<uint64_t>(q.getLocal()[d], q, "local extent");
      dim.global = fit<uint64_t>(q.getGlobal()[d], q, "global extent");
      auto axes = dyn_cast<DenseI64ArrayAttr>(q.getAxes()[d]);
      if (!axes)
        return q.emitOpError("axes of letter ") << d << " are no array of numbers";
      dim.axes = fitAll<uint32_t>(axes.asArrayRef(), q, "axis");
      e.dims.push_back(dim);
    }
    e.stacked = q.getStacked();
    e.layerBegin = fit<uint32_t>(q.getLayers()[0], q, "layer");
    e.layerEnd = fit<uint32_t>(q.getLayers()[1], q, "layer");
    e.layout = q.getLayout().str();
    e.partDim = fit<uint32_t>(q.getPart()[0], q, "part");
    e.partIndex = fit<uint32_t>(q.getPart()[1], q, "part");
    e.partCount = fit<uint32_t>(q.getPart()[2], q, "part");
    e.classIndex = *in;
    e.owner = q.getOwner();
    e.value = operand(q.getValue(), q);
    e.gradient = operand(q.getGradient(), q);
    e.moment1 = operand(q.getMoment1(), q);
    e.moment2 = operand(q.getMoment2(), q);
    p.params.push_back(e);
  }
  for (auto i : module.getOps<plan::InputOp>()) {
    FailureOr<uint32_t> in = lookup(classes, i.getIn(), i);
    if (failed(in))
      return failure();
    format::Input e;
    e.kind = i.getName() == "tokens" ? format::InputKind::Tokens : format::InputKind::Labels;
    e.classIndex = *in;
    e.at = operand(i.getAt(), i);
    e.rows = fit<uint32_t>(i.getRows(), i, "rows");
    e.axes = fitAll<uint32_t>(i.getAxes(), i, "axis");
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
  if (failed(readData()) || narrowed)
    return failure();
  return std::move(p);
}

FailureOr<format::Plan> planFromIR(ModuleOp module) { return Reader(module).run(); }

} // namespace hocket::emit
