#include "compiler/calibrate/robust_fit.h"

#include <algorithm>
#include <cmath>

namespace hocket::calibrate {

namespace {

/// What a row's log ratio counts as one unit of.
constexpr double kScale = 0.04;
constexpr int kRounds = 14;

/// The lower triangle L of a = L L^T, in place; false unless `a` is positive definite.
bool factorize(std::vector<double> &a, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (size_t k = 0; k < j; ++k)
        sum -= a[i * n + k] * a[j * n + k];
      if (i != j)
        a[i * n + j] = sum / a[j * n + j];
      else if (sum <= 0)
        return false;
      else
        a[i * n + i] = std::sqrt(sum);
    }
  }
  return true;
}

/// L L^T x = b, in place.
void substitute(const std::vector<double> &l, double *b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k)
      b[i] -= l[i * n + k] * b[k];
    b[i] /= l[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k)
      b[i] -= l[k * n + i] * b[k];
    b[i] /= l[i * n + i];
  }
}

double objective(const std::vector<Varied> &all, const std::vector<double> &weight,
                 const std::vector<double> &r) {
  double sum = 0;
  for (size_t i = 0; i < r.size(); ++i)
    sum += weight[i] * 2 * std::log1p(r[i] * r[i] / (4 * kScale * kScale)) * 2;
  for (const Varied &p : all) {
    double z = (std::log(*p.value) - p.centre) / p.sigma;
    sum += z * z;
  }
  return sum;
}

} // namespace

namespace {

class Solver {
public:
  Solver(const std::vector<Varied> &all, const std::vector<double> &weight,
         const std::function<std::vector<double>()> &residuals)
      : all(all), weight(weight), residuals(residuals), n(all.size()), r(residuals()) {}

  Fitted run() {
    double damping = 1, best = objective(all, weight, r);
    for (int round = 0; round < kRounds; ++round) {
      linearize();
      std::vector<double> keep;
      for (const Varied &p : all)
        keep.push_back(*p.value);
      bool better = false;
      for (int attempt = 0; attempt < 6 && !better; ++attempt) {
        std::vector<double> a = normal, b = step;
        for (size_t j = 0; j < n; ++j)
          a[j * n + j] += damping / (all[j].sigma * all[j].sigma);
        if (factorize(a, n)) {
          substitute(a, b.data(), n);
          for (size_t j = 0; j < n; ++j)
            *all[j].value = keep[j] * std::exp(std::clamp(b[j], -0.7, 0.7));
        }
        std::vector<double> tried = residuals();
        double value = objective(all, weight, tried);
        if (value < best) {
          better = true;
          bool done = best - value < 1e-4 * best;
          best = value, r = std::move(tried), damping *= 0.3;
          if (done)
            round = kRounds;
        } else {
          damping *= 5;
          for (size_t j = 0; j < n; ++j)
            *all[j].value = keep[j];
        }
      }
      if (!better)
        break;
    }
    return {r, covariance()};
  }

private:
  const std::vector<Varied> &all;
  const std::vector<double> &weight;
  const std::function<std::vector<double>()> &residuals;
  size_t n;
  std::vector<double> r, normal, step;

  /// The normal equations at the constants as they are.
  void linearize() {
    size_t m = weight.size();
    std::vector<double> jacobian(m * n);
    normal.assign(n * n, 0), step.assign(n, 0);
    constexpr double h = 1e-4;
    for (size_t j = 0; j < n; ++j) {
      double keep = *all[j].value;
      *all[j].value = keep * std::exp(h);
      std::vector<double> moved = residuals();
      *all[j].value = keep;
      for (size_t i = 0; i < m; ++i)
        jacobian[i * n + j] = (moved[i] - r[i]) / h;
    }
    for (size_t i = 0; i < m; ++i) {
      double w = weight[i] / (kScale * kScale + r[i] * r[i] / 4);
      const double *row = &jacobian[i * n];
      for (size_t j = 0; j < n; ++j) {
        if (row[j] == 0)
          continue;
        step[j] -= w * row[j] * r[i];
        for (size_t k = 0; k <= j; ++k)
          normal[j * n + k] += w * row[j] * row[k];
      }
    }
    for (size_t j = 0; j < n; ++j) {
      double s2 = all[j].sigma * all[j].sigma;
      normal[j * n + j] += 1 / s2;
      step[j] -= (std::log(*all[j].value) - all[j].centre) / s2;
    }
  }

  std::vector<double> covariance() {
    linearize();
    std::vector<double> out(n * n);
    if (!factorize(normal, n)) // never: the priors alone are positive definite
      return out;
    for (size_t j = 0; j < n; ++j) {
      out[j * n + j] = 1;
      substitute(normal, &out[j * n], n);
    }
    return out;
  }
};

} // namespace

Fitted robustFit(const std::vector<Varied> &all, const std::vector<double> &weight,
                 const std::function<std::vector<double>()> &residuals) {
  return Solver(all, weight, residuals).run();
}

} // namespace hocket::calibrate
