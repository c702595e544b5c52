//===- mutation_plans.h - The plans that are mutated ------------------------===//
#pragma once

#include "compiler/driver/driver.h"
#include "test/unit/e2e/run.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

namespace hocket::test {

/// A folder of this process.
inline std::string scratchFolder() {
  static const std::string folder = [] {
    std::string path = testing::TempDir() + "hocket-mutation-" + std::to_string(getpid());
    std::filesystem::create_directories(path);
    return path;
  }();
  return folder;
}

/// Bytes of all values: every shard of the vocabulary meets tokens and labels.
inline std::string randomText() {
  std::string path = scratchFolder() + "/text.bin";
  std::mt19937 random(5);
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 4096; ++i)
    out.put(char(random() & 0xff));
  return path;
}

/// A golden model cut to two layers, f64, micro-batches of one row.
inline std::optional<format::Plan> twoLayerPlan(const std::string &model, const std::string &strategy,
                                                int64_t globalBatch) {
  std::string folder = scratchFolder() + "/" + model;
  std::filesystem::create_directories(folder);
  std::ifstream in(goldenFolder(model) + "/config.json");
  std::stringstream config;
  config << in.rdbuf();
  std::string text = config.str();
  for (const char *key : {"\"n_layer\": 4", "\"num_hidden_layers\": 4"})
    if (size_t at = text.find(key); at != std::string::npos)
      text[at + std::string_view(key).size() - 1] = '2';
  std::ofstream(folder + "/config.json") << text;

  PlanRequest request;
  request.job = goldenFolder(model) + "/job.toml";
  request.model = folder;
  request.cluster = std::string(HOCKET_SOURCE_DIR) + "/examples/clusters/two-hosts-of-8.toml";
  request.strategy = strategy;
  request.globalBatch = globalBatch;
  request.microBatch = 1;
  request.dtype = "f64";
  request.allowIdle = true;
  Diagnostics diags;
  std::optional<format::Plan> plan = makePlan(request, diags);
  EXPECT_TRUE(plan.has_value()) << strategy << "\n" << diags.str();
  return plan;
}

} // namespace hocket::test
