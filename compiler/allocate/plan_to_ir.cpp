#include "compiler/allocate/plan_to_ir.h"
#include "dialects/plan/Plan.h"

using namespace mlir;

namespace hocket::allocate {

namespace {
class Writer {
public:
  Writer(const format::Plan &p, ModuleOp module)
      : p(p), b(OpBuilder::atBlockEnd(module.getBody())), loc(module.getLoc()) {}

  void tables(const llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels);
  void classes();
  void data();

private:
  Type type(format::DType t) {
    switch (t) {
    case format::DType::F32:
      return b.getF32Type();
    case format::DType::F64:
      return b.getF64Type();
    case format::DType::I32:
      return b.getI32Type();
    case format::DType::I64:
      return b.getI64Type();
    case format::DType::U8:
      return b.getIntegerType(8);
    }
    return b.getF32Type();
  }
  template <typename R>
  DenseI64ArrayAttr ints(const R &range) {
    SmallVector<int64_t> values;
    for (auto v : range)
      values.push_back(int64_t(v));
    return b.getDenseI64ArrayAttr(values);
  }
  plan::OperandAttr at(const format::Operand &o) {
    return plan::OperandAttr::get(b.getContext(), int64_t(o.kind), o.index, o.flags & format::kSlotMask,
                                  bool(o.flags & format::kLayered), bool(o.flags & format::kMicro), o.offset);
  }
  std::string gemmName(uint32_t i) { return "gemm" + std::to_string(i); }
  FlatSymbolRefAttr symbol(StringRef name) { return FlatSymbolRefAttr::get(b.getContext(), name); }
  void instr(const format::ClassProgram &c, const format::Instr &i);
  void instrs(const format::ClassProgram &c, uint32_t first, uint32_t count);

  const format::Plan &p;
  OpBuilder b;
  Location loc;
};
} // namespace

void Writer::tables(const llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels) {
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes, strides;
  for (const format::Axis &a : p.axes) {
    names.push_back(a.name);
    sizes.push_back(a.size);
    strides.push_back(a.stride);
  }
  plan::MeshOp::create(b, loc, b.getStrArrayAttr(names), ints(sizes), ints(strides),
                       b.getI64IntegerAttr(p.microBatches));
  for (const format::Communicator &c : p.communicators)
    plan::CommOp::create(b, loc, b.getStringAttr("comm." + c.name), ints(c.axes),
                         c.pair ? b.getUnitAttr() : UnitAttr(), b.getI64IntegerAttr(c.order));
  for (const format::Affine &a : p.affines)
    plan::AffineOp::create(b, loc, ints(a.coordinate), b.getI64IntegerAttr(a.layer),
                           b.getI64IntegerAttr(a.micro), b.getI64IntegerAttr(a.constant));
  static const char *scalarNames[] = {"lr", "c1", "c2", "seed"};
  for (const format::Scalar &s : p.scalars)
    plan::ScalarOp::create(b, loc, b.getStringAttr(scalarNames[size_t(s.kind)]),
                           TypeAttr::get(type(s.dtype)));
  for (const format::Kernel &k : p.kernels) {
    SmallVector<int64_t> access, bytes;
    for (const format::KernelArg &a : k.args) {
      access.push_back(int64_t(a.access));
      bytes.push_back(int64_t(a.bytes));
    }
    DictionaryAttr init;
    auto it = initKernels.find(b.getStringAttr(k.symbol));
    if (it != initKernels.end()) {
      const kernels::InitSpec &s = it->second;
      init = b.getDictionaryAttr(
          {b.getNamedAttr("kind", b.getStringAttr(s.kind)), b.getNamedAttr("std", b.getF64FloatAttr(s.std)),
           b.getNamedAttr("type", TypeAttr::get(s.type)), b.getNamedAttr("local", ints(s.local)),
           b.getNamedAttr("global", ints(s.global)),
           b.getNamedAttr("key", b.getI64IntegerAttr(int64_t(s.key))),
           b.getNamedAttr("padded", ints(s.padded))});
    }
    plan::KernelOp::create(b, loc, b.getStringAttr("plan." + k.symbol), ints(access), ints(bytes),
                           b.getI64IntegerAttr(k.work), b.getF64FloatAttr(k.flops),
                           b.getF64FloatAttr(k.memoryBytes), init);
  }
  for (auto [i, g] : llvm::enumerate(p.gemms))
    plan::GemmEntryOp::create(
        b, loc, b.getStringAttr(gemmName(i)), b.getI64IntegerAttr(g.m), b.getI64IntegerAttr(g.n),
        b.getI64IntegerAttr(g.k), b.getBoolAttr(g.transposeA), b.getBoolAttr(g.transposeB),
        b.getBoolAttr(g.accumulate), ints(ArrayRef{g.lda, g.ldb, g.ldc}), TypeAttr::get(type(g.dtype)),
        b.getI64IntegerAttr(int64_t(g.scratchBytes)), b.getStringAttr(g.symbol), b.getI64IntegerAttr(g.work));
}

void Writer::instr(const format::ClassProgram &c, const format::Instr &i) {
  SmallVector<Attribute> list;
  for (uint32_t k = 0; k < i.operandCount; ++k)
    list.push_back(at(c.operands[i.firstOperand + k]));
  ArrayAttr args = b.getArrayAttr(list);
  IntegerAttr s = b.getI64IntegerAttr(i.stream), bytes = b.getI64IntegerAttr(int64_t(i.bytes));
  StringAttr name = b.getStringAttr(p.strings[i.name]);
  IntegerAttr index = b.getI64IntegerAttr(i.index);
  auto comm = [&] { return symbol("comm." + p.communicators[i.index].name); };
  switch (i.op) {
  case format::Op::Launch:
    plan::LaunchOp::create(b, loc, s, symbol("plan." + p.kernels[i.index].symbol), args, name);
    break;
  case format::Op::Gemm:
    plan::GemmOp::create(b, loc, s, symbol(gemmName(i.index)), args, name);
    break;
  case format::Op::Collective:
    plan::CollectiveOp::create(b, loc, s, comm(), b.getI64IntegerAttr(i.arg),
                               TypeAttr::get(type(format::DType(i.flags))), args, bytes, name);
    break;
  case format::Op::Send:
    plan::SendOp::create(b, loc, s, comm(), b.getI64IntegerAttr(i.arg), args, bytes, name);
    break;
  case format::Op::Recv:
    plan::RecvOp::create(b, loc, s, comm(), b.getI64IntegerAttr(i.arg), args, bytes, name);
    break;
  case format::Op::Group:
    plan::GroupOp::create(b, loc, s, b.getI64IntegerAttr(i.arg));
    break;
  case format::Op::Copy:
    plan::CopyOp::create(b, loc, s, args, bytes, name);
    break;
  case format::Op::Fill:
    plan::FillOp::create(b, loc, s, args, bytes, name);
    break;
  case format::Op::Record:
    plan::RecordOp::create(b, loc, s, index, b.getI64IntegerAttr(i.flags));
    break;
  case format::Op::Wait:
    plan::WaitOp::create(b, loc, s, index, b.getI64IntegerAttr(i.flags));
    break;
  case format::Op::Mark:
    plan::MarkOp::create(b, loc, s, b.getBoolAttr(i.flags), name);
    break;
  case format::Op::Metric:
    plan::MetricOp::create(b, loc, s, index, args);
    break;
  case format::Op::Repeat:
    break;
  }
}

void Writer::instrs(const format::ClassProgram &c, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i) {
    const format::Instr &in = c.instrs[i];
    if (in.op != format::Op::Repeat) {
      instr(c, in);
      continue;
    }
    auto repeat = plan::RepeatOp::create(b, loc, b.getI64IntegerAttr(in.from), b.getI64IntegerAttr(in.to),
                                         b.getI64IntegerAttr(in.step));
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&repeat.getBody());
    instrs(c, i + 1, in.arg);
    i += in.arg;
  }
}

void Writer::classes() {
  for (const format::ClassProgram &c : p.classes) {
    SmallVector<StringRef> streams(c.streams.begin(), c.streams.end());
    auto op = plan::ClassOp::create(b, loc, b.getStringAttr("class." + c.name), ints(c.first), ints(c.last),
                                    b.getStrArrayAttr(streams), b.getI64IntegerAttr(c.events),
                                    ints(c.firstUse), b.getI64IntegerAttr(int64_t(c.arenaBytes)));
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&op.getBody());
    auto n = [&](uint64_t v) { return b.getI64IntegerAttr(int64_t(v)); };
    for (const format::Region &r : c.regions)
      plan::RegionOp::create(b, loc, b.getStringAttr(r.name), n(uint64_t(r.kind)), n(r.offset), n(r.bytes),
                             n(r.slots), n(r.slotStride), n(r.layers), n(r.layerStride), n(r.micros),
                             n(r.microStride));
    for (const format::Template &t : c.templates) {
      auto top = plan::TemplateOp::create(b, loc, b.getStringAttr(t.name));
      OpBuilder::InsertionGuard inner(b);
      b.createBlock(&top.getBody());
      instrs(c, t.first, t.count);
    }
    for (auto [table, list] : {std::pair{"init", &c.init}, {"step", &c.step}, {"eval", &c.eval}}) {
      SmallVector<int64_t> entries;
      for (const format::ListEntry &e : *list) {
        entries.push_back(e.templateIndex);
        entries.push_back(e.micro);
        entries.append(e.slot.begin(), e.slot.end());
      }
      plan::ListOp::create(b, loc, b.getStringAttr(table), b.getDenseI64ArrayAttr(entries));
    }
  }
}

void Writer::data() {
  auto in = [&](uint32_t c) { return symbol("class." + p.classes[c].name); };
  for (const format::Param &q : p.params) {
    std::string dims;
    SmallVector<int64_t> local, global;
    SmallVector<Attribute> axes;
    for (const format::ParamDim &d : q.dims) {
      dims += d.letter;
      local.push_back(int64_t(d.local));
      global.push_back(int64_t(d.global));
      axes.push_back(ints(d.axes));
    }
    plan::ParamOp::create(
        b, loc, in(q.classIndex), b.getStringAttr(q.id), b.getStringAttr(q.name), b.getStringAttr(q.layout),
        ints(ArrayRef<uint32_t>{q.partDim, q.partIndex, q.partCount}), b.getStringAttr(dims), ints(local),
        ints(global), b.getArrayAttr(axes), TypeAttr::get(type(q.dtype)), b.getBoolAttr(q.stacked),
        ints(ArrayRef<uint32_t>{q.layerBegin, q.layerEnd}), b.getBoolAttr(q.owner), at(q.value),
        at(q.gradient), at(q.moment1), at(q.moment2));
  }
  for (const format::Input &i : p.inputs)
    plan::InputOp::create(b, loc, in(i.classIndex),
                          b.getStringAttr(i.kind == format::InputKind::Tokens ? "tokens" : "labels"),
                          b.getI64IntegerAttr(i.rows), ints(i.axes), at(i.at));
  for (const format::Metric &m : p.metrics)
    plan::MetricEntryOp::create(b, loc, b.getStringAttr(m.name), in(m.classIndex),
                                TypeAttr::get(type(m.dtype)));
}

void planToIR(const format::Plan &plan, const llvm::MapVector<StringAttr, kernels::InitSpec> &initKernels,
              ModuleOp module) {
  Writer writer(plan, module);
  writer.tables(initKernels);
  writer.classes();
  writer.data();
}

} // namespace hocket::allocate
