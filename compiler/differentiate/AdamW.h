//===- AdamW.h - Norm, clipping and the update, at the end of the step ------===//
#pragma once

#include "dialects/model/Build.h"

namespace hocket {

struct AdamW {
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1;
  double clip = 1.0; ///< largest global norm of the gradients; 0: no clipping
};

struct Updated {
  model::Term parameter, gradient, m, v;
  bool decay = false;
};

/// Square root of the sum of squares of all gradients.
model::Term globalNorm(model::Build &build, llvm::ArrayRef<Updated> parameters);

/// clip / max(norm, clip)
model::Term clipFactor(model::Build &build, const model::Term &norm, double clip);

/// Replaces parameter, m and v by their new values.  `factor`: nothing without
/// clipping.  `lr`, `c1`, `c2`: the step's learning rate, 1 - beta1^t, 1 - beta2^t.
void update(model::Build &build, const AdamW &options, Updated &p, std::optional<model::Term> factor,
            const model::Term &lr, const model::Term &c1, const model::Term &c2);

} // namespace hocket
