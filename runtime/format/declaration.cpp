#include "runtime/format/declaration.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hocket::format {

namespace {

/// Numbers as eight little-endian bytes each, hashed.
class Bytes {
public:
  Bytes &add(uint64_t v) {
    for (int i = 0; i < 8; ++i)
      bytes.push_back(uint8_t(v >> (8 * i)));
    return *this;
  }
  Bytes &add(double v) { return add(std::bit_cast<uint64_t>(v)); }

  std::string digest() const {
    uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4)
      out += "0123456789abcdef"[hash >> shift & 15];
    return out;
  }

private:
  std::vector<uint8_t> bytes;
};

} // namespace

std::string declarationDigest(const Kernel &k) {
  Bytes b;
  b.add(uint64_t(k.args.size()));
  for (const KernelArg &a : k.args)
    b.add(uint64_t(a.access)).add(a.bytes);
  return b.add(uint64_t(k.work)).add(k.flops).add(k.memoryBytes).digest();
}

std::string declarationDigest(const Gemm &g) {
  Bytes b;
  for (int64_t v : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.work})
    b.add(uint64_t(v));
  for (bool v : {g.transposeA, g.transposeB, g.accumulate})
    b.add(uint64_t(v));
  return b.add(uint64_t(g.dtype)).add(g.scratchBytes).digest();
}

} // namespace hocket::format
