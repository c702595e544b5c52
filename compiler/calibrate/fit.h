//===- fit.h - Constants from measured steps --------------------------------===//
//
// Varies the logarithm of every constant to bring predicted step times to
// measured ones: least squares of log ratios under a robust loss, with a prior
// for every constant, so that few rows move few constants.  Deterministic.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/calibrate/published.h"
#include "compiler/cost/step_time.h"

#include <map>
#include <string>
#include <vector>

namespace hocket::calibrate {

/// Records of constants by name.
struct Records {
  std::map<std::string, cost::DeviceConstants> device;
  std::map<std::string, cost::AttentionConstants> attention;
  std::map<std::string, cost::StackConstants> stack;
  std::map<std::string, cost::ClusterConstants> cluster;
  std::map<std::string, double> spread; ///< per family of sources: standard deviation of log ratios
  std::vector<double> covariance;       ///< of all constants' logarithms, in the order of the fit

  cost::Constants of(const Published &row) const;
};

/// Before any measurement: a record for every name in `rows`.
Records priors(const std::vector<Published> &rows);

/// Fitted on the rows with these indices.
Records fit(const std::vector<Published> &rows, const std::vector<size_t> &chosen);

double predict(const Records &records, const Published &row);

/// Half-width of the 90 % interval, as a log ratio: the spread of the family's
/// rows, and what its constants leave open at this row.  `calibrated` if rows
/// of the family were fitted, else at least log 1.3.
double halfWidth(const Records &records, const Published &row, bool calibrated);

} // namespace hocket::calibrate
