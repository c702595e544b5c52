//===- job.h - What is asked: job.toml and the flags that override it -------===//
#pragma once

#include "compiler/input/value.h"
#include "runtime/format/plan.h"

namespace hocket {

struct Job {
  std::string model; ///< config.json or the folder that holds it; "" when not given
  Loc modelLoc;
  int64_t sequence = 0, globalBatch = 0; ///< 0 until given; batch in sequences per optimizer step
  Loc sequenceLoc, globalBatchLoc;
  format::DType dtype = format::DType::F32; ///< F32 or F64, of compute, gradients and state
  Loc dtypeLoc;
  /// "adamw" alone: lr 3e-4, betas 0.9 and 0.95, eps 1e-8, decay 0.1, clip 1.0,
  /// cosine to 3e-5 over 2000 steps after 100 of warm-up.
  format::Optimizer optimizer = adamw();
  double headroom = 0; ///< fraction of a device's memory to leave free
  std::string text;    ///< job.toml as read

  static format::Optimizer adamw();
};

/// "f32", "f64"; others are named as known but not executable.
std::optional<format::DType> parseDType(llvm::StringRef name, Loc loc, Diagnostics &diags);

/// Reads a job.toml; a relative `model` is relative to the file's folder.
std::optional<Job> readJob(int32_t source, Diagnostics &diags);

/// Limits of the sizes, for files and flags alike.
inline constexpr int64_t kMaxSequence = 1 << 24, kMaxBatch = 1 << 24;

} // namespace hocket
