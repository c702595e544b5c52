//===- tactics_of.h - A user's strategy as numbers, and back ----------------===//
#pragma once

#include "compiler/cost/tactics.h"
#include "compiler/input/job.h"
#include "compiler/input/strategy.h"

namespace hocket {

/// `layers`: of the model.
cost::Tactics tacticsOf(const Strategy &strategy, const Job &job, int64_t layers);
/// Of tactics that this version executes.
Strategy strategyOf(const cost::Tactics &tactics);

} // namespace hocket
