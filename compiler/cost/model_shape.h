//===- model_shape.h - A transformer as plain numbers -----------------------===//
//
// What the cost model knows of a model: extents, no names of families.  Filled
// from a config.json, or from a row of published measurements.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace hocket::cost {

/// Routed experts in place of the dense feed-forward; count 0: none.
struct ExpertShape {
  int64_t count = 0, topk = 0, ffn = 0; ///< experts, experts a token visits, width of one
  int64_t shared = 0;                   ///< experts of the same width that every token visits
  int64_t denseLayers = 0;              ///< first layers, which keep the dense feed-forward
};

/// Latent attention (MLA); kvRank 0: none, plain grouped-query attention.
struct LatentShape {
  int64_t qRank = 0, kvRank = 0, nopeDim = 0, ropeDim = 0, valueDim = 0;
};

struct ModelShape {
  std::string name;
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0, ffn = 0, vocab = 0;
  bool gated = false;           ///< three feed-forward matrices (SwiGLU), else two
  bool biased = false;          ///< matrices have biases, norms have shifts (GPT)
  bool tied = false;            ///< the head's matrix is the embedding's
  int64_t learnedPositions = 0; ///< rows of a position table
  int64_t window = 0;           ///< sliding-window attention; 0: all of the sequence
  int64_t predictedTokens = 0;  ///< further tokens predicted by extra blocks (MTP depth)
  ExpertShape experts;
  LatentShape latent;
};

} // namespace hocket::cost
