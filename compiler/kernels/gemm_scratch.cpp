//===- gemm_scratch.cpp - Scratch that the library may want for a product ---===//
//
// oneDNN 2.6 has two f32 products of plain matrices. Below AVX-512 it takes
// "gemm:jit", which declares no scratch (a sum of scale 1 becomes its beta). From
// AVX-512 on, AMX included, it takes "brg:avx512_core". That one cuts c in blocks
// of mBlock x nBlock, each thread has nChunk of them in a row, and the sum over k
// in pieces of kBlock. Per thread it asks for
//
//   batch  16 pointers to blocks of 32 bytes
//   a      mBlock x kBlock, rows padded off powers of two, if a is transposed
//   b      kBlock x 64, if b is transposed, or n is a power of two above 256
//   c      mBlock x nBlock x nChunk, if the product is added to c in pieces; the
//          whole c, if threads share a sum over k
//
// and, once, for 128 bytes to align each of these. kBlock does not depend on the
// machine, mBlock (at most 256), nChunk (at most 16) and the threads along k (at
// most 4) come from a search for the cut that fills the threads best: neither
// looks at caches. Its score is a sum of five fractions of f32. We walk the same
// candidates and take the largest demand among those whose score is the best but
// for rounding, so the bound does not depend on who rounds how.
//
// Worked case: 256 x 512 x 512, a transposed, 1 thread: mBlock 256, kBlock 512,
// rows of 528: 512 + 256 * 528 * 4 + 512 * 64 * 4 + 3 * 128 = 672640, as measured.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/gemm_scratch.h"

#include <algorithm>
#include <limits>

namespace hocket::kernels {
namespace {

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
bool isPowerOf2(int64_t a) { return (a & (a - 1)) == 0; }

/// How far `work` is from filling blocks of `block`, 0 to 1.
double unbalance(int64_t work, int64_t block) {
  int64_t rest = work % block, missing = block - rest;
  return double(work < block ? missing : std::min(missing, rest)) / double(block);
}

/// Far above what the library takes (2^31), low enough for sums of roundings.
int64_t extent(int64_t of) { return std::clamp<int64_t>(of, 1, int64_t(1) << 40); }

/// The library's cuts of one product.
struct Cuts {
  Cuts(const format::Gemm &g, int64_t threads)
      : m(extent(g.m)), n(extent(g.n)), k(extent(g.k)), threads(threads), transposeA(g.transposeA) {
    kBlock = std::min<int64_t>(k, k > 1024 && !transposeA ? 1024 : 512);
    nBlock = std::min<int64_t>(n, 64);
    nBlocks = ceilDiv(n, nBlock);
    // More threads than columns of blocks: shorter blocks, and threads along k.
    bool fewColumns = threads > nBlocks;
    minMBlock = std::min<int64_t>(m, fewColumns ? 16 : 32);
    maxKThreads = fewColumns && transposeA && k >= 2048 ? std::min<int64_t>(threads, 4) : 1;
    maxNChunk = std::min<int64_t>(transposeA ? 16 : 1, nBlocks);
  }

  double score(int64_t mBlock, int64_t nChunk, int64_t kThreads) const {
    int64_t others = threads / kThreads, columns = ceilDiv(n, nBlock), chunks = ceilDiv(columns, nChunk);
    double sum = unbalance(ceilDiv(m, mBlock) * ceilDiv(n, nBlock * nChunk), others);
    sum += double(roundUp(m, mBlock) % m) / double(m);
    sum += double(chunks * nChunk - columns) / double(columns);
    sum += unbalance(k, kThreads * kBlock);
    sum += double(threads - others * kThreads) / double(threads);
    return sum / 5;
  }

  /// f(mBlock, nChunk, kThreads) for all candidates.
  template <typename F>
  void each(F f) const {
    for (int64_t kThreads = maxKThreads; kThreads >= 1; --kThreads)
      for (int64_t nChunk = maxNChunk; nChunk >= 1; --nChunk)
        for (int64_t mBlock = std::min<int64_t>(m, 256); mBlock >= minMBlock; --mBlock)
          f(mBlock, nChunk, kThreads);
  }

  int64_t m, n, k, threads;
  bool transposeA;
  int64_t kBlock, nBlock, nBlocks, minMBlock, maxKThreads, maxNChunk;
};

} // namespace

uint64_t gemmScratchBound(const format::Gemm &gemm, uint32_t threadCount) {
  constexpr unsigned kWord = 4, kAlignment = 128, kBatch = 16 * 32;
  constexpr double kRounding = 1e-5; // of a mean of five f32 below 2
  using Wide = unsigned __int128;
  Cuts cuts(gemm, std::max<int64_t>(threadCount, 1));
  double best = std::numeric_limits<double>::infinity();
  cuts.each([&](auto... cut) { best = std::min(best, cuts.score(cut...)); });
  int64_t rowOfA = roundUp(cuts.kBlock, 16);
  if (rowOfA >= 512 && isPowerOf2(rowOfA))
    rowOfA += 16;
  bool copyB = gemm.transposeB || (cuts.n > 256 && isPowerOf2(cuts.n));
  Wide largest = 0;
  bool perfect = false; // the library keeps the first of equals, and no fraction of 0 is rounded
  cuts.each([&](int64_t mBlock, int64_t nChunk, int64_t kThreads) {
    double score = cuts.score(mBlock, nChunk, kThreads);
    if (perfect || score > best + kRounding)
      return;
    perfect = score == 0;
    Wide perThread = kBatch, parts = 1;
    auto want = [&](bool wanted, Wide words) {
      if (wanted) {
        perThread += words * kWord;
        ++parts;
      }
    };
    want(cuts.transposeA, Wide(mBlock) * rowOfA);
    want(copyB, Wide(64) * roundUp(cuts.kBlock, 16));
    bool pieces = cuts.k > cuts.kBlock;
    if (kThreads > 1)
      want(pieces, Wide(cuts.m) * cuts.n);
    else
      want(pieces && gemm.accumulate, Wide(mBlock) * cuts.nBlock * nChunk);
    largest = std::max(largest, perThread * cuts.threads + parts * kAlignment);
  });
  return uint64_t(std::min<Wide>(largest, std::numeric_limits<uint64_t>::max()));
}

} // namespace hocket::kernels
