//===- checkpoint.h - Hugging Face tensors as the step's arguments ----------===//
#pragma once

#include "interpreter.h"

#include "dialects/model/Param.h"
#include <map>
#include <string>

namespace hocket::test {

using Checkpoint = std::map<std::string, Tensor>; // by name

/// A safetensors file of F64 tensors.
Checkpoint readSafetensors(const std::string &path);
std::string readFile(const std::string &path);
std::vector<double> readNumbers(const std::string &path);

/// The parameter of `shape` and letters `dims` out of the checkpoint: its part
/// of the named tensor in the checkpoint's layout, one a layer if stacked.
Tensor fromCheckpoint(const Checkpoint &checkpoint, const model::Param &param, llvm::StringRef dims,
                      const std::vector<int64_t> &shape);

} // namespace hocket::test
