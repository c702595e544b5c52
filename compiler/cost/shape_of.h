//===- shape_of.h - A config.json as the cost model's numbers ---------------===//
#pragma once

#include "compiler/cost/model_shape.h"
#include "compiler/input/config.h"

namespace hocket {

cost::ModelShape shapeOf(const ModelConfig &model);

/// Exact number of trainable parameters, below 2^53; tied weights count once.  The counting rule is the
/// memory model's, so that a strategy's bytes and a model's size cannot differ.
uint64_t parameterCount(const ModelConfig &model);

} // namespace hocket
