//===- train.h - Two steps of a plan on made-up text --------------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::test::ops {

using Tensors = std::map<std::string, std::vector<double>>; ///< by checkpoint name

struct Trained {
  std::vector<double> losses, norms;   ///< of two steps
  double evaluated = 0;                ///< loss of the same rows after them
  Tensors initial, gradients, weights; ///< gradients: of the first step
  std::string error;                   ///< what ended the run instead
};

/// Tokens and labels of all rows; some labels are ignored ones.
struct Rows {
  Rows(int64_t batch, int64_t sequence, int64_t vocabulary);
  std::vector<std::vector<int32_t>> tokens, labels;
};

/// Initialises by the seed and trains.
Trained train(const format::Plan &plan, const Rows &rows);

/// The worst max|a-b| / max(max|b|, 1e-6 × the largest gradient) over all of `b`, and whose it is.
std::pair<double, std::string> difference(const Trained &a, const Trained &b);

} // namespace hocket::test::ops
