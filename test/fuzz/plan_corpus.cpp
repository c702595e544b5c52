//===- plan_corpus.cpp - Writes the first corpus of plan_fuzz ---------------===//
//
// plan_corpus DIRECTORY: the tiny plan and parts of it, as plan files.
//
//===----------------------------------------------------------------------===//

#include "runtime/format/write.h"
#include "test/unit/common/tiny_plan.h"

#include <fstream>
#include <iostream>

using namespace hocket;

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: plan_corpus DIRECTORY\n";
    return 2;
  }
  auto put = [&](const std::string &name, const format::Plan &plan) {
    std::vector<uint8_t> bytes = format::write(plan);
    std::ofstream out(std::string(argv[1]) + "/" + name, std::ios::binary);
    out.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
    return bool(out.flush());
  };
  format::Plan tiny = test::tinyPlan(), oneStage = tiny, noData = tiny;
  noData.params.clear(), noData.inputs.clear();
  // One stage alone, on a mesh without pipeline: transfers and their communicator have no peer left.
  oneStage.axes = {{"tensor", 2, 1}};
  oneStage.classes.pop_back();
  oneStage.classes[0].first = {0}, oneStage.classes[0].last = {1};
  bool ok = put("empty.plan", {}) && put("tiny.plan", tiny) && put("no_data.plan", noData) &&
            put("one_stage.plan", oneStage);
  return ok ? 0 : 4;
}
