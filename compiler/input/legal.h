//===- legal.h - Do model, cluster, job and strategy fit each other? --------===//
#pragma once

#include "compiler/input/config.h"
#include "compiler/input/job.h"
#include "compiler/input/strategy.h"

namespace hocket {

/// Dense peak of a device in FLOP/s; 0: it has no such unit. The types are those of
/// cost::Precision, in its order.
double rateOf(const DeviceKind &device, ComputeType type);

/// What is asked against what the model can do, before any strategy.
bool checkJob(const ModelConfig &model, const Cluster &cluster, const Job &job, Diagnostics &diags);

/// Divisibility of a resolved strategy; every error says the nearest legal
/// values.  Letters f and v are padded by rule, all others must divide.
bool checkLegal(const ModelConfig &model, const Cluster &cluster, const Job &job, const Strategy &strategy,
                Diagnostics &diags);

/// The divisors of n >= 1, ascending.
std::vector<int64_t> divisors(int64_t n);

/// The divisors of n next below and above k, as text: "4 or 8".
std::string nearestDivisors(int64_t n, int64_t k);

} // namespace hocket
