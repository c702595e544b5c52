//===- robust_fit.h - Constants that bring log ratios near zero -------------===//
//
// Damped Gauss-Newton steps on the logarithms of constants under Student's
// loss, far rows pull less, with a prior for every constant, so that few rows
// move few constants.  Deterministic.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <functional>
#include <vector>

namespace hocket::calibrate {

/// One constant that a fit varies: exp(centre) before, plus or minus `sigma` in the logarithm.
struct Varied {
  double *value; ///< positive
  double centre, sigma;
};

struct Fitted {
  std::vector<double> residuals; ///< with the fitted constants
  std::vector<double>
      covariance; ///< of the constants' logarithms, row by row: what rows and priors leave open
};

/// Leaves the fitted constants in place.  `residuals` gives a log ratio for
/// each weight, for the constants as they are.
Fitted robustFit(const std::vector<Varied> &constants, const std::vector<double> &weights,
                 const std::function<std::vector<double>()> &residuals);

} // namespace hocket::calibrate
