//===- run.h - Plans made and trained in this process -----------------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "runtime/exec/session.h"
#include "runtime/verify/verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace hocket::test {

using TensorMap = std::map<std::string, std::vector<double>>;

struct Case {
  std::string model = "gpt2";                          ///< folder under test/golden
  std::string strategy = "data=1,tensor=1,pipeline=1"; ///< mesh, or the path of a strategy.toml
  std::string dtype = "f64";
  int64_t globalBatch = 4, microBatch = 4;
  std::string job = {}; ///< job.toml; the golden model's own when empty
};

inline std::string goldenFolder(const std::string &model) {
  return std::string(HOCKET_SOURCE_DIR) + "/test/golden/" + model;
}

/// The plan of a case on 16 CPU devices; a failed expectation and nothing if there is none.
inline std::optional<format::Plan> planOf(const Case &c) {
  PlanRequest request;
  request.job = c.job.empty() ? goldenFolder(c.model) + "/job.toml" : c.job;
  request.model = goldenFolder(c.model);
  request.cluster = std::string(HOCKET_SOURCE_DIR) + "/examples/clusters/two-hosts-of-8.toml";
  request.strategy = c.strategy;
  request.globalBatch = c.globalBatch;
  request.microBatch = c.microBatch;
  request.dtype = c.dtype;
  request.allowIdle = true;
  Diagnostics diags;
  std::optional<format::Plan> plan = makePlan(request, diags);
  EXPECT_TRUE(plan.has_value()) << c.strategy << "\n" << diags.str();
  return plan;
}

struct Trained {
  std::vector<double> losses, norms;
  TensorMap gradients;              ///< of the first step
  std::map<int, TensorMap> weights; ///< after the steps asked for
  double largestGradient = 0;
};

inline Trained train(const format::Plan &plan, const std::string &model, int steps, std::vector<int> keep,
                     exec::Options options = {}) {
  Trained result;
  exec::Session session(plan, options);
  session.initialize();
  session.load(goldenFolder(model) + "/init");
  data::Tokens text(goldenFolder(model) + "/data.bin", data::TokenType::U8,
                    {plan.globalBatch, plan.sequence, plan.vocabulary});
  for (int i = 1; i <= steps; ++i) {
    exec::StepResult step = session.step(text, data::Order::Sequential);
    result.losses.push_back(step.loss);
    result.norms.push_back(step.gradNorm);
    if (i == 1) {
      result.gradients = session.tensors(checkpoint::What::Gradient);
      for (auto &[name, values] : result.gradients)
        for (double v : values)
          result.largestGradient = std::max(result.largestGradient, std::fabs(v));
    }
    for (int k : keep)
      if (k == i)
        result.weights[i] = session.tensors(checkpoint::What::Value);
  }
  return result;
}

/// max|a-b| / max(max|b|, floor)
inline double errorOf(const std::vector<double> &a, const std::vector<double> &b, double floor) {
  if (a.size() != b.size())
    return INFINITY;
  double worst = 0, scale = floor;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]))
      return INFINITY;
    worst = std::max(worst, std::fabs(a[i] - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return worst / scale;
}

/// The worst error over all tensors of `b`, and its name.
inline std::pair<double, std::string> worst(const TensorMap &a, const TensorMap &b, double floor) {
  std::pair<double, std::string> result{0, ""};
  for (auto &[name, values] : b) {
    auto it = a.find(name);
    double e = it == a.end() ? INFINITY : errorOf(it->second, values, floor);
    if (e >= result.first)
      result = {e, name};
  }
  return result;
}

} // namespace hocket::test
