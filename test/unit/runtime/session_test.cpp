// The executor on the tiny plan: equal to a serial computation, under every delay; hangs become reports.

#include "runtime/error.h"
#include "runtime/exec/session.h"
#include "test/unit/runtime/tiny_run.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace hocket;
using namespace hocket::test;

namespace {

exec::Options options() {
  exec::Options o;
  o.resolve = tinyKernel;
  o.seed = 5;
  o.deadlineSeconds = 20;
  return o;
}

void setRows(exec::Session &session, int32_t *tokens, int32_t *labels, int step) {
  for (int i = 0; i < 16; ++i) {
    tokens[i] = (i * 5 + step * 3) % 16;
    labels[i] = (i * 3 + step) % 16;
  }
  for (uint32_t row = 0; row < 4; ++row)
    session.setRow(row, {tokens + row * 4, 4}, {labels + row * 4, 4});
}

/// Parameter h.{l}.w whole: [4, 8], the shards side by side.
std::vector<double> whole(const TinyReference::W (&shards)[2][2][2], int layer) {
  std::vector<double> result(32);
  for (int t = 0; t < 2; ++t)
    for (int h = 0; h < 4; ++h)
      for (int f = 0; f < 4; ++f)
        result[h * 8 + t * 4 + f] = shards[layer / 2][t][layer % 2][h * 4 + f];
  return result;
}

void expectEqualsReference(exec::Session &session, int steps) {
  TinyReference reference(5);
  session.initialize();
  int32_t tokens[16], labels[16];
  for (int k = 0; k < steps; ++k) {
    setRows(session, tokens, labels, k);
    exec::StepResult r = session.step();
    ASSERT_EQ(static_cast<float>(r.loss), reference.step(tokens, labels, 1e-3f, true)) << "step " << k + 1;
    EXPECT_EQ(r.step, uint64_t(k) + 1);
    EXPECT_TRUE(std::isnan(r.gradNorm)); // the tiny plan reports none
  }
  auto w = session.tensors(checkpoint::What::Value);
  auto m = session.tensors(checkpoint::What::Moment1);
  auto g = session.tensors(checkpoint::What::Gradient);
  ASSERT_EQ(w.size(), 4u);
  for (int l = 0; l < 4; ++l) {
    std::string name = "h." + std::to_string(l) + ".w";
    EXPECT_EQ(w.at(name), whole(reference.w, l));
    EXPECT_EQ(m.at(name), whole(reference.m, l));
    EXPECT_EQ(g.at(name), whole(reference.g, l));
  }
}

std::string faultOf(exec::Session &session, int &code) {
  try {
    int32_t tokens[16], labels[16];
    session.initialize();
    for (int k = 0; k < 3; ++k) {
      setRows(session, tokens, labels, k);
      session.step();
    }
  } catch (const Error &e) {
    code = e.code();
    return e.what();
  }
  code = 0;
  return "";
}

uint32_t findInstr(const ClassProgram &c, Op op, const std::string &templateName) {
  for (const Template &t : c.templates)
    if (t.name == templateName)
      for (uint32_t i = t.first; i < t.first + t.count; ++i)
        if (c.instrs[i].op == op)
          return i;
  ADD_FAILURE() << "no such instruction";
  return 0;
}

} // namespace

TEST(Session, EqualsSerial) {
  exec::Session session(tinyRunPlan(), options());
  expectEqualsReference(session, 20);
}

TEST(Session, EqualsSerialUnderDelays) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    exec::Options o = options();
    o.delays = true;
    o.delaySeed = seed;
    exec::Session session(tinyRunPlan(), o);
    expectEqualsReference(session, 3);
  }
}

// The delays must find a missing event: without the wait of compute for the all-reduce the sum is used too
// early.
TEST(Session, DelaysShowAMissingWait) {
  Plan p = tinyRunPlan();
  for (Instr &i : p.classes[0].instrs)
    if (i.op == Op::Wait && i.stream == tiny::Compute && i.index == tiny::FromTp)
      i.op = Op::Mark, i.index = 0;
  bool different = false;
  for (uint64_t seed = 1; seed <= 10 && !different; ++seed) {
    exec::Options o = options();
    o.delays = true;
    o.delaySeed = seed;
    exec::Session session(p, o);
    TinyReference reference(5);
    session.initialize();
    int32_t tokens[16], labels[16];
    setRows(session, tokens, labels, 0);
    different = static_cast<float>(session.step().loss) != reference.step(tokens, labels, 1e-3f, true);
  }
  EXPECT_TRUE(different);
}

TEST(Session, EvaluationCoversTheTail) {
  Plan p = tinyRunPlan();
  std::string path = testing::TempDir() + "/hocket_eval_text";
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += static_cast<char>(i * i % 16);
  std::ofstream(path) << text;
  data::Tokens tokens(path, data::TokenType::U8, {4, 4, 16});
  exec::Session session(p, options());
  session.initialize();
  TinyReference reference(5);
  // Tail: tokens 360..399, 39 predictions in 10 windows of 4: 3 batches of 4, the last has 2 windows.
  double sum = 0;
  for (int batch = 0; batch < 3; ++batch) {
    int32_t in[16], out[16];
    for (int i = 0; i < 16; ++i) {
      int at = 360 + batch * 16 + i;
      in[i] = at + 1 < 400 ? text[at] : 0;
      out[i] = at + 1 < 400 ? text[at + 1] : -1;
    }
    sum += static_cast<double>(reference.step(in, out, 0, false)) * 16;
  }
  EXPECT_DOUBLE_EQ(session.evaluate(tokens), sum / 39);
  EXPECT_TRUE(std::isnan(session.evaluate(tokens, [] { return false; })));
  std::filesystem::remove(path);
}

TEST(Session, DeadlineNamesWhoWaits) {
  // Stage 1 never takes x.1: both sides' pipelines stand.
  Plan p = tinyRunPlan();
  ClassProgram &c = p.classes[1];
  c.step.erase(c.step.begin() + 4); // X.1
  c.step.erase(c.step.begin() + 4, c.step.begin() + 7);
  exec::Options o = options();
  o.deadlineSeconds = 0.3;
  exec::Session session(p, o);
  int code;
  std::string what = faultOf(session, code);
  EXPECT_EQ(code, kExitRunTime) << what;
  EXPECT_NE(what.find("step 1: no operation finished"), std::string::npos) << what;
  EXPECT_NE(what.find("rank 0, stream pp: group 'send x', for "), std::string::npos) << what;
  EXPECT_NE(what.find("rank 2, stream pp: all_reduce 'norm', for ranks 0, 1"), std::string::npos) << what;
  // The session stays ended.
  EXPECT_THROW(session.step(), Error);
}

TEST(Session, UnequalCollectivesAreNamed) {
  Plan p = tinyRunPlan();
  ClassProgram &c = p.classes[0];
  c.instrs[findInstr(c, Op::Collective, "U")].bytes = 8; // norm has room in its 64 bytes
  exec::Session session(p, options());
  int code;
  std::string what = faultOf(session, code);
  EXPECT_EQ(code, kExitRunTime);
  EXPECT_EQ(what,
            "communicator 'world': rank 0 is in all_reduce of 8 bytes, rank 2 in all_reduce of 4 bytes");
}

TEST(Session, UnequalTransfersAreNamed) {
  Plan p = tinyRunPlan();
  ClassProgram &c = p.classes[0];
  c.instrs[findInstr(c, Op::Send, "S")].bytes = 64;
  exec::Session session(p, options());
  int code;
  std::string what = faultOf(session, code);
  EXPECT_EQ(code, kExitRunTime);
  EXPECT_NE(what.find("receives 128 bytes ('receive x'), rank"), std::string::npos) << what;
  EXPECT_NE(what.find("sends 64 ('send x')"), std::string::npos) << what;
}

TEST(Session, WaitWithoutRecord) {
  Plan p = tinyRunPlan();
  p.classes[0].firstUse.clear();
  exec::Session session(p, options());
  int code;
  std::string what = faultOf(session, code);
  EXPECT_EQ(code, kExitNo);
  EXPECT_NE(what.find("has no earlier record and is no declared first use"), std::string::npos) << what;
}

TEST(Session, RefusesWhatItCannotRun) {
  auto codeOf = [](const Plan &p, exec::Options o) {
    try {
      exec::Session session(p, o);
    } catch (const Error &e) {
      return e.code();
    }
    return 0;
  };
  Plan p = tinyRunPlan();
  p.kernels[0].symbol = "no_such_kernel";
  EXPECT_EQ(codeOf(p, options()), kExitNo);
  p = tinyRunPlan();
  p.classes[0].arenaBytes = uint64_t(1) << 50;
  EXPECT_EQ(codeOf(p, options()), kExitNo);
  p = tinyRunPlan();
  p.axes[1].size = 4096, p.axes[0].stride = 4096, p.classes[0].last[1] = p.classes[1].last[1] = 4095;
  EXPECT_EQ(codeOf(p, options()), kExitIncompatible);
  p = tinyRunPlan();
  p.code.clear();
  EXPECT_EQ(codeOf(p, {}), kExitBadInput); // no ELF
  p.isa = "x86-64-v9";
  EXPECT_EQ(codeOf(p, {}), kExitIncompatible);
}

TEST(Session, SaveAndLoadAgain) {
  std::string directory = testing::TempDir() + "/hocket_session_save";
  std::map<std::string, std::vector<double>> before;
  {
    exec::Session session(tinyRunPlan(), options());
    session.initialize();
    int32_t tokens[16], labels[16];
    setRows(session, tokens, labels, 0);
    session.step();
    before = session.tensors(checkpoint::What::Value);
    session.save(directory);
  }
  exec::Options o = options();
  o.seed = 99;
  exec::Session session(tinyRunPlan(), o);
  session.initialize();
  EXPECT_NE(session.tensors(checkpoint::What::Value), before);
  checkpoint::LoadReport report = session.load(directory);
  EXPECT_EQ(report.loaded, 4u);
  EXPECT_EQ(session.tensors(checkpoint::What::Value), before);
  EXPECT_TRUE(std::filesystem::exists(directory + "/config.json"));
  std::filesystem::remove_all(directory);
}

/// Steps of the tiny plan, traced into `path`; what the last threw, if it did.
static std::string traced(Plan plan, exec::Options o, const std::string &path, int steps) {
  o.trace = true;
  exec::Session session(std::move(plan), o);
  trace::TraceFile file(path, session.plan().strings);
  session.nameTracks(file);
  session.initialize();
  int32_t tokens[16], labels[16];
  for (int k = 0; k < steps; ++k) {
    setRows(session, tokens, labels, k);
    try {
      session.step();
    } catch (const Error &e) {
      EXPECT_TRUE(session.failed());
      session.writeTrace(file);
      file.publish(); // the program ends here
      return e.what();
    }
    session.writeTrace(file);
  }
  file.commit();
  return "";
}

static nlohmann::json eventsOf(const std::string &path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in)["traceEvents"];
}

TEST(Session, Trace) {
  std::string path = testing::TempDir() + "/hocket_trace.json";
  EXPECT_EQ(traced(tinyRunPlan(), options(), path, 3), "");
  std::map<std::string, int> phases, operations;
  std::vector<std::pair<double, double>> steps;
  double last = 0;
  for (const auto &e : eventsOf(path)) {
    ++phases[e["ph"].get<std::string>()];
    if (e["ph"] != "M") {
      EXPECT_GE(e["ts"].get<double>(), 0);
      last = std::max(last, e["ts"].get<double>() + e.value("dur", 0.0));
    }
    if (e["pid"] == 4 && e["ph"] == "X") { // the track of steps
      steps.emplace_back(e["ts"], e["ts"].get<double>() + e["dur"].get<double>());
      EXPECT_EQ(e["name"], "step " + std::to_string(steps.size()));
    } else if (e["ph"] == "X") {
      ++operations[e["args"]["op"].get<std::string>()];
      // It stands in the file after its step, and lies within it.
      EXPECT_GE(e["ts"].get<double>(), steps.back().first);
      EXPECT_LE(e["ts"].get<double>() + e["dur"].get<double>(), steps.back().second);
    }
  }
  // Tracks of 4 ranks and their names; of the steps: two names and the order.
  EXPECT_EQ(phases["M"], 4 * int(tinyPlan().classes[0].streams.size()) + 4 + 3);
  EXPECT_EQ(phases["B"], 4 * 2 * 3);
  EXPECT_EQ(phases["E"], phases["B"]);
  // Per rank and step: two forward layers for two micro-batches, and the norm.
  EXPECT_EQ(operations["all_reduce"], 4 * 3 * (2 * 2 + 1));
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].first, 0);
  EXPECT_EQ(last, steps[2].second);
  std::filesystem::remove(path);
}

// A step that hangs is in the trace, with the operations that it hung in.
TEST(Session, TraceOfAFailure) {
  std::string path = testing::TempDir() + "/hocket_trace_failure.json";
  Plan p = tinyRunPlan();
  ClassProgram &c = p.classes[1];
  c.step.erase(c.step.begin() + 4, c.step.begin() + 8); // as in DeadlineNamesWhoWaits
  exec::Options o = options();
  o.deadlineSeconds = 0.3;
  EXPECT_NE(traced(p, o, path, 3).find("no operation finished"), std::string::npos);
  bool step = false, send = false;
  for (const auto &e : eventsOf(path))
    if (e["ph"] == "X") {
      step |= e["name"] == "step 1, which failed" && e["dur"].get<double>() > 0.3e6;
      send |= e["name"] == "send x" && e["dur"].get<double>() > 0.3e6;
    }
  EXPECT_TRUE(step);
  EXPECT_TRUE(send);
  std::filesystem::remove(path);
}
