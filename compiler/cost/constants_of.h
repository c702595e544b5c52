//===- constants_of.h - Measured constants from library/constants.toml ------===//
//
// Five kinds of record, each with its source.  Which of them stand for a device
// and a software stack is decided here and said with the answer.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/cost/constants.h"
#include "compiler/cost/step_memory.h"
#include "compiler/input/cluster.h"

#include <map>

namespace hocket {

template <typename T>
struct ConstantsRecord {
  T constants;
  std::string source; ///< what it was fitted on
};

struct ConstantsLibrary {
  std::map<std::string, ConstantsRecord<cost::DeviceConstants>> device;
  std::map<std::string, ConstantsRecord<cost::AttentionConstants>> attention;
  std::map<std::string, ConstantsRecord<cost::StackConstants>> stack;
  std::map<std::string, ConstantsRecord<cost::ClusterConstants>> cluster;
  std::map<std::string, ConstantsRecord<cost::MemoryConstants>> memory;
};

/// Reads constants.toml in the library's folder.
std::optional<ConstantsLibrary> readConstants(const std::string &libraryDir, Diagnostics &diags);

/// The records that a prediction uses; a name is empty where there is no record and the
/// defaults of constants.h stand in.
struct ChosenConstants {
  cost::Constants constants;
  cost::MemoryConstants memory;
  std::string device, attention, stack, cluster, memoryStack;
  /// Steps on devices of this architecture were measured.
  bool calibrated() const { return !device.empty(); }
};

/// For a device by its architecture.  `stack` and `cluster` name records; empty: the newest stack
/// measured on the architecture (of models with experts where `experts`), no cluster of one's own.
/// Nothing, with an error at `loc`, if a name is unknown.
std::optional<ChosenConstants> chooseConstants(const ConstantsLibrary &library, const DeviceKind &device,
                                               bool experts, llvm::StringRef stack, llvm::StringRef cluster,
                                               Loc loc, Diagnostics &diags);

} // namespace hocket
