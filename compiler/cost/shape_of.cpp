#include "compiler/cost/shape_of.h"

#include "compiler/cost/step_memory.h"

namespace hocket {

cost::ModelShape shapeOf(const ModelConfig &model) {
  cost::ModelShape shape;
  shape.name = model.name;
  shape.layers = model.layers, shape.hidden = model.hidden;
  shape.heads = model.heads, shape.kvHeads = model.kvHeads, shape.headDim = model.headDim;
  shape.ffn = model.ffn, shape.vocab = model.vocab;
  shape.gated = model.family == Family::Llama;
  shape.biased = model.family == Family::Gpt2;
  shape.tied = model.tied;
  shape.learnedPositions = model.learnedPositions ? model.maxPositions : 0;
  return shape;
}

uint64_t parameterCount(const ModelConfig &model) {
  cost::StageParameters whole = cost::stageParameters(shapeOf(model), cost::Tactics(), 0);
  return static_cast<uint64_t>(whole.dense + whole.experts);
}

} // namespace hocket
