#include "train.h"

#include "runtime/data/random.h"
#include "runtime/error.h"
#include "runtime/exec/session.h"

#include <algorithm>
#include <cmath>

namespace hocket::test::ops {

Rows::Rows(int64_t batch, int64_t sequence, int64_t vocabulary) {
  for (int64_t row = 0; row < batch; ++row) {
    auto draw = [&](uint64_t stream, int64_t at) {
      return int32_t(data::counterRandom(stream, uint64_t(row), uint64_t(at)) % uint64_t(vocabulary));
    };
    auto &t = tokens.emplace_back(), &l = labels.emplace_back();
    for (int64_t at = 0; at < sequence; ++at) {
      t.push_back(draw(1, at));
      l.push_back((row + at) % 7 == 3 ? -1 : draw(2, at));
    }
  }
}

Trained train(const format::Plan &plan, const Rows &rows) {
  Trained result;
  try {
    exec::Session session(plan, {});
    session.initialize();
    for (size_t row = 0; row < rows.tokens.size(); ++row)
      session.setRow(uint32_t(row), rows.tokens[row], rows.labels[row]);
    result.initial = session.tensors(checkpoint::What::Value);
    for (int step = 0; step < 2; ++step) {
      exec::StepResult r = session.step();
      result.losses.push_back(r.loss);
      result.norms.push_back(r.gradNorm);
      if (step == 0)
        result.gradients = session.tensors(checkpoint::What::Gradient);
    }
    result.weights = session.tensors(checkpoint::What::Value);
    result.evaluated = session.evaluateRows();
  } catch (const Error &e) {
    result.error = e.what();
  }
  return result;
}

/// max|a-b| / max(max|b|, floor); infinite where they do not correspond.
static double error(const std::vector<double> &a, const std::vector<double> &b, double floor) {
  if (a.size() != b.size())
    return INFINITY;
  double worst = 0, scale = floor;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]))
      return INFINITY;
    worst = std::max(worst, std::fabs(a[i] - b[i]));
    scale = std::max(scale, std::fabs(b[i]));
  }
  return worst / scale;
}

std::pair<double, std::string> difference(const Trained &a, const Trained &b) {
  std::pair<double, std::string> worst{0, "nothing"};
  auto note = [&](double e, const std::string &what) {
    if (e > worst.first)
      worst = {e, what};
  };
  double largest = 1e-300;
  for (auto &[name, values] : b.gradients)
    for (double v : values)
      largest = std::max(largest, std::fabs(v));
  auto all = [&](const Tensors &x, const Tensors &y, const char *what) {
    if (x.size() != y.size())
      note(INFINITY, std::string("the number of ") + what);
    for (auto &[name, values] : y) {
      auto it = x.find(name);
      note(it == x.end() ? INFINITY : error(it->second, values, 1e-6 * largest), what + (" of " + name));
    }
  };
  note(error(a.losses, b.losses, 0), "loss");
  note(error(a.norms, b.norms, 0), "gradient norm");
  note(error({a.evaluated}, {b.evaluated}, 0), "evaluated loss");
  all(a.initial, b.initial, "initial values");
  all(a.gradients, b.gradients, "gradients");
  all(a.weights, b.weights, "weights");
  return worst;
}

} // namespace hocket::test::ops
