//===- evaluate.h - Errors and rankings on rows that were not fitted --------===//
#pragma once

#include "compiler/calibrate/fit.h"

#include <cstdint>

namespace hocket::calibrate {

/// Rows with a time that can be mapped, fine-tuning apart, by family of sources.
using Families = std::map<std::string, std::vector<size_t>>;
Families measured(const std::vector<Published> &rows);

/// Rows of a family in the order of a hash of seed, family and line.
std::vector<size_t> shuffled(const std::vector<Published> &rows, const std::vector<size_t> &family,
                             uint64_t seed);

/// The first tenth of that order, at least three.
std::vector<size_t> drawn(const std::vector<Published> &rows, const std::vector<size_t> &family,
                          uint64_t seed);

/// In percent; `inside` is the share of rows in their 90 % interval.
struct Summary {
  double rows = 0, mape = 0, median = 0, p90 = 0, bias = 0, inside = 0;
};
class Errors {
public:
  void add(double predicted, double measured, double halfWidth);
  Summary summary() const;

private:
  std::vector<double> ratios;
  size_t inside = 0;
};

/// Constants from a tenth of each family under `seed`; errors on the other rows.
struct InSource {
  Records records;
  std::map<std::string, Summary> errors;
  std::vector<bool> used; ///< per row
};
InSource inSource(const std::vector<Published> &rows, uint64_t seed);

/// Constants from at most `kRowsPerFamily` rows a family, none of them with `without` true.
inline constexpr size_t kRowsPerFamily = 60;
Records fitWithout(const std::vector<Published> &rows, const std::vector<bool> &without);

/// Plans of one group in two orders.
struct Ranking {
  std::string group;
  size_t plans = 0;
  double first = 0,
         bestOfThree = 0; ///< measured time of what we rank first (of our best three), over the fastest
  double correlation = 0; ///< Spearman's
};
/// The one row that rankings leave out: BLOOM's 182B at tensor 4, 12 stages and micro-batch 1 is printed 43 %
/// slower than with micro-batch 2, while every other such pair differs by less than 5 %.
bool outlier(const Published &row);

/// Of groups of `family` with at least five plans; the pooled correlation of times over their group's mean.
std::vector<Ranking> rankings(const std::vector<Published> &rows, const std::vector<size_t> &family,
                              const Records &records, double &pooled);

double spearman(const std::vector<double> &a, const std::vector<double> &b);

} // namespace hocket::calibrate
