// Texts as tokens, windows, output files, the scalars of a step.

#include "runtime/data/file.h"
#include "runtime/data/random.h"
#include "runtime/data/tokens.h"
#include "runtime/error.h"
#include "runtime/exec/schedule.h"

#include <bit>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace hocket;
using data::Order;
using data::Tokens;
using data::TokenType;

namespace {

class DataTest : public testing::Test {
protected:
  std::string directory = testing::TempDir() + "/hocket_data_test";
  void SetUp() override { std::filesystem::create_directories(directory); }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string write(const std::string &name, const std::string &bytes) {
    std::ofstream(directory + "/" + name, std::ios::binary) << bytes;
    return directory + "/" + name;
  }
  /// Batch 2, sequence 4, vocabulary 100.
  std::string errorOf(const std::string &path, TokenType type = TokenType::U8) {
    try {
      Tokens tokens(path, type, {2, 4, 100});
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitBadInput);
      std::string what = e.what();
      EXPECT_EQ(what.substr(0, path.size()), path);
      return what.substr(path.size());
    }
    return "none";
  }
};

} // namespace

TEST_F(DataTest, BadFiles) {
  EXPECT_EQ(errorOf(directory + "/missing"), ": No such file or directory");
  EXPECT_EQ(errorOf(directory), ": is a directory, expected a file");
  EXPECT_EQ(errorOf(write("empty", "")), ": is empty");
  EXPECT_EQ(errorOf(write("short", std::string(8, 'a'))), ": holds 8 tokens; one batch of 2 x 4 needs 9");
  EXPECT_EQ(errorOf(write("enough", std::string(9, 'a'))), "none");
  std::string beyond(40, 'a');
  beyond[17] = 100;
  EXPECT_EQ(errorOf(write("beyond", beyond)), ": token 17 (byte 17) is 100, the vocabulary ends at 99");
  EXPECT_EQ(errorOf(write("odd.u16", std::string(41, 0)), TokenType::U16),
            ": 41 bytes are no whole number of 2-byte tokens");
  std::string wide(80, 0);
  wide[20 * 4 - 3] = 1; // token 19 = 256
  EXPECT_EQ(errorOf(write("wide.u32", wide), TokenType::U32),
            ": token 19 (byte 76) is 256, the vocabulary ends at 99");
  std::string fifo = directory + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(errorOf(fifo), ": is not a regular file");
}

TEST_F(DataTest, TrainingPartMustHoldAWindow) {
  try {
    Tokens tokens(write("t", std::string(10, 'a')), TokenType::U8, {1, 9, 256});
    FAIL();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("first nine tenths are 9 tokens; one training window needs 10"),
              std::string::npos);
  }
}

TEST_F(DataTest, TypeBySuffix) {
  EXPECT_EQ(data::tokenTypeOf("a/b.u16"), TokenType::U16);
  EXPECT_EQ(data::tokenTypeOf("b.u32"), TokenType::U32);
  EXPECT_EQ(data::tokenTypeOf("b.txt"), TokenType::U8);
}

TEST_F(DataTest, Windows) {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += static_cast<char>(i);
  Tokens tokens(write("t", text), TokenType::U8, {2, 4, 100});
  EXPECT_EQ(tokens.size(), 50u);
  EXPECT_EQ(tokens.trainSize(), 45u);
  int32_t row[5];
  // 44 / 4 = 11 windows in file order; step 5 row 1 is window 11 = window 0 again.
  for (uint64_t step = 0; step < 12; ++step)
    for (uint32_t r = 0; r < 2; ++r) {
      tokens.trainRow(Order::Sequential, 0, step, r, row);
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(row[i], int((step * 2 + r) % 11 * 4) + i);
    }
  tokens.trainRow(Order::Sequential, 0, 5, 1, row);
  EXPECT_EQ(row[0], 0);
  for (uint64_t step = 0; step < 200; ++step) {
    tokens.trainRow(Order::Random, 7, step, 1, row);
    EXPECT_EQ(row[0], int(data::counterRandom(7, step, 1) % 41));
    EXPECT_EQ(row[4], row[0] + 4);
    EXPECT_LT(row[4], 45);
  }
  // Tail 45..49: 4 predictions = 1 window, whole.
  EXPECT_EQ(tokens.validationTokens(), 4u);
  EXPECT_EQ(tokens.validationWindows(), 1u);
  int32_t in[4], out[4];
  tokens.validationRow(0, in, out);
  EXPECT_EQ(in[0], 45);
  EXPECT_EQ(out[3], 49);
  tokens.validationRow(1, in, out);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(out[i], -1);
}

TEST_F(DataTest, LastValidationWindowIsPadded) {
  Tokens tokens(write("t", std::string(60, 'a')), TokenType::U8, {2, 4, 100});
  // Tail of 6: 5 predictions in 2 windows; the second predicts 1.
  EXPECT_EQ(tokens.validationTokens(), 5u);
  EXPECT_EQ(tokens.validationWindows(), 2u);
  int32_t in[4], out[4];
  tokens.validationRow(1, in, out);
  EXPECT_EQ(std::vector<int32_t>(out, out + 4), (std::vector<int32_t>{'a', -1, -1, -1}));
  EXPECT_EQ(std::vector<int32_t>(in, in + 4), (std::vector<int32_t>{'a', 0, 0, 0}));
}

TEST(Random, SplitMix64) {
  // First outputs of the published generator from state 0.
  EXPECT_EQ(data::splitmix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(data::splitmix(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST_F(DataTest, OutputAppearsWhenComplete) {
  std::string path = directory + "/out";
  {
    data::OutputFile file(path);
    file.write("half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  {
    data::OutputFile file(path);
    file.write(std::string(200000, 'x'));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(std::filesystem::file_size(path), 200000u);
  {
    data::OutputFile open(path);
    open.write("more");
    data::removeTemporaries();
  }
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()),
      1);
  EXPECT_THROW(data::OutputFile(directory + "/no/such/dir/file"), Error);
}

// What was published stays whole, whatever is written after it and however that ends.
TEST_F(DataTest, PublishedStays) {
  std::string path = directory + "/out", end = " the end";
  auto contents = [&] {
    std::ifstream f(path);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  {
    data::OutputFile file(path);
    file.write("one,");
    EXPECT_FALSE(std::filesystem::exists(path));
    file.publish(end);
    EXPECT_EQ(contents(), "one, the end");
    data::removeTemporaries();
    file.write("two,");
    file.publish(end);
    EXPECT_EQ(contents(), "one,two, the end");
    file.publish("!"); // a shorter end
    EXPECT_EQ(contents(), "one,two,!");
    file.write(std::string(200000, 'x')); // beyond the buffer, and never finished
    EXPECT_GT(std::filesystem::file_size(path), 100000u);
  }
  EXPECT_EQ(contents(), "one,two,!");
  {
    data::OutputFile file(path);
    file.write("new");
    file.publish(end);
    file.write("er");
    file.write(end);
    file.commit();
  }
  EXPECT_EQ(contents(), "newer the end");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()),
      1);
}

TEST_F(DataTest, FullDisk) {
  if (!std::filesystem::exists("/dev/full"))
    GTEST_SKIP();
  // A file that cannot grow stands in for the full disk: the write fails, nothing is left.
  std::string path = directory + "/out";
  rlimit old;
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit small{1000, old.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  try {
    data::OutputFile file(path);
    file.write(std::string(200000, 'x'));
    file.commit();
    ADD_FAILURE();
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), kExitRunTime);
    EXPECT_NE(std::string(e.what()).find("File too large"), std::string::npos);
  }
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

TEST(Schedule, Cosine) {
  format::Optimizer o;
  o.lr = 1e-3, o.minLr = 1e-4, o.warmup = 10, o.steps = 110;
  o.schedule = format::ScheduleKind::Constant;
  EXPECT_EQ(exec::learningRate(o, 1), 1e-3);
  o.schedule = format::ScheduleKind::Cosine;
  EXPECT_DOUBLE_EQ(exec::learningRate(o, 1), 1e-4);
  EXPECT_DOUBLE_EQ(exec::learningRate(o, 10), 1e-3);
  EXPECT_DOUBLE_EQ(exec::learningRate(o, 60), 5.5e-4);
  EXPECT_DOUBLE_EQ(exec::learningRate(o, 110), 1e-4);
  EXPECT_DOUBLE_EQ(exec::learningRate(o, 5000), 1e-4);
  o.warmup = 0, o.steps = 0;
  EXPECT_EQ(exec::learningRate(o, 1), 1e-4);
}

TEST(Schedule, Scalars) {
  format::Optimizer o;
  auto asDouble = [](uint64_t bits) { return std::bit_cast<double>(bits); };
  EXPECT_EQ(asDouble(exec::scalarBits({format::ScalarKind::BiasCorrection1, format::DType::F64}, o, 2, 0)),
            1 - 0.81);
  EXPECT_DOUBLE_EQ(
      asDouble(exec::scalarBits({format::ScalarKind::BiasCorrection2, format::DType::F64}, o, 1, 0)),
      1 - 0.95);
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(
                exec::scalarBits({format::ScalarKind::LearningRate, format::DType::F32}, o, 1, 0))),
            1e-3f);
  EXPECT_EQ(exec::scalarBits({format::ScalarKind::Seed, format::DType::I64}, o, 1, 42), 42u);
}
