//===- init.cpp - Initial values by counter ---------------------------------===//
#include "compiler/kernels/hash.h"
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
static constexpr int64_t kChunk = 4096;

/// splitmix64's finaliser.
static X mix(X z) {
  z = (z ^ (z >> 30)) * int64_t(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * int64_t(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/// (32 bits + 0.5) / 2^32.
static X unit(Code &c, X bits) { return (c.cast(bits, c.b.getF64Type()) + 0.5) * 0x1p-32; }

static bool isRandom(const InitSpec &spec) { return spec.kind == "normal"; }
static int64_t count(llvm::ArrayRef<int64_t> shape) {
  int64_t n = 1;
  for (int64_t e : shape)
    n *= e;
  return n;
}

KernelDesc describeInit(const InitSpec &spec) {
  KernelDesc desc;
  int64_t n = count(spec.local), bytes = spec.type.getIntOrFloatBitWidth() / 8;
  Hash hash;
  hash.text("init").text(spec.kind).real(spec.std).number(int64_t(spec.key));
  for (int64_t e : spec.local)
    hash.number(e);
  for (int64_t e : spec.global)
    hash.number(e);
  for (unsigned d : spec.padded)
    hash.number(d);
  desc.symbol =
      "init_" + spec.kind + "_" + typeName(spec.type) + "_" + shapeName(spec.local) + "_" + hash.finish();
  desc.args.push_back({format::Access::Write, uint64_t(n * bytes)});
  for (size_t i = 0; i < 2 + spec.padded.size(); ++i)
    desc.args.push_back({format::Access::Value, 8});
  desc.work = ceilDiv(n, kChunk);
  desc.flops = isRandom(spec) ? 50.0 * double(n) : 0;
  desc.memoryBytes = double(n * bytes);
  return desc;
}

LogicalResult generateInit(const InitSpec &spec, ModuleOp kernels) {
  if (spec.kind != "normal" && spec.kind != "zero" && spec.kind != "one")
    return kernels.emitError("no initial values of kind \"") << spec.kind << "\"";
  if (!isa<FloatType>(spec.type) || spec.local.size() != spec.global.size())
    return kernels.emitError("initial values are floating-point, with local and global extents of one rank");
  for (unsigned d : spec.padded)
    if (d >= spec.local.size())
      return kernels.emitError("padded dimension ") << d << " of " << spec.local.size();
  loadDialects(*kernels.getContext());
  KernelDesc desc = describeInit(spec);
  Recipe recipe;
  recipe.type = spec.type;
  int64_t n = count(spec.local);
  std::vector<Dim> dims;
  int64_t stride = 1;
  for (size_t d = spec.local.size(); d-- > 0;) {
    dims.insert(dims.begin(), Dim{spec.local[d], {stride}});
    stride *= spec.global[d];
  }
  recipe.emit = [&](Code &c, ArrayRef<Value> args, X begin, X end) {
    Type i64 = c.b.getI64Type();
    X zero = c.index(0);
    X base = c.load(args[1], zero);
    X seed = c.load(args[2], zero);
    Xs offsets;
    for (size_t p = 0; p < spec.padded.size(); ++p)
      offsets.push_back(c.toIndex(c.load(args[3 + p], zero)));
    // key = splitmix64(seed ^ key)
    X key = mix((seed ^ int64_t(spec.key)) + int64_t(kGolden));
    X limit = c.index(n);
    X lo = begin * kChunk;
    X hi = end * kChunk;
    c.loop(lo, select(hi < limit, hi, limit), 1, [&](X item) {
      Xs at = delinearize(c, item, dims);
      auto value = [&]() -> X {
        if (!isRandom(spec))
          return c.real(spec.kind == "one" ? 1 : 0);
        X i = base + c.cast(offsetAt(c, dims, at, 0), i64);
        X z = mix(key + (i + 1) * int64_t(kGolden));
        X u1 = unit(c, z >> 32);
        X u2 = unit(c, z & int64_t(0xFFFFFFFF));
        X radius = sqrt(log(u1) * -2.0);
        X turn = cos(u2 * 6.283185307179586476925);
        return c.cast(radius * turn * spec.std, spec.type);
      };
      X x = value();
      for (auto [p, d] : llvm::enumerate(spec.padded)) {
        X inside = offsets[p] + at[d] < c.index(spec.global[d]);
        x = select(inside, x, c.real(0));
      }
      c.store(x, args[0], item);
    });
  };
  recipe.work = desc.work;
  SmallVector<Type> types{MemRefType::get({n}, spec.type)};
  types.append(2 + spec.padded.size(), MemRefType::get({1}, IntegerType::get(kernels.getContext(), 64)));
  emitFunction(kernels, desc.symbol, types, recipe);
  return success();
}

} // namespace hocket::kernels
