#include "test/unit/kernels/harness.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hocket::test {

int64_t count(const std::string &letters, const Extents &extents) {
  int64_t n = 1;
  for (char l : letters)
    n *= extents.at(l);
  return n;
}

static std::string typeText(const Arg &arg, const std::string &type, const Extents &extents) {
  if (arg.type == "index")
    return "index";
  std::string text = "tensor<";
  for (char l : arg.letters)
    text += std::to_string(extents.at(l)) + "x";
  return text + (arg.type.empty() ? type : arg.type) + ">";
}

std::string opText(const std::string &name, const std::string &type, const Extents &extents,
                   const std::vector<Arg> &operands, const std::vector<Arg> &results,
                   const std::string &attributes, const std::string &region) {
  std::string params, names, types, dims, outs, outDims;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string n = "%a" + std::to_string(i), t = typeText(operands[i], type, extents), comma = i ? ", " : "";
    params += comma + n + ": " + t;
    names += comma + n;
    types += comma + t;
    dims += (i ? "," : "") + operands[i].letters;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    outs += (i ? ", " : "") + typeText(results[i], type, extents);
    outDims += (i ? "," : "") + results[i].letters;
  }
  std::string attr =
      "{dims = \"" + dims + "->" + outDims + "\"" + (attributes.empty() ? "" : ", " + attributes) + "}";
  std::string left;
  if (!results.empty())
    left = "%r:" + std::to_string(results.size()) + " = ";
  return "func.func @f(" + params + ") {\n  " + left + name + "(" + names + ") " + region + attr + " : (" +
         types + ") -> (" + outs + ")\n  return\n}\n";
}

Library::Library(const std::vector<uint8_t> &bytes) {
  int fd = memfd_create("kernels", 0);
  EXPECT_EQ(write(fd, bytes.data(), bytes.size()), ssize_t(bytes.size()));
  handle = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    ADD_FAILURE() << dlerror();
  close(fd);
}
Library::~Library() {
  if (handle)
    dlclose(handle);
}
Library::Function Library::find(const std::string &symbol) const {
  return handle ? reinterpret_cast<Function>(dlsym(handle, symbol.c_str())) : nullptr;
}

std::string hostIsa() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    return "x86-64-v4";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "x86-64-v3" : "x86-64-v2";
}

Kernels::Kernels() {
  context.loadDialect<model::ModelDialect, mlir::func::FuncDialect>();
  kernels::loadDialects(context);
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &d) {
    errors += d.str() + "\n";
    return mlir::success();
  });
  module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
}

mlir::Operation *Kernels::parse(const std::string &text) {
  parsed.push_back(mlir::parseSourceString<mlir::ModuleOp>(text, &context));
  if (!parsed.back()) {
    ADD_FAILURE() << errors << text;
    std::abort(); // a test's own text
  }
  auto fn = *parsed.back()->getOps<mlir::func::FuncOp>().begin();
  return &fn.getBody().front().front();
}

static std::string elementName(mlir::Type t) {
  if (t.isIndex())
    return "i64";
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::getElementTypeOrSelf(t).print(os);
  return text;
}

size_t Kernels::add(const std::string &text) {
  mlir::Operation *op = parse(text);
  Entry entry;
  if (op) {
    auto desc = kernels::describe(op);
    EXPECT_TRUE(mlir::succeeded(desc)) << errors << text;
    if (mlir::succeeded(desc))
      entry.desc = *desc;
    if (!module->lookupSymbol(entry.desc.symbol)) {
      EXPECT_TRUE(mlir::succeeded(kernels::generate(op, *module))) << errors << text;
    }
    EXPECT_TRUE(module->lookupSymbol(entry.desc.symbol)) << entry.desc.symbol;
    for (mlir::Value v : op->getOperands())
      entry.types.push_back(elementName(v.getType()));
    for (mlir::Value v : op->getResults())
      entry.types.push_back(elementName(v.getType()));
  }
  entries.push_back(entry);
  return entries.size() - 1;
}

size_t Kernels::addInit(const kernels::InitSpec &spec) {
  Entry entry;
  entry.desc = kernels::describeInit(spec);
  EXPECT_TRUE(mlir::succeeded(kernels::generateInit(spec, *module))) << errors;
  entry.types.push_back(elementName(spec.type));
  for (size_t i = 0; i < 2 + spec.padded.size(); ++i)
    entry.types.push_back("i64");
  entries.push_back(entry);
  return entries.size() - 1;
}

size_t Kernels::addGemm(const format::Gemm &gemm, const std::string &type) {
  Entry entry;
  entry.desc.symbol = gemm.symbol;
  entry.desc.work = gemm.work;
  uint64_t size = sizeOf(gemm.dtype);
  entry.desc.args = {{format::Access::Read, uint64_t(gemm.m * gemm.k) * size},
                     {format::Access::Read, uint64_t(gemm.k * gemm.n) * size},
                     {gemm.accumulate ? format::Access::ReadWrite : format::Access::Write,
                      uint64_t(gemm.m * gemm.n) * size}};
  EXPECT_TRUE(mlir::succeeded(kernels::generateGemm(gemm, *module))) << errors;
  entry.types = {type, type, type};
  entries.push_back(entry);
  return entries.size() - 1;
}

void Kernels::compile(const std::string &isa) {
  auto bytes = kernels::compile(*module, isa);
  ASSERT_TRUE(mlir::succeeded(bytes)) << errors;
  library = std::make_unique<Library>(*bytes);
}

namespace {
/// A buffer between guard bytes.
class Buffer {
public:
  static constexpr size_t kGuard = 64;
  explicit Buffer(size_t bytes) : storage(bytes + 2 * kGuard, 0xA5), bytes(bytes) {}
  void *data() { return storage.data() + kGuard; }
  void fill(const Values &values, const std::string &type) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (type == "f32")
        put(i, float(values[i]));
      else if (type == "f64")
        put(i, values[i]);
      else if (type == "i32")
        put(i, int32_t(values[i]));
      else
        put(i, int64_t(values[i]));
    }
  }
  Values read(const std::string &type) {
    Values values;
    size_t size = type == "f32" || type == "i32" ? 4 : 8;
    for (size_t i = 0; i < bytes / size; ++i) {
      if (type == "f32")
        values.push_back(get<float>(i));
      else if (type == "f64")
        values.push_back(get<double>(i));
      else if (type == "i32")
        values.push_back(get<int32_t>(i));
      else
        values.push_back(double(get<int64_t>(i)));
    }
    return values;
  }
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (storage[i] != 0xA5 || storage[kGuard + bytes + i] != 0xA5)
        return false;
    return true;
  }

private:
  std::vector<uint8_t> storage;
  size_t bytes;
  template <typename T>
  void put(size_t i, T v) {
    ASSERT_LE((i + 1) * sizeof(T), bytes);
    std::memcpy(storage.data() + kGuard + i * sizeof(T), &v, sizeof v);
  }
  template <typename T>
  T get(size_t i) {
    T v;
    std::memcpy(&v, storage.data() + kGuard + i * sizeof(T), sizeof v);
    return v;
  }
};
} // namespace

std::vector<Values> Kernels::execute(const Entry &entry, const std::vector<Values> &inputs, int parts,
                                     int alias, int into) {
  std::vector<Values> results;
  Library::Function function = library ? library->find(entry.desc.symbol) : nullptr;
  if (!function) {
    ADD_FAILURE() << "no symbol " << entry.desc.symbol;
    return results;
  }
  std::vector<Buffer> buffers;
  for (const format::KernelArg &arg : entry.desc.args)
    buffers.emplace_back(arg.bytes);
  size_t next = 0, results0 = 0;
  for (size_t i = 0; i < entry.desc.args.size(); ++i)
    if (entry.desc.args[i].access != format::Access::Write) {
      buffers[i].fill(inputs.at(next++), entry.types[i]);
      results0 = i + 1;
    }
  std::vector<void *> args;
  for (Buffer &b : buffers)
    args.push_back(b.data());
  if (alias >= 0)
    args[results0 + into] = args[alias];
  for (int p = 0; p < parts; ++p)
    function(args.data(), entry.desc.work * p / parts, entry.desc.work * (p + 1) / parts);
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_TRUE(buffers[i].intact()) << entry.desc.symbol << " writes outside argument " << i;
    bool written = entry.desc.args[i].access == format::Access::Write ||
                   entry.desc.args[i].access == format::Access::ReadWrite;
    if (written)
      results.push_back(buffers[alias >= 0 && i == results0 + into ? alias : i].read(entry.types[i]));
  }
  return results;
}

static void expectSameBits(const std::vector<Values> &a, const std::vector<Values> &b,
                           const std::string &what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(0, std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(double)))
        << what << " result " << i;
}

std::vector<Values> Kernels::run(size_t kernel, const std::vector<Values> &inputs) {
  const Entry &entry = entries[kernel];
  auto whole = execute(entry, inputs, 1, -1, 0);
  expectSameBits(whole, execute(entry, inputs, 3, -1, 0), entry.desc.symbol + ": in parts,");
  return whole;
}

std::vector<Values> Kernels::runInPlace(size_t kernel, const std::vector<Values> &inputs, size_t input,
                                        size_t result) {
  return execute(entries[kernel], inputs, 1, int(input), int(result));
}

Values random(int64_t n, unsigned seed) {
  std::mt19937_64 engine(seed);
  Values values(n);
  for (double &v : values)
    v = double(float(double(engine() >> 11) * 0x1p-52 - 1));
  return values;
}
Values integers(int64_t n, int64_t lo, int64_t hi, unsigned seed) {
  std::mt19937_64 engine(seed);
  Values values(n);
  for (double &v : values)
    v = double(lo + int64_t(engine() % uint64_t(hi - lo)));
  return values;
}

double error(const Values &a, const Values &b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 1e-30, worst = 0;
  for (double v : b)
    if (std::isfinite(v))
      most = std::max(most, std::abs(v));
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
      continue;
    double e = std::abs(a[i] - b[i]) / most;
    worst = std::isnan(e) ? INFINITY : std::max(worst, e);
  }
  return worst;
}

void forAll(const std::string &letters, const Extents &extents,
            const std::function<void(const Extents &)> &body) {
  Extents indices;
  std::function<void(size_t)> level = [&](size_t d) {
    if (d == letters.size())
      return body(indices);
    for (int64_t i = 0; i < extents.at(letters[d]); ++i) {
      indices[letters[d]] = i;
      level(d + 1);
    }
  };
  level(0);
}

int64_t at(const std::string &letters, const Extents &extents, const Extents &indices) {
  int64_t offset = 0;
  for (char l : letters)
    offset = offset * extents.at(l) + indices.at(l);
  return offset;
}

} // namespace hocket::test
