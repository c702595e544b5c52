//===- job.h - What is asked: job.toml and the flags that override it -------===//
#pragma once

#include "compiler/input/value.h"
#include "runtime/format/plan.h"

namespace hocket {

/// What matrix products compute in.
enum class ComputeType : uint8_t { F64, F32, Bf16, Fp8Tensorwise, MxFp8, NvFp4 };

struct Job {
  std::string model; ///< config.json or the folder that holds it; "" when not given
  Loc modelLoc;
  int64_t sequence = 0, globalBatch = 0; ///< 0 until given; batch in sequences per optimizer step
  Loc sequenceLoc, globalBatchLoc;
  ComputeType compute = ComputeType::F32;
  bool computeGiven = false; ///< else the cluster's kind of device decides
  bool gradientsF32 = true;  ///< kept and reduced in f32, where compute is narrower
  Loc dtypeLoc;
  /// Of a job that this version executes: F32 or F64, of compute, gradients and state.
  format::DType dtype() const {
    return compute == ComputeType::F64 ? format::DType::F64 : format::DType::F32;
  }
  /// "adamw" alone: lr 3e-4, betas 0.9 and 0.95, eps 1e-8, decay 0.1, clip 1.0,
  /// cosine to 3e-5 over 2000 steps after 100 of warm-up.
  format::Optimizer optimizer = adamw();
  /// Fraction of a device's memory to leave free. Not given: none where the allocator's layout is the
  /// verdict, kHeadroom where it is an estimate.
  double headroom = 0;
  bool headroomGiven = false;
  double tokens = 0; ///< to train on in all; 0: not said
  struct Demand {
    std::string text;
    Loc loc;
  };
  std::vector<Demand> require; ///< goal.require and --require, as written
  std::string text;            ///< job.toml as read

  static format::Optimizer adamw();
};

/// "bf16", "f32", …
llvm::StringRef name(ComputeType type);
std::optional<ComputeType> parseCompute(llvm::StringRef name, Loc loc, Diagnostics &diags);

/// What of a job this version compiles a plan for: f32 and f64 (exit code 3).
bool checkExecutable(const Job &job, Diagnostics &diags);

inline constexpr double kHeadroom = 0.06;

/// Reads a job.toml; a relative `model` is relative to the file's folder.
std::optional<Job> readJob(int32_t source, Diagnostics &diags);

/// Limits of the sizes, for files and flags alike.
inline constexpr int64_t kMaxSequence = 1 << 24, kMaxBatch = 1 << 24;

} // namespace hocket
