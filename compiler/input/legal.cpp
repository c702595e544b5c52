#include "compiler/input/legal.h"

#include "compiler/input/units.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;

namespace hocket {

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d)
    if (n % d == 0) {
      low.push_back(d);
      if (d * d != n)
        high.push_back(n / d);
    }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::string nearestDivisors(int64_t n, int64_t k) {
  int64_t below = 0, above = 0;
  for (int64_t d : divisors(n)) {
    if (d <= k)
      below = d;
    else if (above == 0)
      above = d;
  }
  std::string out = std::to_string(below);
  return above ? out + " or " + std::to_string(above) : out;
}

double rateOf(const DeviceKind &d, ComputeType type) {
  switch (type) {
  case ComputeType::F64:
    return d.rateF64;
  case ComputeType::F32:
    return d.rateF32;
  case ComputeType::Bf16:
    return d.rateBf16 > 0 ? d.rateBf16 : d.rateF16;
  case ComputeType::Fp8Tensorwise:
    return d.rateFp8;
  case ComputeType::MxFp8:
    // Block scales are applied by the units that compute in fp4 too; older ones have neither.
    return d.rateFp4 > 0 ? d.rateFp8 : 0;
  case ComputeType::NvFp4:
    return d.rateFp4;
  }
  return 0;
}

bool checkJob(const ModelConfig &model, const Cluster &cluster, const Job &job, Diagnostics &diags) {
  size_t before = diags.errors();
  if (job.sequence > model.maxPositions)
    diags
        .error(job.sequenceLoc, "the sequence of " + Twine(job.sequence) + " is longer than the model's " +
                                    Twine(model.maxPositions) + " positions")
        .note(model.maxPositionsLoc, "at most " + Twine(model.maxPositions) + " is legal");
  // A stacked tensor of the global batch: its bytes, and the sum of some tens of such residuals on a
  // rank, stay below 2^62 (kMaxArenaBytes in runtime/verify).
  double width = double(std::max({model.hidden, model.ffn, model.vocab, model.heads * model.headDim}));
  double elements = double(job.globalBatch) * double(job.sequence) * double(model.layers) * width;
  if (elements > 0x1p54)
    diags
        .error(job.globalBatchLoc, "a global batch of " + Twine(job.globalBatch) + " sequences of " +
                                       Twine(job.sequence) + " tokens is too large for " +
                                       Twine(model.layers) + " layers of up to " + Twine(int64_t(width)) +
                                       " values a token")
        .note(job.globalBatchLoc,
              "at most " + Twine(int64_t(0x1p54 / (elements / double(job.globalBatch)))) + " is legal");
  for (size_t i = 0; i < cluster.pools(); ++i)
    if (const DeviceKind &device = cluster.pool(i).device; rateOf(device, job.compute) == 0)
      diags.error(device.loc, "device '" + device.name + "' gives no rate for " + name(job.compute) +
                                  ", which the job computes in");
  return diags.errors() == before;
}

/// A plan lists every micro-batch, and the verifier walks them through every layer (kMaxRangeVisits
/// in runtime/verify/verify.h; about 2^13 visits for a micro-batch in a layer). Slots have 16 bits.
static int64_t mostMicroBatches(int64_t layers) { return std::max<int64_t>(1, 65536 / (layers + 2)); }

bool checkLegal(const ModelConfig &model, const Cluster &cluster, const Job &job, const Strategy &s,
                Diagnostics &diags) {
  size_t before = diags.errors();
  checkJob(model, cluster, job, diags);

  auto shards = [&](char letter) {
    return !s.tilesGiven ||
           any_of(s.tiles, [&](const Tile &t) { return t.letter == letter && t.axis == "tensor"; });
  };
  if (shards('g') && model.heads % s.tensor != 0)
    diags.error(s.tensorLoc, Twine(model.heads) + " heads are not divisible by tensor=" + Twine(s.tensor))
        .note(model.headsLoc, "nearest legal values for tensor: " + nearestDivisors(model.kvHeads, s.tensor));
  else if (shards('g') && model.kvHeads % s.tensor != 0)
    diags
        .error(s.tensorLoc,
               Twine(model.kvHeads) + " key/value heads are not divisible by tensor=" + Twine(s.tensor))
        .note(model.kvHeadsLoc,
              "nearest legal values for tensor: " + nearestDivisors(model.kvHeads, s.tensor));

  if (model.layers < s.pipeline)
    diags
        .error(s.pipelineLoc,
               Twine(model.layers) + " layers are fewer than pipeline=" + Twine(s.pipeline) + " stages")
        .note(model.layersLoc, "at most pipeline=" + Twine(model.layers) + " is legal");
  if (!s.layers.empty()) {
    int64_t sum = std::accumulate(s.layers.begin(), s.layers.end(), int64_t{0});
    if (static_cast<int64_t>(s.layers.size()) != s.pipeline)
      diags.error(s.layersLoc, "'layers' names " + Twine(s.layers.size()) +
                                   " stages; the mesh has pipeline=" + Twine(s.pipeline));
    else if (sum != model.layers)
      diags.error(s.layersLoc, "'layers' add up to " + Twine(sum) + "; the model has " + Twine(model.layers));
  }

  if (job.globalBatch > 0) {
    if (job.globalBatch % s.data != 0) {
      diags
          .error(s.dataLoc.valid() ? s.dataLoc : s.meshLoc, "the global batch of " + Twine(job.globalBatch) +
                                                                " is not divisible by data=" + Twine(s.data))
          .note(job.globalBatchLoc,
                "nearest legal values for data: " + nearestDivisors(job.globalBatch, s.data));
    } else if (s.microBatch && job.globalBatch / s.data % s.microBatch != 0) {
      int64_t replica = job.globalBatch / s.data;
      diags
          .error(s.microBatchLoc, "a replica's batch of " + Twine(replica) + " (global batch " +
                                      Twine(job.globalBatch) + " / data " + Twine(s.data) +
                                      ") is not divisible by micro_batch=" + Twine(s.microBatch))
          .note(job.globalBatchLoc,
                "nearest legal values for micro_batch: " + nearestDivisors(replica, s.microBatch));
    } else if (s.microBatch) {
      int64_t micros = job.globalBatch / s.data / s.microBatch, most = mostMicroBatches(model.layers);
      if (micros > most)
        diags
            .error(s.microBatchLoc, Twine(micros) + " micro-batches (global batch " + Twine(job.globalBatch) +
                                        " / data " + Twine(s.data) + " / micro_batch " + Twine(s.microBatch) +
                                        ") through " + Twine(model.layers) +
                                        " layers are more than a plan can be verified for")
            .note(job.globalBatchLoc,
                  "at most " + Twine(most) + " are legal: a larger micro_batch, or more data");
    }
  }
  return diags.errors() == before;
}

} // namespace hocket
