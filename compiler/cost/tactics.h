//===- tactics.h - All choices of a strategy as plain numbers ---------------===//
//
// One point of the search space: what `Strategy` says in a user's words and
// with locations, this says in numbers, so that a million of them a second can
// be priced.  Axes as in the design: devices = pipeline x data x context x
// tensor; experts and shard groups are factors of these.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/pipeline/tables.h"

#include <array>
#include <cstdint>
#include <vector>

namespace hocket::cost {

/// Type that matrix products compute in.  F16 stands for bf16 too.
enum class Precision : uint8_t { F64, F32, F16, Fp8, MxFp8, NvFp4 };
inline constexpr size_t kPrecisions = 6;

/// Of an activation or a parameter.  Low precisions keep both in 16 bits and quantize on
/// the way into products.
inline double elementBytes(Precision p) { return p == Precision::F64 ? 8 : p == Precision::F32 ? 4 : 2; }

enum class Axis : uint8_t { Pipeline, Data, Context, Tensor };

using ScheduleKind = pipeline::Schedule;

/// What is sharded over the shard group: nothing, moments and master weights,
/// gradients too, parameters too (ZeRO 0 to 3; 3 is FSDP).
enum class Zero : uint8_t { None, Optimizer, Gradients, Parameters };

enum class ContextKind : uint8_t { Ring, AllGather, Ulysses };

/// What is computed again in the backward pass.
enum class Recompute : uint8_t {
  None,
  Selective, ///< the attention core only
  Layers,    ///< `recomputeLayers` layers of each stage wholly, the rest nothing
  Full,      ///< every layer from its input
};

struct Tactics {
  int64_t pipeline = 1, data = 1, context = 1, tensor = 1;
  int64_t expert = 1;       ///< a factor of data * context (* tensor)
  int64_t expertTensor = 1; ///< tensor size inside experts
  std::array<Axis, 4> order = {Axis::Pipeline, Axis::Data, Axis::Context, Axis::Tensor}; ///< outermost first
  bool sequenceParallel = false; ///< norms and residuals sharded over tensor
  ContextKind contextKind = ContextKind::Ring;
  Zero zero = Zero::None;
  int64_t shardGroup = 0; ///< ranks of one shard group; 0: all of data * context
  ScheduleKind schedule = ScheduleKind::OneFOneB;
  int64_t chunks = 1;               ///< virtual stages a device (interleaved; 2 for the V schedules)
  std::vector<int64_t> stageLayers; ///< per stage, chunk-major (all stages of chunk 0 first); empty: even
  int64_t microBatch = 1;           ///< sequences per micro-batch and replica
  Recompute recompute = Recompute::None;
  int64_t recomputeLayers = 0;
  bool offloadOptimizer = false; ///< moments and master weights in host memory
  double offloadActivations = 0; ///< fraction of the activations in host memory
  Precision precision = Precision::F16;
  bool gradientsF32 = true;      ///< gradients are kept and reduced in f32
  bool overlapGradients = true;  ///< reduced beside the backward pass, bucket by bucket
  bool overlapParameters = true; ///< gathered ahead of their use
  int64_t bucketBytes = 0;       ///< 0: the stack's default

  int64_t devices() const { return pipeline * data * context * tensor; }
};

/// What the tactics are applied to.
struct Workload {
  int64_t sequence = 0, globalBatch = 0; ///< tokens, sequences per optimizer step
  bool causal = true;
};

} // namespace hocket::cost
