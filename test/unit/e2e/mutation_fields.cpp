#include "test/unit/e2e/mutation_fields.h"

#include <functional>
#include <utility>

namespace hocket::test {

using namespace format;

namespace {

using Random = std::mt19937_64;

struct Field {
  std::string name;
  std::function<std::string(Plan &, Random &)> mutate;
};

/// Another value near the old one, at an edge of the type, or any.
template <typename T>
T other(T old, Random &random) {
  static constexpr uint64_t edges[] = {0,   1,      2,      3,          7,          64,         127,
                                       255, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 1ull << 62, ~0ull};
  uint64_t v = uint64_t(old);
  switch (random() % 8) {
  case 0:
    return T(v + 1);
  case 1:
    return T(v - 1);
  case 2:
    return T(v * 2);
  case 3:
    return T(v / 2);
  case 4:
    return T(v + 64);
  case 5:
    return T(v ^ (uint64_t(1) << random() % (8 * sizeof(T))));
  case 6:
    return T(edges[random() % std::size(edges)]);
  default:
    return T(random());
  }
}

template <typename T>
std::string set(T &field, T value) {
  std::string text = std::to_string(int64_t(field)) + " -> " + std::to_string(int64_t(value));
  if (field == value)
    return "";
  field = value;
  return text;
}

template <typename V>
auto *pick(V &v, Random &random) {
  return v.empty() ? nullptr : &v[random() % v.size()];
}

std::vector<Field> makeFields() {
  std::vector<Field> fields;
  auto scalar = [&](const char *name, auto find) {
    fields.push_back({name, [find](Plan &p, Random &random) -> std::string {
                        auto *field = find(p, random);
                        if (!field)
                          return "";
                        using T = std::remove_reference_t<decltype(*field)>;
                        if constexpr (std::is_enum_v<T>) {
                          using U = std::underlying_type_t<T>;
                          U value = U(random() % 8 ? (uint64_t(*field) + 1 + random() % 4) % 14 : random());
                          return set(*field, T(value));
                        } else {
                          return set(*field, other(*field, random));
                        }
                      }});
  };
  auto cls = [](Plan &p, Random &random) -> ClassProgram & { return *pick(p.classes, random); };

#define INSTR(FIELD)                                                                                         \
  scalar("instr." #FIELD, [cls](Plan &p, Random &r) { return &pick(cls(p, r).instrs, r)->FIELD; })
  INSTR(op);
  INSTR(flags);
  INSTR(stream);
  INSTR(operandCount);
  INSTR(firstOperand);
  INSTR(index);
  INSTR(arg);
  INSTR(name);
  INSTR(bytes);
  INSTR(from);
  INSTR(to);
  INSTR(step);
  INSTR(reserved);
#undef INSTR
  // The fields of instructions that use them: most instructions are launches.
  auto with = [&](const char *name, std::vector<Op> ops, auto Instr::*field) {
    scalar(name, [cls, ops, field](Plan &p, Random &r) -> decltype(&(std::declval<Instr &>().*field)) {
      std::vector<Instr *> found;
      for (Instr &i : cls(p, r).instrs)
        if (std::find(ops.begin(), ops.end(), i.op) != ops.end())
          found.push_back(&i);
      return found.empty() ? nullptr : &(found[r() % found.size()]->*field);
    });
  };
  with("collective.index", {Op::Collective}, &Instr::index);
  with("collective.arg", {Op::Collective}, &Instr::arg);
  with("collective.bytes", {Op::Collective}, &Instr::bytes);
  with("collective.flags", {Op::Collective}, &Instr::flags);
  with("transfer.index", {Op::Send, Op::Recv}, &Instr::index);
  with("transfer.arg", {Op::Send, Op::Recv}, &Instr::arg);
  with("transfer.bytes", {Op::Send, Op::Recv}, &Instr::bytes);
  with("copy.bytes", {Op::Copy, Op::Fill}, &Instr::bytes);
  with("event.index", {Op::Record, Op::Wait}, &Instr::index);
  with("event.flags", {Op::Record, Op::Wait}, &Instr::flags);
  with("event.stream", {Op::Record, Op::Wait}, &Instr::stream);
  with("repeat.arg", {Op::Repeat, Op::Group}, &Instr::arg);
  with("repeat.from", {Op::Repeat}, &Instr::from);
  with("repeat.to", {Op::Repeat}, &Instr::to);
  with("repeat.step", {Op::Repeat}, &Instr::step);
  with("gemm.index", {Op::Gemm}, &Instr::index);
  with("metric.index", {Op::Metric}, &Instr::index);
#define OPERAND(FIELD)                                                                                       \
  scalar("operand." #FIELD, [cls](Plan &p, Random &r) { return &pick(cls(p, r).operands, r)->FIELD; })
  OPERAND(kind);
  OPERAND(flags);
  OPERAND(index);
  OPERAND(reserved);
  OPERAND(offset);
#undef OPERAND
#define ENTRY(FIELD)                                                                                         \
  scalar("entry." #FIELD, [cls](Plan &p, Random &r) {                                                        \
    ClassProgram &c = cls(p, r);                                                                             \
    auto &list = r() % 4 ? c.step : r() % 2 ? c.eval : c.init;                                               \
    return list.empty() ? nullptr : &pick(list, r)->FIELD;                                                   \
  })
  ENTRY(templateIndex);
  ENTRY(reserved);
  ENTRY(micro);
  ENTRY(slot[0]);
  ENTRY(slot[1]);
  ENTRY(slot[2]);
  ENTRY(slot[3]);
#undef ENTRY
#define REGION(FIELD)                                                                                        \
  scalar("region." #FIELD, [cls](Plan &p, Random &r) { return &pick(cls(p, r).regions, r)->FIELD; })
  REGION(kind);
  REGION(offset);
  REGION(bytes);
  REGION(slots);
  REGION(slotStride);
  REGION(layers);
  REGION(layerStride);
  REGION(micros);
  REGION(microStride);
#undef REGION
  scalar("template.first", [cls](Plan &p, Random &r) { return &pick(cls(p, r).templates, r)->first; });
  scalar("template.count", [cls](Plan &p, Random &r) { return &pick(cls(p, r).templates, r)->count; });
  scalar("class.first", [cls](Plan &p, Random &r) { return pick(cls(p, r).first, r); });
  scalar("class.last", [cls](Plan &p, Random &r) { return pick(cls(p, r).last, r); });
  scalar("class.events", [cls](Plan &p, Random &r) { return &cls(p, r).events; });
  scalar("class.firstUse", [cls](Plan &p, Random &r) { return pick(cls(p, r).firstUse, r); });
  scalar("class.arenaBytes", [cls](Plan &p, Random &r) { return &cls(p, r).arenaBytes; });
  scalar("axis.size", [](Plan &p, Random &r) { return &pick(p.axes, r)->size; });
  scalar("axis.stride", [](Plan &p, Random &r) { return &pick(p.axes, r)->stride; });
  scalar("communicator.axes", [](Plan &p, Random &r) { return pick(pick(p.communicators, r)->axes, r); });
  scalar("communicator.order", [](Plan &p, Random &r) { return &pick(p.communicators, r)->order; });
  fields.push_back({"communicator.pair", [](Plan &p, Random &r) -> std::string {
                      Communicator *c = pick(p.communicators, r);
                      if (!c)
                        return "";
                      c->pair = !c->pair;
                      return c->pair ? "0 -> 1" : "1 -> 0";
                    }});
  scalar("affine.coordinate", [](Plan &p, Random &r) { return pick(pick(p.affines, r)->coordinate, r); });
  scalar("affine.layer", [](Plan &p, Random &r) { return &pick(p.affines, r)->layer; });
  scalar("affine.micro", [](Plan &p, Random &r) { return &pick(p.affines, r)->micro; });
  scalar("affine.constant", [](Plan &p, Random &r) { return &pick(p.affines, r)->constant; });
  scalar("kernel.arg.access", [](Plan &p, Random &r) { return &pick(pick(p.kernels, r)->args, r)->access; });
  scalar("kernel.arg.bytes", [](Plan &p, Random &r) { return &pick(pick(p.kernels, r)->args, r)->bytes; });
  scalar("kernel.work", [](Plan &p, Random &r) { return &pick(p.kernels, r)->work; });
#define GEMM(FIELD)                                                                                          \
  scalar("gemm." #FIELD,                                                                                     \
         [](Plan &p, Random &r) { return p.gemms.empty() ? nullptr : &pick(p.gemms, r)->FIELD; })
  GEMM(m);
  GEMM(n);
  GEMM(k);
  GEMM(lda);
  GEMM(ldb);
  GEMM(ldc);
  GEMM(dtype);
  GEMM(scratchBytes);
  GEMM(work);
#undef GEMM
  auto flag = [&](const char *name, bool Gemm::*field) {
    fields.push_back({name, [field](Plan &p, Random &r) -> std::string {
                        Gemm *g = pick(p.gemms, r);
                        if (!g)
                          return "";
                        g->*field = !(g->*field);
                        return "flipped";
                      }});
  };
  flag("gemm.transposeA", &Gemm::transposeA);
  flag("gemm.transposeB", &Gemm::transposeB);
  flag("gemm.accumulate", &Gemm::accumulate);
  auto symbol = [&](const char *name, auto find) {
    fields.push_back({name, [find](Plan &p, Random &r) -> std::string {
                        std::string *s = find(p, r);
                        if (!s || s->empty())
                          return "";
                        char &ch = (*s)[r() % s->size()];
                        char old = ch;
                        ch = char('a' + r() % 26);
                        return ch == old ? "" : std::string("-> ") + *s;
                      }});
  };
  symbol("kernel.symbol", [](Plan &p, Random &r) { return &pick(p.kernels, r)->symbol; });
  symbol("gemm.symbol",
         [](Plan &p, Random &r) { return p.gemms.empty() ? nullptr : &pick(p.gemms, r)->symbol; });
  symbol("isa", [](Plan &p, Random &) { return &p.isa; });
  symbol("param.layout", [](Plan &p, Random &r) { return &pick(p.params, r)->layout; });
#define PARAM(FIELD) scalar("param." #FIELD, [](Plan &p, Random &r) { return &pick(p.params, r)->FIELD; });
  PARAM(dtype);
  PARAM(layerBegin);
  PARAM(layerEnd);
  PARAM(partDim);
  PARAM(partIndex);
  PARAM(partCount);
  PARAM(classIndex);
  PARAM(value.kind);
  PARAM(value.flags);
  PARAM(value.index);
  PARAM(value.offset);
  PARAM(gradient.index);
  PARAM(gradient.offset);
  PARAM(gradient.flags);
  PARAM(moment1.index);
  PARAM(moment1.offset);
  PARAM(moment2.index);
  PARAM(moment2.offset);
#undef PARAM
#define DIM(FIELD)                                                                                           \
  scalar("param.dim." #FIELD, [](Plan &p, Random &r) {                                                       \
    Param *q = pick(p.params, r);                                                                            \
    return q->dims.empty() ? nullptr : &pick(q->dims, r)->FIELD;                                             \
  })
  DIM(local);
  DIM(global);
  DIM(letter);
#undef DIM
  scalar("param.dim.axes", [](Plan &p, Random &r) -> uint32_t * {
    std::vector<uint32_t *> found;
    for (Param &q : p.params)
      for (ParamDim &d : q.dims)
        for (uint32_t &a : d.axes)
          found.push_back(&a);
    return found.empty() ? nullptr : found[r() % found.size()];
  });
  fields.push_back({"param.stacked", [](Plan &p, Random &r) -> std::string {
                      Param *q = pick(p.params, r);
                      q->stacked = !q->stacked;
                      return "flipped";
                    }});
  fields.push_back({"param.owner", [](Plan &p, Random &r) -> std::string {
                      Param *q = pick(p.params, r);
                      q->owner = !q->owner;
                      return "flipped";
                    }});
#define INPUT(FIELD) scalar("input." #FIELD, [](Plan &p, Random &r) { return &pick(p.inputs, r)->FIELD; });
  INPUT(kind);
  INPUT(classIndex);
  INPUT(rows);
  INPUT(at.index);
  INPUT(at.offset);
  INPUT(at.flags);
  INPUT(at.kind);
#undef INPUT
  scalar("input.axes", [](Plan &p, Random &r) { return pick(pick(p.inputs, r)->axes, r); });
  scalar("scalar.kind",
         [](Plan &p, Random &r) { return p.scalars.empty() ? nullptr : &pick(p.scalars, r)->kind; });
  scalar("scalar.dtype",
         [](Plan &p, Random &r) { return p.scalars.empty() ? nullptr : &pick(p.scalars, r)->dtype; });
  scalar("metric.classIndex", [](Plan &p, Random &r) { return &pick(p.metrics, r)->classIndex; });
  scalar("metric.dtype", [](Plan &p, Random &r) { return &pick(p.metrics, r)->dtype; });
  scalar("plan.parameters", [](Plan &p, Random &) { return &p.parameters; });
  scalar("plan.globalBatch", [](Plan &p, Random &) { return &p.globalBatch; });
  scalar("plan.sequence", [](Plan &p, Random &) { return &p.sequence; });
  scalar("plan.vocabulary", [](Plan &p, Random &) { return &p.vocabulary; });
  scalar("plan.microBatches", [](Plan &p, Random &) { return &p.microBatches; });
  scalar("plan.dtype", [](Plan &p, Random &) { return &p.dtype; });
  scalar("memory.bytes", [](Plan &p, Random &r) { return &pick(pick(p.summaries, r)->memory, r)->bytes; });
  return fields;
}

const std::vector<Field> &fields() {
  static const std::vector<Field> all = makeFields();
  return all;
}

} // namespace

const std::vector<std::string> &mutableFields() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Field &f : fields())
      result.push_back(f.name);
    return result;
  }();
  return names;
}

std::string mutateField(Plan &plan, size_t field, std::mt19937_64 &random) {
  std::string what = fields()[field].mutate(plan, random);
  return what.empty() ? "" : fields()[field].name + " " + what;
}

} // namespace hocket::test
