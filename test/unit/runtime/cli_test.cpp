// hocket-run as a program, on the tiny plan with its kernels as the code section.

#include "runtime/format/write.h"
#include "test/unit/runtime/tiny_run.h"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::test;

namespace {

std::string contents(const std::string &path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}

class RunTest : public testing::Test {
protected:
  std::string directory = testing::TempDir() + "/hocket_run_test." + std::to_string(getpid());
  std::string plan = directory + "/tiny.hkt", text = directory + "/text";

  void SetUp() override {
    std::filesystem::create_directories(directory);
    Plan p = tinyRunPlan();
    std::string code = contents(HOCKET_TINY_KERNELS);
    p.code.assign(code.begin(), code.end());
    writePlan(plan, p);
    std::string bytes;
    for (int i = 0; i < 4000; ++i)
      bytes += static_cast<char>(i * i % 13);
    std::ofstream(text) << bytes;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  static void writePlan(const std::string &path, const Plan &p) {
    std::vector<uint8_t> bytes = format::write(p);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), static_cast<long>(bytes.size()));
  }

  struct Outcome {
    int code = 0; ///< negative: the signal that ended it
    std::string out, err;
  };
  pid_t start(const std::string &arguments) {
    pid_t pid = fork();
    if (pid == 0) {
      std::string command = std::string("exec ") + HOCKET_RUN + " " + arguments + " >" + directory +
                            "/stdout 2>" + directory + "/stderr";
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char *>(nullptr));
      _exit(99);
    }
    return pid;
  }
  Outcome finish(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(directory + "/stdout"),
            contents(directory + "/stderr")};
  }
  Outcome run(const std::string &arguments) { return finish(start(arguments)); }
  /// Names on a trace's track of steps.
  static std::vector<std::string> steps(const std::string &path) {
    std::vector<std::string> names;
    nlohmann::json trace = nlohmann::json::parse(contents(path));
    for (const auto &event : trace["traceEvents"])
      if (event["ph"] == "X" && event["pid"] == 4)
        names.push_back(event["name"]);
    return names;
  }
  /// Names of files left in the directory that should not be there.
  int temporaries() {
    int n = 0;
    for (const auto &e : std::filesystem::recursive_directory_iterator(directory))
      n += e.path().string().find(".tmp.") != std::string::npos;
    return n;
  }
};

} // namespace

TEST_F(RunTest, TrainsAndReports) {
  std::string d = directory;
  Outcome o =
      run(plan + " --data " + text + " --steps 30 --seed 3 --save " + d + "/saved --metrics " + d +
          "/m.jsonl --trace " + d + "/t.json --save-gradients " + d + "/g.safetensors --count-allocations");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("allocation 0 by our code"), std::string::npos) << o.out;
  EXPECT_NE(o.err.find("step 30/30  loss "), std::string::npos) << o.err;
  std::ifstream metrics(d + "/m.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(metrics, line);)
    lines.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(lines.size(), 32u);
  EXPECT_TRUE(lines.front()["eval"].is_number());
  EXPECT_EQ(lines[1]["step"], 1);
  EXPECT_TRUE(lines[1]["loss"].is_number() && lines[1]["tokens_per_s"].is_number());
  EXPECT_LT(lines.back()["eval"].get<double>(), lines.front()["eval"].get<double>());
  // Spans bear the plan's own names: its tasks' marks among them.
  std::set<std::string> spans;
  nlohmann::json traced = nlohmann::json::parse(contents(d + "/t.json"));
  for (const auto &event : traced["traceEvents"])
    if (event["ph"] == "X" || event["ph"] == "B")
      spans.insert(event["name"].get<std::string>());
  EXPECT_TRUE(spans.count("F") && spans.count("x")) << testing::PrintToString(spans);
  EXPECT_TRUE(std::filesystem::exists(d + "/g.safetensors"));
  EXPECT_EQ(temporaries(), 0);

  // The same again gives the same bytes; from the saved weights the loss goes on.
  std::string first = contents(d + "/saved/model.safetensors");
  EXPECT_EQ(
      run(plan + " --data " + text + " --steps 30 --seed 3 -q --delay-seed 8 --save " + d + "/again").code,
      0);
  EXPECT_EQ(contents(d + "/again/model.safetensors"), first);
  o = run(plan + " --data " + text + " --steps 0 --json --init " + d + "/saved");
  ASSERT_EQ(o.code, 0) << o.err;
  nlohmann::json result = nlohmann::json::parse(o.out);
  EXPECT_EQ(result["validation_loss_before"], lines.back()["eval"]);
  EXPECT_LT(result["resident_beside_bytes"].get<int64_t>(), 64 << 20);
}

// Which steps are in a trace, and that standard error says so.
TEST_F(RunTest, TracedSteps) {
  std::string path = directory + "/t.json", args = plan + " --data " + text + " -q --trace " + path;
  auto expect = [&](const std::string &more, int first, int last, const std::string &said) {
    std::filesystem::remove(path);
    Outcome o = run(args + more);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_EQ(o.err, path + " has " + said + "\n") << more;
    std::vector<std::string> expected;
    for (int i = first; i <= last; ++i)
      expected.push_back("step " + std::to_string(i));
    EXPECT_EQ(steps(path), expected) << more;
  };
  std::string hint = "; --trace-steps A..B traces others";
  expect(" --steps 30", 2, 11, "steps 2 to 11 of 30" + hint);
  expect(" --steps 5", 2, 5, "steps 2 to 5 of 5" + hint);
  expect(" --steps 1", 1, 1, "step 1 of 1" + hint);
  expect(" --steps 9 --trace-steps 4..6", 4, 6, "steps 4 to 6 of 9");
  expect(" --steps 9 --trace-steps 7..", 7, 9, "steps 7 to 9 of 9");
  expect(" --steps 9 --trace-steps 3", 3, 3, "step 3 of 9");
  std::filesystem::remove(path);
  for (const char *bad :
       {"0..3", "3..2", "2..10", "10", "x", "..", "1...2", "-1..2", "1..99999999999999999999"}) {
    Outcome o = run(args + " --steps 9 --trace-steps=" + bad);
    EXPECT_EQ(o.code, 2) << bad;
    EXPECT_NE(o.err.find("--trace-steps"), std::string::npos) << o.err;
  }
  EXPECT_EQ(run(args + " --steps 0").code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 9 --trace-steps 3").code, 2); // no --trace
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A run that is killed leaves the trace of the steps that it made.
TEST_F(RunTest, ATraceSurvivesKilling) {
  pid_t pid = start(plan + " --data " + text + " --steps 100000000 --trace " + directory +
                    "/t.json --metrics " + directory + "/m.jsonl");
  for (int i = 0; i < 1000 && contents(directory + "/m.jsonl").find("\"step\":12,") == std::string::npos; ++i)
    usleep(10000);
  kill(pid, SIGKILL);
  EXPECT_EQ(finish(pid).code, -SIGKILL);
  EXPECT_EQ(steps(directory + "/t.json").size(), 10u);
  EXPECT_EQ(temporaries(), 0);
}

// Progress that nobody reads never ends a run.
TEST_F(RunTest, ABrokenStandardErrorEndsNothing) {
  for (const char *redirection : {"2>/dev/full", "2>&-", "2>&1 >/dev/null | true"}) {
    std::filesystem::remove_all(directory + "/saved");
    std::string command = std::string(HOCKET_RUN) + " " + plan + " --data " + text + " --steps 20 --save " +
                          directory + "/saved " + (std::strstr(redirection, "|") ? "" : ">/dev/null ") +
                          redirection;
    int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << ": " << status;
    // Through a pipe the shell does not wait for the run.
    for (int i = 0; i < 500 && !std::filesystem::exists(directory + "/saved/model.safetensors"); ++i)
      usleep(10000);
    EXPECT_TRUE(std::filesystem::exists(directory + "/saved/model.safetensors")) << command;
  }
}

// A reader that has seen enough ends the program quietly; a full disk does not.
TEST_F(RunTest, ABrokenStandardOutput) {
  std::string train = plan + " --data " + text + " -q --steps 3";
  for (const std::string &arguments :
       {train, train + " --json", plan + " --dry-run", std::string("--help")}) {
    auto status = [&](const std::string &redirection) {
      std::string command =
          "{ sleep 0.2; " + std::string(HOCKET_RUN) + " " + arguments + " 2>" + directory + "/err";
      command += redirection == "|" ? "; echo $? >" + directory + "/code; } | true"
                                    : " >/dev/full; echo $? >" + directory + "/code; }";
      EXPECT_EQ(std::system(command.c_str()), 0);
      return std::atoi(contents(directory + "/code").c_str());
    };
    EXPECT_EQ(status("|"), 141) << arguments;
    EXPECT_EQ(contents(directory + "/err"), "") << arguments;
    EXPECT_EQ(status(">/dev/full"), 4) << arguments;
    EXPECT_EQ(contents(directory + "/err"),
              "hocket-run: error: cannot write to standard output: No space left on device\n");
  }
  // What is wrong for another reason keeps its code.
  EXPECT_EQ(WEXITSTATUS(std::system((std::string(HOCKET_RUN) + " none --dry-run >/dev/full 2>&1").c_str())),
            2);
}

TEST_F(RunTest, DryRun) {
  Outcome o = run(plan + " --dry-run --rank 3 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  nlohmann::json r = nlohmann::json::parse(o.out);
  EXPECT_EQ(r["coordinates"]["pipeline"], 1);
  EXPECT_EQ(r["coordinates"]["tensor"], 1);
  // Unrolled here once more, by flattening: a repeat's body stands as often as it runs.
  Plan p = tinyRunPlan();
  const ClassProgram &c = p.classes[1];
  std::vector<Op> flat;
  for (const ListEntry &e : c.step) {
    const Template &t = c.templates[e.templateIndex];
    for (uint32_t i = t.first; i < t.first + t.count; ++i) {
      const Instr &instr = c.instrs[i];
      if (instr.op == Op::Repeat) {
        for (int l = instr.from; l != instr.to; l += instr.step)
          for (int k = 1; k <= instr.arg; ++k)
            flat.push_back(c.instrs[i + k].op);
        i += instr.arg;
      } else if (instr.op != Op::Group) {
        flat.push_back(instr.op);
      }
    }
  }
  EXPECT_EQ(r["step_instructions"], flat.size());
  EXPECT_EQ(r["arena_bytes"], c.arenaBytes);
  EXPECT_EQ(run(plan + " --dry-run --rank 4").code, 2);
}

TEST_F(RunTest, BadUsage) {
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run(plan).code, 2);
  EXPECT_EQ(run(plan + " --data " + text).code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --steps -1").code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --rank 1").code, 2);
  Outcome o = run(plan + " --data " + text + " --stesp=1");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "hocket-run: error: unknown option '--stesp'; did you mean '--steps'?\n"
                   "hint: hocket-run --help lists what there is\n");
  EXPECT_EQ(o.out, "");
  EXPECT_EQ(run(plan + " --dat " + text + " --steps 1").err.substr(0, 66),
            "hocket-run: error: unknown option '--dat'; did you mean '--data'?\n");
  o = run(plan + " --data " + text + " --steps 1 --no-such-option");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err.substr(0, 53), "hocket-run: error: unknown option '--no-such-option'\n");
  o = run(plan + " --data " + text + " --steps 1 --" + std::string(100000, 'x'));
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(run(plan + " --data " + text).err.find("error: --steps"), std::string::npos);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --count-allocations").code, 2); // nothing to count
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("--version").code, 0);
}

TEST_F(RunTest, BadInput) {
  EXPECT_EQ(run(directory + "/missing.hkt --data " + text + " --steps 1").code, 2);
  EXPECT_EQ(run(text + " --data " + text + " --steps 1").code, 2);
  Outcome o = run(plan + " --data " + directory + "/none --steps 1");
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "hocket-run: error: " + directory + "/none: No such file or directory\n");
  EXPECT_EQ(run(plan + " --data " + directory + " --steps 1").code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --init " + directory).code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --data-type u16 --steps 1").code,
            2); // tokens beyond the vocabulary
  o = run(plan + " --data " + text + " --steps 1 --metrics " + directory + "/no/dir/m.jsonl");
  EXPECT_EQ(o.code, 4);
  EXPECT_NE(o.err.find("cannot write"), std::string::npos);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --save " + text).code, 4);
  // A folder is made only for weights: an early error leaves none, and keeps one that was there.
  EXPECT_EQ(
      run(plan + " --data " + text + " --steps 1 --save " + directory + "/new/weights --init " + directory)
          .code,
      2);
  EXPECT_FALSE(std::filesystem::exists(directory + "/new"));
  std::filesystem::create_directory(directory + "/old");
  EXPECT_EQ(
      run(plan + " --data " + text + " --steps 1 --save " + directory + "/old/ --init " + directory).code, 2);
  EXPECT_TRUE(std::filesystem::exists(directory + "/old"));
  // No output replaces an input, no two outputs are one file.
  std::string before = contents(text);
  o = run(plan + " --data " + text + " --steps 1 --metrics " + text);
  EXPECT_EQ(o.code, 2);
  EXPECT_EQ(o.err, "hocket-run: error: --metrics would overwrite " + text + ", which this run reads\n");
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --trace " + plan).code, 2);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --metrics " + directory + "/same --trace " +
                directory + "/same")
                .code,
            2);
  EXPECT_EQ(contents(text), before);
  EXPECT_EQ(run(plan + " --data " + text + " --steps 1 --metrics -").code, 2);
  // A folder where a file should go is found before any work.
  for (const char *option : {"--metrics ", "--trace ", "--save-gradients "}) {
    o = run(plan + " --data " + text + " --steps 1 " + option + directory);
    EXPECT_EQ(o.code, 4) << option;
    EXPECT_NE(o.err.find("Is a directory"), std::string::npos) << o.err;
    EXPECT_EQ(o.err.find("step 1/1"), std::string::npos) << o.err;
  }
  EXPECT_EQ(temporaries(), 0);
}

TEST_F(RunTest, OtherCpuAndUnsoundPlans) {
  Plan p = tinyRunPlan();
  std::string code = contents(HOCKET_TINY_KERNELS);
  p.code.assign(code.begin(), code.end());
  // A level that no CPU has yet, so that the test says the same everywhere.
  p.isa = "x86-64-v9";
  writePlan(plan, p);
  Outcome o = run(plan + " --data " + text + " --steps 1 --save " + directory + "/saved");
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(o.err.find("the plan is for x86-64-v9, this CPU has x86-64"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("plan again with a cluster file that says isa = \"x86-64"), std::string::npos)
      << o.err;
  EXPECT_FALSE(std::filesystem::exists(directory + "/saved"));
  p.isa = "x86-64";
  p.classes[0].instrs[0].stream = 9;
  writePlan(plan, p);
  o = run(plan + " --data " + text + " --steps 1");
  EXPECT_EQ(o.code, 1);
  EXPECT_NE(o.err.find("error:"), std::string::npos);
}

// A learning rate of 1e38 makes a loss infinite: the run ends, the metrics stay, no weights do.
TEST_F(RunTest, NonFiniteLossEndsTheRun) {
  Plan p = tinyRunPlan();
  std::string code = contents(HOCKET_TINY_KERNELS);
  p.code.assign(code.begin(), code.end());
  p.optimizer.lr = 1e38;
  writePlan(plan, p);
  Outcome o = run(plan + " --data " + text + " --steps 50 --save " + directory + "/saved --metrics " +
                  directory + "/m.jsonl --trace-steps 1.. --trace " + directory + "/t.json");
  EXPECT_EQ(o.code, 4) << o.err;
  EXPECT_TRUE(nlohmann::json::accept(contents(directory + "/t.json")));
  EXPECT_NE(o.err.find("no weights were saved"), std::string::npos) << o.err;
  EXPECT_NE(contents(directory + "/m.jsonl").find("\"loss\":null"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory + "/saved/model.safetensors"));
}

// The first signal ends the step, saves and says where; a second one would end at once.
TEST_F(RunTest, SignalSavesAndExits) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    std::filesystem::remove_all(directory + "/saved");
    std::filesystem::remove(directory + "/stderr");
    pid_t pid = start(plan + " --data " + text + " --steps 100000000 --save " + directory +
                      "/saved --metrics " + directory + "/m.jsonl");
    // Steps have begun when the first line of progress stands.
    for (int i = 0; i < 1000 && contents(directory + "/stderr").find("step 1/") == std::string::npos; ++i)
      usleep(10000);
    // Metrics are a log: they stand under their name while the run goes on.
    EXPECT_NE(contents(directory + "/m.jsonl").find("\"step\":1,"), std::string::npos);
    kill(pid, signal);
    Outcome o = finish(pid);
    EXPECT_EQ(o.code, 128 + signal) << o.err;
    EXPECT_NE(o.err.find("stopping after this step"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("stopped by a signal after step "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("; weights saved in "), std::string::npos);
    EXPECT_TRUE(std::filesystem::exists(directory + "/saved/model.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(directory + "/m.jsonl"));
    EXPECT_EQ(temporaries(), 0);
  }
}
