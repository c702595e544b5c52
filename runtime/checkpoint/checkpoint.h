//===- checkpoint.h - Weights between a directory and the arenas ------------===//
#pragma once

#include "runtime/checkpoint/shards.h"

namespace hocket::checkpoint {

struct LoadReport {
  uint64_t loaded = 0;
  std::vector<std::string> ignored; ///< tensors of the file that the plan does not have
};

/// Reads DIR/model.safetensors into all shards.  Every tensor of the plan must be
/// there with its shape: else Error(2).  Nothing is written before all are checked.
LoadReport load(const format::Plan &plan, const std::string &directory, Arenas &arenas);

/// Writes DIR/model.safetensors and DIR/config.json (the plan's model).
void save(const format::Plan &plan, const std::string &directory, const Arenas &arenas);

/// Writes `what` of every parameter as one safetensors file.
void saveTensors(const format::Plan &plan, const std::string &path, What what, const Arenas &arenas);

} // namespace hocket::checkpoint
