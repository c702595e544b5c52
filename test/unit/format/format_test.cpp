//===- format_test.cpp - Plan files: round trip and damage ------------------===//

#include "runtime/format/container.h"
#include "runtime/format/read.h"
#include "runtime/format/write.h"
#include "test/unit/common/tiny_plan.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace hocket::format;
using hocket::test::tinyPlan;

namespace {

std::string errorOf(std::span<const uint8_t> file) {
  ReadResult r = read(file);
  return r ? "(accepted)" : r.error.message;
}

void put(std::vector<uint8_t> &file, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    file[at + i] = uint8_t(value >> (8 * i));
}

TEST(Format, RoundTripGivesTheSameBytes) {
  Plan plan = tinyPlan();
  plan.code = {0x7f, 'E', 'L', 'F', 1, 2, 3};
  std::vector<uint8_t> a = write(plan);
  EXPECT_EQ(a, write(plan));
  ReadResult r = read(a);
  ASSERT_TRUE(r) << r.error.message;
  EXPECT_EQ(write(*r.plan), a);
  EXPECT_EQ(r.plan->code, plan.code);
  EXPECT_EQ(r.plan->classes[1].templates[2].name, plan.classes[1].templates[2].name);
  EXPECT_EQ(r.plan->classes[0].operands.size(), plan.classes[0].operands.size());
  EXPECT_EQ(r.plan->params[1].dims[1].axes, std::vector<uint32_t>{1});
  EXPECT_EQ(r.plan->affines[1].constant, 64);
  EXPECT_EQ(r.plan->optimizer.beta2, 0.95);
}

TEST(Format, EmptyPlanRoundTrips) {
  std::vector<uint8_t> a = write(Plan{});
  ReadResult r = read(a);
  ASSERT_TRUE(r) << r.error.message;
  EXPECT_EQ(write(*r.plan), a);
}

TEST(Format, ReadsFromAnyAddress) {
  std::vector<uint8_t> file = write(tinyPlan());
  std::vector<uint8_t> shifted(file.size() + 1);
  std::copy(file.begin(), file.end(), shifted.begin() + 1);
  EXPECT_TRUE(read(std::span(shifted).subspan(1)));
}

TEST(Format, EveryTruncationIsRefused) {
  std::vector<uint8_t> file = write(tinyPlan());
  for (size_t n = 0; n < file.size(); ++n) {
    ReadResult r = read(std::span(file).first(n));
    ASSERT_FALSE(r) << n;
    ASSERT_EQ(r.error.exitCode(), 2) << n;
  }
  EXPECT_EQ(errorOf(std::span(file).first(7)), "not a plan file: it does not begin with \"HOCKETPL\"");
  EXPECT_EQ(errorOf(std::span(file).first(63)), "plan file cut off: 63 bytes, the prefix alone has 64");
}

TEST(Format, EveryFlippedBitIsRefused) {
  std::vector<uint8_t> file = write(tinyPlan());
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= uint8_t(1 << bit % 8);
    ASSERT_FALSE(read(file)) << "bit " << bit;
    file[bit / 8] ^= uint8_t(1 << bit % 8);
  }
}

TEST(Format, AppendedByteIsRefused) {
  std::vector<uint8_t> file = write(tinyPlan());
  file.push_back(0);
  EXPECT_NE(errorOf(file).find("has bytes appended"), std::string::npos);
}

TEST(Format, OtherVersionIsIncompatibleAndNamesBoth) {
  std::vector<uint8_t> file = write(tinyPlan());
  put(file, 8, kFormatMajor + 1, 2);
  ReadResult r = read(file);
  EXPECT_EQ(r.error.exitCode(), 3);
  EXPECT_EQ(r.error.message,
            "plan format 2.0, this build reads 1.x; compile the plan again with this version's "
            "`hocket plan`");
}

TEST(Format, UnknownFeatureIsIncompatible) {
  std::vector<uint8_t> file = write(tinyPlan());
  put(file, 40, 1 << 5, 8);
  ReadResult r = read(file);
  EXPECT_EQ(r.error.exitCode(), 3);
  EXPECT_NE(r.error.message.find("plan format 1.0 requires feature bit 5, which this build (format 1.0)"),
            std::string::npos)
      << r.error.message;
}

TEST(Format, NewerMinorWithoutNewFeaturesIsRead) {
  std::vector<uint8_t> file = write(tinyPlan());
  put(file, 10, kFormatMinor + 1, 2);
  stamp(file);
  EXPECT_TRUE(read(file)) << errorOf(file);
}

/// Damage that a checksum cannot see: the fields behind it are checked too.
TEST(Format, FieldsOfAStampedFileAreChecked) {
  const std::vector<uint8_t> good = write(tinyPlan());
  auto with = [&](size_t at, uint64_t value, size_t bytes) {
    std::vector<uint8_t> file = good;
    put(file, at, value, bytes);
    stamp(file);
    return errorOf(file);
  };
  EXPECT_NE(with(12, 1, 4).find("reserved field of the prefix is 1"), std::string::npos);
  EXPECT_NE(with(24, 128, 8).find("plan index at [128"), std::string::npos);
  EXPECT_NE(with(32, uint64_t(1) << 40, 8).find("is outside the file"), std::string::npos);
  EXPECT_NE(with(32, 4, 8).find("plan index at [64, +4)"), std::string::npos);
  EXPECT_NE(with(64, 0xffffffff, 4).find("plan index is not well-formed"), std::string::npos);
}

template <typename Edit>
std::string errorAfter(Edit edit) {
  Plan plan = tinyPlan();
  edit(plan);
  return errorOf(write(plan));
}

TEST(Format, EnumsMustBeKnown) {
  EXPECT_EQ(errorAfter([](Plan &p) { p.dtype = DType(9); }),
            "plan index: element type is 9, the greatest known is 4");
  EXPECT_NE(errorAfter([](Plan &p) { p.classes[0].instrs[0].op = Op(99); }).find("instruction kind is 99"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) {
              p.classes[0].operands[0].kind = OperandKind(4);
            }).find("operand kind is 4, the greatest known is 3"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) { p.classes[0].operands[0].flags = 0x05; }).find("operand flags 5"),
            std::string::npos);
  EXPECT_NE(
      errorAfter([](Plan &p) { p.classes[0].regions[0].kind = RegionKind(8); }).find("region kind is 8"),
      std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) {
              p.kernels[0].args[0].access = Access(4);
            }).find("kernel argument access is 4"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) { p.inputs[0].kind = InputKind(2); }).find("input kind is 2"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) { p.scalars[0].kind = ScalarKind(4); }).find("scalar kind is 4"),
            std::string::npos);
  EXPECT_NE(
      errorAfter([](Plan &p) { p.optimizer.schedule = ScheduleKind(2); }).find("learning-rate schedule is 2"),
      std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) {
              p.classes[0].instrs[0].reserved = 1;
            }).find("reserved field of an instruction is 1"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) {
              p.classes[0].step[0].reserved = 1;
            }).find("reserved field of a list entry is 1"),
            std::string::npos);
  EXPECT_NE(errorAfter([](Plan &p) { p.params[0].value.flags = 0x20; }).find("operand flags 32"),
            std::string::npos);
}

/// Any change of a stamped file either reads as some plan or is refused.
TEST(Format, RandomChangesOfAStampedFileNeverCrash) {
  const std::vector<uint8_t> good = write(tinyPlan());
  std::mt19937 random(7);
  int accepted = 0;
  for (int n = 0; n < 4000; ++n) {
    std::vector<uint8_t> file = good;
    for (int k = random() % 4 + 1; k > 0; --k) {
      size_t at = 16 + random() % (file.size() - 16);
      static constexpr uint32_t values[] = {0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fffffff, 0xffffffff};
      for (size_t i = 0; i < 4 && at + i < file.size(); ++i)
        file[at + i] = uint8_t((n % 2 ? random() : values[random() % 8]) >> (8 * i));
    }
    stamp(file);
    accepted += bool(read(file));
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 4000);
}

TEST(Format, ReadFileRefusesWhatIsNoRegularFile) {
  EXPECT_NE(readFile("/nonexistent.hkt").error.message.find("/nonexistent.hkt: cannot open: "),
            std::string::npos);
  EXPECT_EQ(readFile("/").error.message, "/: not a regular file");
  EXPECT_EQ(readFile("/dev/zero").error.message, "/dev/zero: not a regular file");

  char dir[] = "/tmp/hocket-format-XXXXXX";
  ASSERT_NE(::mkdtemp(dir), nullptr);
  std::string fifo = std::string(dir) + "/fifo", file = std::string(dir) + "/plan.hkt";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(readFile(fifo).error.message, fifo + ": not a regular file");

  std::vector<uint8_t> bytes = write(tinyPlan());
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  ReadResult r = readFile(file);
  ASSERT_TRUE(r) << r.error.message;
  EXPECT_EQ(write(*r.plan), bytes);

  // 5 GiB of hole: refused by its size before anything is allocated.
  ASSERT_EQ(::truncate(file.c_str(), off_t(5) << 30), 0);
  EXPECT_NE(readFile(file).error.message.find("at most 4 GiB"), std::string::npos);
  ::unlink(file.c_str());
  ::unlink(fifo.c_str());
  ::rmdir(dir);
}

} // namespace
