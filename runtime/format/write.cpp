//===- write.cpp - Plan to bytes --------------------------------------------===//

#include "runtime/format/write.h"

#include "runtime/format/container.h"
#include "runtime/format/plan_generated.h"

#include <stdexcept>
#include <type_traits>

using namespace hocket::format;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace {

class IndexWriter {
public:
  IndexWriter(const Plan &plan) : plan(plan) {}

  /// `sections` holds instructions, operands, entries, code with the offsets of
  /// the final file; their values do not change the index's size.
  std::vector<uint8_t> write(const std::array<fb::Section, 4> &sections);

private:
  const Plan &plan;
  FlatBufferBuilder b;

  auto text(const std::string &s) { return b.CreateString(s); }

  template <typename T>
  auto scalars(const std::vector<T> &v) {
    return b.CreateVector(v.data(), v.size());
  }

  auto hash(const std::array<uint8_t, 32> &h) { return b.CreateVector(h.data(), h.size()); }

  /// A vector of tables, one per element, each made by `make`.
  template <typename T, typename Make>
  auto tables(const std::vector<T> &v, Make make) {
    std::vector<decltype(make(v.front()))> offsets;
    offsets.reserve(v.size());
    for (const T &e : v)
      offsets.push_back(make(e));
    return b.CreateVector(offsets);
  }

  auto texts(const std::vector<std::string> &v) {
    return tables(v, [&](const std::string &s) { return fb::CreateText(b, text(s)); });
  }

  static fb::OperandRef ref(const Operand &o) {
    return {uint8_t(o.kind), o.flags, o.index, o.reserved, o.offset};
  }

  Offset<fb::Kernel> kernel(const Kernel &k) {
    std::vector<fb::KernelArg> args;
    for (const KernelArg &a : k.args)
      args.emplace_back(a.bytes, uint8_t(a.access));
    auto symbol = text(k.symbol);
    auto list = b.CreateVectorOfStructs(args.data(), args.size());
    return fb::CreateKernel(b, symbol, list, k.work, k.flops, k.memoryBytes);
  }

  Offset<fb::Gemm> gemm(const Gemm &g) {
    return fb::CreateGemm(b, g.m, g.n, g.k, g.transposeA, g.transposeB, g.accumulate, g.lda, g.ldb, g.ldc,
                          uint8_t(g.dtype), g.scratchBytes, text(g.symbol), g.work);
  }

  Offset<fb::Region> region(const Region &r) {
    return fb::CreateRegion(b, text(r.name), uint8_t(r.kind), r.offset, r.bytes, r.slots, r.slotStride,
                            r.layers, r.layerStride, r.micros, r.microStride);
  }

  Offset<fb::Class> rankClass(const ClassProgram &c) {
    auto name = text(c.name);
    auto first = scalars(c.first), last = scalars(c.last);
    auto streams = texts(c.streams);
    auto regions = tables(c.regions, [&](const Region &r) { return region(r); });
    auto templates = tables(c.templates, [&](const Template &t) {
      return fb::CreateTemplate(b, text(t.name), t.first, t.count);
    });
    auto firstUse = scalars(c.firstUse);
    return fb::CreateClass(b, name, first, last, streams, regions, templates, c.instrs.size(),
                           c.operands.size(), c.init.size(), c.step.size(), c.eval.size(), c.events, firstUse,
                           c.arenaBytes);
  }

  Offset<fb::Summary> summary(const ClassSummary &s) {
    auto memory =
        tables(s.memory, [&](const MemoryTerm &t) { return fb::CreateMemoryTerm(b, text(t.name), t.bytes); });
    return fb::CreateSummary(b, memory, s.predictedStepSeconds);
  }

  Offset<fb::Param> param(const Param &p) {
    auto name = text(p.name), id = text(p.id);
    auto dims = tables(p.dims, [&](const ParamDim &d) {
      return fb::CreateParamDim(b, d.letter, d.local, d.global, scalars(d.axes));
    });
    auto layout = text(p.layout);
    fb::OperandRef value = ref(p.value), gradient = ref(p.gradient), m1 = ref(p.moment1), m2 = ref(p.moment2);
    return fb::CreateParam(b, name, id, uint8_t(p.dtype), dims, p.stacked, p.layerBegin, p.layerEnd, layout,
                           p.partDim, p.partIndex, p.partCount, p.classIndex, p.owner, &value, &gradient, &m1,
                           &m2);
  }

  Offset<fb::Input> input(const Input &i) {
    fb::OperandRef at = ref(i.at);
    return fb::CreateInput(b, uint8_t(i.kind), i.classIndex, &at, i.rows, scalars(i.axes));
  }
};

std::vector<uint8_t> IndexWriter::write(const std::array<fb::Section, 4> &sections) {
  auto producer = text(plan.producer), modelName = text(plan.modelName), family = text(plan.modelFamily);
  auto config = text(plan.modelConfig), strategy = text(plan.strategy), isa = text(plan.isa);
  auto modelHash = hash(plan.modelHash), clusterHash = hash(plan.clusterHash), jobHash = hash(plan.jobHash);
  const Optimizer &o = plan.optimizer;
  auto optimizer = fb::CreateOptimizer(b, o.lr, o.beta1, o.beta2, o.eps, o.decay, o.clip, o.minLr,
                                       uint8_t(o.schedule), o.warmup, o.steps);
  auto axes =
      tables(plan.axes, [&](const Axis &a) { return fb::CreateAxis(b, text(a.name), a.size, a.stride); });
  auto communicators = tables(plan.communicators, [&](const Communicator &c) {
    auto name = text(c.name);
    return fb::CreateCommunicator(b, name, scalars(c.axes), c.pair, c.order);
  });
  auto affines = tables(plan.affines, [&](const Affine &a) {
    return fb::CreateAffine(b, scalars(a.coordinate), a.layer, a.micro, a.constant);
  });
  auto kernels = tables(plan.kernels, [&](const Kernel &k) { return kernel(k); });
  auto gemms = tables(plan.gemms, [&](const Gemm &g) { return gemm(g); });
  auto classes = tables(plan.classes, [&](const ClassProgram &c) { return rankClass(c); });
  auto summaries = tables(plan.summaries, [&](const ClassSummary &s) { return summary(s); });
  auto params = tables(plan.params, [&](const Param &p) { return param(p); });
  auto inputs = tables(plan.inputs, [&](const Input &i) { return input(i); });
  auto scalarList = tables(
      plan.scalars, [&](const Scalar &s) { return fb::CreateScalar(b, uint8_t(s.kind), uint8_t(s.dtype)); });
  auto metrics = tables(plan.metrics, [&](const Metric &m) {
    return fb::CreateMetric(b, text(m.name), m.classIndex, uint8_t(m.dtype));
  });
  auto strings = texts(plan.strings);

  fb::IndexBuilder index(b);
  index.add_producer(producer);
  index.add_model_name(modelName);
  index.add_model_family(family);
  index.add_model_config(config);
  index.add_strategy(strategy);
  index.add_model_hash(modelHash);
  index.add_cluster_hash(clusterHash);
  index.add_job_hash(jobHash);
  index.add_parameters(plan.parameters);
  index.add_global_batch(plan.globalBatch);
  index.add_sequence(plan.sequence);
  index.add_vocabulary(plan.vocabulary);
  index.add_micro_batches(plan.microBatches);
  index.add_dtype(uint8_t(plan.dtype));
  index.add_optimizer(optimizer);
  index.add_predicted_step_seconds(plan.predictedStepSeconds);
  index.add_flops_per_step(plan.flopsPerStep);
  index.add_isa(isa);
  index.add_threads_per_rank(plan.threadsPerRank);
  index.add_axes(axes);
  index.add_communicators(communicators);
  index.add_affines(affines);
  index.add_kernels(kernels);
  index.add_gemms(gemms);
  index.add_classes(classes);
  index.add_summaries(summaries);
  index.add_params(params);
  index.add_inputs(inputs);
  index.add_scalars(scalarList);
  index.add_metrics(metrics);
  index.add_strings(strings);
  index.add_instrs(&sections[0]);
  index.add_operands(&sections[1]);
  index.add_entries(&sections[2]);
  index.add_code(&sections[3]);
  b.Finish(index.Finish());
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

/// Appends records as they lie in memory; plan.h asserts that they hold no padding.
template <typename T>
void append(std::vector<uint8_t> &out, const std::vector<T> &records) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto *p = reinterpret_cast<const uint8_t *>(records.data());
  out.insert(out.end(), p, p + records.size() * sizeof(T));
}

/// Text, hashes and tables of the index, counted generously.  Refuses before
/// FlatBuffers' own assertion would.
void checkIndexSize(const Plan &plan) {
  uint64_t bytes = plan.modelConfig.size() + plan.strategy.size();
  for (const std::string &s : plan.strings)
    bytes += s.size() + 32;
  for (const Kernel &k : plan.kernels)
    bytes += k.symbol.size() + k.args.size() * sizeof(KernelArg) + 96;
  for (const ClassProgram &c : plan.classes)
    bytes += c.regions.size() * 160 + c.templates.size() * 64 + c.firstUse.size() * 4;
  bytes += plan.params.size() * 512;
  if (bytes > kMaxIndexBytes / 2)
    throw std::length_error("the plan's index would pass 2 GiB");
}

} // namespace

std::vector<uint8_t> hocket::format::write(const Plan &plan) {
  checkIndexSize(plan);
  std::array<std::vector<uint8_t>, 4> data;
  for (const ClassProgram &c : plan.classes) {
    append(data[0], c.instrs);
    append(data[1], c.operands);
    append(data[2], c.init);
    append(data[2], c.step);
    append(data[2], c.eval);
  }
  data[3] = plan.code;

  // Section is a struct that is always stored, so that the index's length does
  // not depend on the offsets.
  std::array<fb::Section, 4> sections;
  std::vector<uint8_t> index = IndexWriter(plan).write(sections);
  uint64_t at = alignUp(kPrefixBytes + index.size());
  for (size_t i = 0; i < 4; ++i) {
    sections[i] = fb::Section(at, data[i].size());
    at = alignUp(at + data[i].size());
  }
  index = IndexWriter(plan).write(sections);

  Prefix prefix;
  prefix.major = kFormatMajor;
  prefix.minor = kFormatMinor;
  prefix.totalLength = at;
  prefix.indexLength = index.size();
  std::vector<uint8_t> file(at, 0);
  std::memcpy(file.data(), &prefix, sizeof(prefix));
  std::memcpy(file.data() + kPrefixBytes, index.data(), index.size());
  for (size_t i = 0; i < 4; ++i)
    if (!data[i].empty())
      std::memcpy(file.data() + sections[i].offset(), data[i].data(), data[i].size());
  stamp(file);
  return file;
}
