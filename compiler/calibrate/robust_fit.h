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

/// Leaves the fitted constants in place and returns the residuals there.
/// `residuals` gives a log ratio for each weight, for the constants as they are.
std::vector<double> robustFit(const std::vector<Varied> &constants, const std::vector<double> &weights,
                              const std::function<std::vector<double>()> &residuals);

} // namespace hocket::calibrate
