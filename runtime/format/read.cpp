//===- read.cpp - Bytes to plan ---------------------------------------------===//

#include "runtime/format/read.h"

#include "runtime/format/container.h"
#include "runtime/format/plan_generated.h"

#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket::format;

namespace {

struct Reject {
  ReadError error;
};

[[noreturn]] void bad(std::string message) { throw Reject{{ReadError::Bad, std::move(message)}}; }

[[noreturn]] void incompatible(std::string message) {
  throw Reject{{ReadError::Incompatible, std::move(message)}};
}

std::string num(uint64_t n) { return std::to_string(n); }

/// Checks what can be said from the first 64 bytes, in an order that names the
/// most helpful cause: a truncated file of a newer version is "newer".
Prefix readPrefix(std::span<const uint8_t> file) {
  if (file.size() < kMagic.size() || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    bad("not a plan file: it does not begin with \"HOCKETPL\"");
  if (file.size() < kPrefixBytes)
    bad("plan file cut off: " + num(file.size()) + " bytes, the prefix alone has 64");
  Prefix p;
  std::memcpy(&p, file.data(), sizeof(p));
  if (p.major != kFormatMajor)
    incompatible("plan format " + num(p.major) + "." + num(p.minor) + ", this build reads " +
                 num(kFormatMajor) + ".x; compile the plan again with this version's `hocket plan`");
  if (uint64_t unknown = p.features & ~kKnownFeatures)
    incompatible("plan format " + num(p.major) + "." + num(p.minor) + " requires feature bit " +
                 num(std::countr_zero(unknown)) + ", which this build (format " + num(kFormatMajor) + "." +
                 num(kFormatMinor) + ") does not know; use a newer `hocket-run`");
  if (p.totalLength != file.size())
    bad("plan file " + std::string(p.totalLength > file.size() ? "cut off" : "has bytes appended") + ": " +
        num(file.size()) + " bytes, the prefix says " + num(p.totalLength));
  if (p.checksum != checksumOf(file))
    bad("plan file damaged: its checksum does not match its content");
  if (p.reserved != 0)
    bad("plan file damaged: reserved field of the prefix is " + num(p.reserved) + ", must be 0");
  if (p.indexOffset != kPrefixBytes || p.indexLength > file.size() - kPrefixBytes || p.indexLength < 8 ||
      p.indexLength > kMaxIndexBytes)
    bad("plan index at [" + num(p.indexOffset) + ", +" + num(p.indexLength) + ") is outside the file of " +
        num(file.size()) + " bytes");
  return p;
}

/// Copies the verified index into plain structs.  Offsets of a FlatBuffer may
/// all point to one vector, so that a small file could describe a huge plan;
/// `budget` bounds what is copied by the size of the index itself.
class IndexReader {
public:
  IndexReader(std::span<const uint8_t> file, const fb::Index &index, uint64_t indexBytes)
      : file(file), index(index), budget(indexBytes), indexEnd(kPrefixBytes + indexBytes) {}

  Plan run();

private:
  std::span<const uint8_t> file;
  const fb::Index &index;
  uint64_t budget;
  uint64_t indexEnd;
  std::span<const uint8_t> instrs, operands, entries;

  void spend(uint64_t bytes) {
    if (bytes > budget)
      bad("plan index refers to the same data again and again");
    budget -= bytes;
  }

  std::string text(const flatbuffers::String *s) {
    if (!s)
      return {};
    spend(s->size());
    return s->str();
  }

  template <typename T>
  std::vector<T> scalars(const flatbuffers::Vector<T> *v) {
    if (!v)
      return {};
    spend(uint64_t(v->size()) * sizeof(T));
    // By memcpy: the FlatBuffers verifier does not prove that elements are aligned.
    std::vector<T> out(v->size());
    if (!out.empty())
      std::memcpy(out.data(), v->Data(), out.size() * sizeof(T));
    return out;
  }

  template <typename Table, typename Make>
  auto tables(const flatbuffers::Vector<flatbuffers::Offset<Table>> *v, Make make) {
    std::vector<decltype(make(*v->Get(0)))> out;
    if (!v)
      return out;
    spend(uint64_t(v->size()) * 4);
    out.reserve(v->size());
    for (const Table *t : *v)
      out.push_back(make(*t));
    return out;
  }

  std::vector<std::string> texts(const flatbuffers::Vector<flatbuffers::Offset<fb::Text>> *v) {
    return tables(v, [&](const fb::Text &t) { return text(t.value()); });
  }

  std::array<uint8_t, 32> hash(const flatbuffers::Vector<uint8_t> *v, const char *what) {
    std::array<uint8_t, 32> out{};
    if (!v || v->size() != out.size())
      bad(std::string("plan index: ") + what + " must have 32 bytes");
    std::memcpy(out.data(), v->data(), out.size());
    return out;
  }

  /// The enumerator of number `raw`; `last` is the greatest known one.
  template <typename E>
  static E enumerator(uint64_t raw, E last, const char *what) {
    if (raw > uint64_t(last))
      bad(std::string("plan index: ") + what + " is " + num(raw) + ", the greatest known is " +
          num(uint64_t(last)));
    return E(raw);
  }
  static DType dtype(uint8_t raw) { return enumerator(raw, DType::U8, "element type"); }

  /// The next section: behind `at`, aligned, inside the file, of whole records.
  std::span<const uint8_t> section(const fb::Section *s, const char *what, uint64_t record, uint64_t &at) {
    if (!s)
      bad(std::string("plan index: no section of ") + what);
    if (s->offset() % kAlignment != 0 || s->offset() < at || s->offset() > file.size() ||
        s->length() > file.size() - s->offset() || s->length() % record != 0)
      bad(std::string("plan index: section of ") + what + " at [" + num(s->offset()) + ", +" +
          num(s->length()) + ") must lie in the file's " + num(file.size()) + " bytes behind byte " +
          num(at) + ", start at a multiple of 64 and hold whole records of " + num(record) + " bytes");
    at = s->offset() + s->length();
    return file.subspan(s->offset(), s->length());
  }

  /// Takes the next `count` records off `from`.
  template <typename T>
  static std::vector<T> take(std::span<const uint8_t> &from, uint64_t count, const char *what) {
    if (count > from.size() / sizeof(T))
      bad(std::string("plan index: the classes have more ") + what + " than their section");
    std::vector<T> out(count);
    if (count)
      std::memcpy(out.data(), from.data(), count * sizeof(T));
    from = from.subspan(count * sizeof(T));
    return out;
  }

  static Operand operand(Operand o) {
    enumerator(uint64_t(o.kind), OperandKind::Scalar, "operand kind");
    if ((o.flags & ~(kSlotMask | kLayered | kMicro)) != 0 || (o.flags & kSlotMask) > 4 || o.reserved != 0)
      bad("plan index: operand flags " + num(o.flags) + ", reserved " + num(o.reserved) +
          ": legal are slot 0..4, layered, micro, and 0");
    return o;
  }

  static Operand operand(const fb::OperandRef *r) {
    if (!r)
      return {};
    Operand o;
    o.kind = OperandKind(r->kind());
    o.flags = r->flags();
    o.index = r->index();
    o.reserved = r->reserved();
    o.offset = r->offset();
    return operand(o);
  }

  Kernel kernel(const fb::Kernel &k);
  Gemm gemm(const fb::Gemm &g);
  Region region(const fb::Region &r);
  ClassProgram rankClass(const fb::Class &c);
  Param param(const fb::Param &p);
};

Kernel IndexReader::kernel(const fb::Kernel &k) {
  Kernel out;
  out.symbol = text(k.symbol());
  if (k.args()) {
    spend(uint64_t(k.args()->size()) * sizeof(fb::KernelArg));
    for (uint32_t i = 0; i < k.args()->size(); ++i) {
      fb::KernelArg a; // by memcpy, as in scalars()
      std::memcpy(&a, k.args()->Data() + i * sizeof(a), sizeof(a));
      out.args.push_back({enumerator(a.access(), Access::Value, "kernel argument access"), a.bytes()});
    }
  }
  out.work = k.work();
  out.flops = k.flops();
  out.memoryBytes = k.memory_bytes();
  return out;
}

Gemm IndexReader::gemm(const fb::Gemm &g) {
  Gemm out;
  out.m = g.m(), out.n = g.n(), out.k = g.k();
  out.transposeA = g.transpose_a(), out.transposeB = g.transpose_b(), out.accumulate = g.accumulate();
  out.lda = g.lda(), out.ldb = g.ldb(), out.ldc = g.ldc();
  out.dtype = dtype(g.dtype());
  out.scratchBytes = g.scratch_bytes();
  out.symbol = text(g.symbol());
  out.work = g.work();
  return out;
}

Region IndexReader::region(const fb::Region &r) {
  Region out;
  out.name = text(r.name());
  out.kind = enumerator(r.kind(), RegionKind::Scratch, "region kind");
  out.offset = r.offset(), out.bytes = r.bytes();
  out.slots = r.slots(), out.slotStride = r.slot_stride();
  out.layers = r.layers(), out.layerStride = r.layer_stride();
  out.micros = r.micros(), out.microStride = r.micro_stride();
  return out;
}

ClassProgram IndexReader::rankClass(const fb::Class &c) {
  ClassProgram out;
  out.name = text(c.name());
  out.first = scalars(c.first());
  out.last = scalars(c.last());
  out.streams = texts(c.streams());
  out.regions = tables(c.regions(), [&](const fb::Region &r) { return region(r); });
  out.templates = tables(
      c.templates(), [&](const fb::Template &t) { return Template{text(t.name()), t.first(), t.count()}; });
  out.instrs = take<Instr>(instrs, c.instr_count(), "instructions");
  for (const Instr &i : out.instrs) {
    enumerator(uint64_t(i.op), Op::Metric, "instruction kind");
    if (i.reserved != 0)
      bad("plan: reserved field of an instruction is " + num(i.reserved) + ", must be 0");
  }
  out.operands = take<Operand>(operands, c.operand_count(), "operands");
  for (const Operand &o : out.operands)
    operand(o);
  out.init = take<ListEntry>(entries, c.init_count(), "list entries");
  out.step = take<ListEntry>(entries, c.step_count(), "list entries");
  out.eval = take<ListEntry>(entries, c.eval_count(), "list entries");
  for (const std::vector<ListEntry> *list : {&out.init, &out.step, &out.eval})
    for (const ListEntry &e : *list)
      if (e.reserved != 0)
        bad("plan: reserved field of a list entry is " + num(e.reserved) + ", must be 0");
  out.events = c.events();
  out.firstUse = scalars(c.first_use());
  out.arenaBytes = c.arena_bytes();
  return out;
}

Param IndexReader::param(const fb::Param &p) {
  Param out;
  out.name = text(p.name());
  out.id = text(p.id());
  out.dtype = dtype(p.dtype());
  out.dims = tables(p.dims(), [&](const fb::ParamDim &d) {
    return ParamDim{char(d.letter()), d.local(), d.global(), scalars(d.axes())};
  });
  out.stacked = p.stacked();
  out.layerBegin = p.layer_begin(), out.layerEnd = p.layer_end();
  out.layout = text(p.layout());
  out.partDim = p.part_dim(), out.partIndex = p.part_index(), out.partCount = p.part_count();
  out.classIndex = p.class_index();
  out.owner = p.owner();
  out.value = operand(p.value()), out.gradient = operand(p.gradient());
  out.moment1 = operand(p.moment1()), out.moment2 = operand(p.moment2());
  return out;
}

Plan IndexReader::run() {
  Plan plan;
  uint64_t at = indexEnd;
  instrs = section(index.instrs(), "instructions", sizeof(Instr), at);
  operands = section(index.operands(), "operands", sizeof(Operand), at);
  entries = section(index.entries(), "list entries", sizeof(ListEntry), at);
  std::span<const uint8_t> code = section(index.code(), "code", 1, at);

  plan.producer = text(index.producer());
  plan.modelName = text(index.model_name());
  plan.modelFamily = text(index.model_family());
  plan.modelConfig = text(index.model_config());
  plan.strategy = text(index.strategy());
  plan.modelHash = hash(index.model_hash(), "model hash");
  plan.clusterHash = hash(index.cluster_hash(), "cluster hash");
  plan.jobHash = hash(index.job_hash(), "job hash");
  plan.parameters = index.parameters();
  plan.globalBatch = index.global_batch();
  plan.sequence = index.sequence();
  plan.vocabulary = index.vocabulary();
  plan.microBatches = index.micro_batches();
  plan.dtype = dtype(index.dtype());
  if (!index.optimizer())
    bad("plan index: no optimizer");
  const fb::Optimizer &o = *index.optimizer();
  plan.optimizer = {o.lr(),     o.beta1(),
                    o.beta2(),  o.eps(),
                    o.decay(),  o.clip(),
                    o.min_lr(), enumerator(o.schedule(), ScheduleKind::Cosine, "learning-rate schedule"),
                    o.warmup(), o.steps()};
  plan.predictedStepSeconds = index.predicted_step_seconds();
  plan.flopsPerStep = index.flops_per_step();
  plan.isa = text(index.isa());
  plan.threadsPerRank = index.threads_per_rank();
  plan.code.assign(code.begin(), code.end());

  plan.axes =
      tables(index.axes(), [&](const fb::Axis &a) { return Axis{text(a.name()), a.size(), a.stride()}; });
  plan.communicators = tables(index.communicators(), [&](const fb::Communicator &c) {
    return Communicator{text(c.name()), scalars(c.axes()), c.pair(), c.order()};
  });
  plan.affines = tables(index.affines(), [&](const fb::Affine &a) {
    return Affine{scalars(a.coordinate()), a.layer(), a.micro(), a.constant()};
  });
  plan.kernels = tables(index.kernels(), [&](const fb::Kernel &k) { return kernel(k); });
  plan.gemms = tables(index.gemms(), [&](const fb::Gemm &g) { return gemm(g); });
  plan.classes = tables(index.classes(), [&](const fb::Class &c) { return rankClass(c); });
  if (!instrs.empty() || !operands.empty() || !entries.empty())
    bad("plan index: records left over that belong to no class");
  plan.summaries = tables(index.summaries(), [&](const fb::Summary &s) {
    auto memory =
        tables(s.memory(), [&](const fb::MemoryTerm &t) { return MemoryTerm{text(t.name()), t.bytes()}; });
    return ClassSummary{std::move(memory), s.predicted_step_seconds()};
  });
  plan.params = tables(index.params(), [&](const fb::Param &p) { return param(p); });
  plan.inputs = tables(index.inputs(), [&](const fb::Input &i) {
    return Input{enumerator(i.kind(), InputKind::Labels, "input kind"), i.class_index(), operand(i.at()),
                 i.rows(), scalars(i.axes())};
  });
  plan.scalars = tables(index.scalars(), [&](const fb::Scalar &s) {
    return Scalar{enumerator(s.kind(), ScalarKind::Seed, "scalar kind"), dtype(s.dtype())};
  });
  plan.metrics = tables(index.metrics(), [&](const fb::Metric &m) {
    return Metric{text(m.name()), m.class_index(), dtype(m.dtype())};
  });
  plan.strings = texts(index.strings());
  return plan;
}

Plan readOrThrow(std::span<const uint8_t> file) {
  Prefix prefix = readPrefix(file);
  // FlatBuffers reads aligned; a caller's buffer need not be.
  std::vector<uint64_t> index((prefix.indexLength + 7) / 8);
  std::memcpy(index.data(), file.data() + prefix.indexOffset, prefix.indexLength);
  const auto *bytes = reinterpret_cast<const uint8_t *>(index.data());

  flatbuffers::Verifier::Options limits;
  limits.max_depth = 16; // the schema nests 4 deep
  // A table needs 8 bytes; more tables than that share their bytes.
  limits.max_tables = flatbuffers::uoffset_t(prefix.indexLength / 8);
  flatbuffers::Verifier verifier(bytes, prefix.indexLength, limits);
  if (!verifier.VerifyBuffer<fb::Index>(nullptr))
    bad("plan index is not well-formed");
  return IndexReader(file, *flatbuffers::GetRoot<fb::Index>(bytes), prefix.indexLength).run();
}

/// Closes on leaving.
struct File {
  int fd;
  ~File() {
    if (fd >= 0)
      ::close(fd);
  }
};

} // namespace

ReadResult hocket::format::read(std::span<const uint8_t> file) {
  ReadResult result;
  try {
    result.plan = readOrThrow(file);
  } catch (Reject &reject) {
    result.error = std::move(reject.error);
  } catch (const std::bad_alloc &) {
    result.error.message = "not enough memory to read a plan of " + num(file.size()) + " bytes";
  }
  return result;
}

ReadResult hocket::format::readFile(const std::string &path) {
  constexpr uint64_t kMaxFile = uint64_t(4) << 30;
  ReadResult result;
  auto fail = [&](const std::string &what) {
    result.error.message = path + ": " + what;
    return std::move(result);
  };
  // Not blocking: a FIFO must be refused, not waited for.
  File file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0)
    return fail(std::string("cannot open: ") + std::strerror(errno));
  struct stat info;
  if (::fstat(file.fd, &info) != 0)
    return fail(std::string("cannot stat: ") + std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fail("not a regular file");
  if (uint64_t(info.st_size) > kMaxFile)
    return fail("a plan file has at most 4 GiB, this one has " + num(info.st_size) + " bytes");
  std::vector<uint8_t> bytes;
  try {
    bytes.resize(info.st_size);
  } catch (const std::bad_alloc &) {
    return fail("not enough memory to read " + num(info.st_size) + " bytes");
  }
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::read(file.fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail(std::string("cannot read: ") + std::strerror(errno));
    if (n == 0)
      break; // shrank meanwhile: the length check says so
    done += size_t(n);
  }
  bytes.resize(done);
  result = read(bytes);
  if (!result)
    result.error.message = path + ": " + result.error.message;
  return result;
}
