//===- config.h - Hugging Face config.json as a plain struct ----------------===//
//
// Families gpt2 and llama.  Missing keys take the defaults of transformers'
// GPT2Config and LlamaConfig; a key that changes the mathematics and that this
// version cannot follow is an error that names it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/value.h"

namespace hocket {

enum class Family { Gpt2, Llama };
llvm::StringRef name(Family family);

/// rope_scaling of type llama3.
struct RopeScaling {
  double factor = 8, lowFreqFactor = 1, highFreqFactor = 4;
  int64_t originalMaxPositions = 8192;
};

struct ModelConfig {
  Family family = Family::Gpt2;
  std::string name; ///< the folder that holds config.json
  Loc loc;
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, headDim = 0, ffn = 0, vocab = 0, maxPositions = 0;
  Loc layersLoc, headsLoc, kvHeadsLoc, maxPositionsLoc; ///< invalid where the class default stands
  bool tied = false;                                    ///< head weights are the embedding's
  bool learnedPositions = false;                        ///< gpt2
  bool scaleAttention = true;                           ///< by 1/sqrt(headDim); gpt2's scale_attn_weights
  double normEps = 0;
  double initializerRange = 0.02;
  double ropeTheta = 0; ///< llama
  std::optional<RopeScaling> ropeScaling;
  std::string text; ///< config.json as read
};

/// `dropoutZero`: the user said --dropout=0, so that the file's rates are overridden.
std::optional<ModelConfig> readConfig(int32_t source, bool dropoutZero, Diagnostics &diags);

/// `path` is config.json or the folder that holds it.
std::optional<ModelConfig> openConfig(const std::string &path, bool dropoutZero, Diagnostics &diags,
                                      Loc askedBy = {});

} // namespace hocket
