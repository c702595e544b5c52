//===- options.h - The command line of hocket-run ---------------------------===//
#pragma once

#include "runtime/data/tokens.h"

#include <optional>
#include <string>

namespace hocket::run {

struct Options {
  std::string plan, data, init, save, saveGradients, metrics, trace;
  uint64_t steps = 0, seed = 0;
  uint64_t traceFirst = 0, traceLast = 0; ///< the steps in --trace
  bool traceDefault = true;               ///< they were not chosen
  std::optional<data::TokenType> dataType;
  data::Order order = data::Order::Random;
  double deadline = 0;
  bool dryRun = false, json = false, quiet = false, countAllocations = false;
  uint32_t rank = 0;
  std::optional<uint64_t> delaySeed;
};

/// Fills `options`; returns an exit code when the program should end now (help, usage error).
std::optional<int> parse(int argc, char **argv, Options &options);

/// Says on standard error why there is no result and, with --json, on standard output as a document;
/// returns `code`.
int refuse(const Options &options, int code, const std::vector<std::string> &messages,
           const std::string &help = "");

} // namespace hocket::run
