// Limits of control groups, from files as the kernel shows them, in a directory that stands for the root.

#include "runtime/device/cpu/memory_limit.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace hocket::device::cpu;

namespace {

constexpr uint64_t kMachine = uint64_t(16) << 30;

class MemoryLimitTest : public testing::Test {
protected:
  std::string root = testing::TempDir() + "/hocket_memory_limit." + std::to_string(getpid());
  void SetUp() override { file("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1000 kB\n"); }
  void TearDown() override { std::filesystem::remove_all(root); }
  void file(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void expect(uint64_t bytes, const std::string &source) {
    MemoryLimit limit = memoryLimit(root);
    EXPECT_EQ(limit.bytes, bytes);
    EXPECT_EQ(limit.source, source);
  }
};

const char *const kUnified =
    "25 20 0:22 / /proc rw - proc proc rw\n"
    "31 25 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

} // namespace

TEST_F(MemoryLimitTest, WithoutGroups) { expect(kMachine, "/proc/meminfo"); }

TEST_F(MemoryLimitTest, Unified) {
  file("/proc/self/mountinfo", kUnified);
  file("/proc/self/cgroup", "0::/user.slice/job.scope\n");
  file("/sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n");
  expect(kMachine, "/proc/meminfo");
  file("/sys/fs/cgroup/user.slice/job.scope/memory.max", "5000000000\n");
  expect(5000000000, "/sys/fs/cgroup/user.slice/job.scope/memory.max");
  // A parent's limit holds for its children.
  file("/sys/fs/cgroup/user.slice/memory.max", "4000000000\n");
  expect(4000000000, "/sys/fs/cgroup/user.slice/memory.max");
  // A limit above the machine's memory is none.
  file("/sys/fs/cgroup/user.slice/memory.max", "90000000000\n");
  file("/sys/fs/cgroup/user.slice/job.scope/memory.max", "90000000000\n");
  expect(kMachine, "/proc/meminfo");
}

// A container's own namespace shows its group as the root, which has a limit there.
TEST_F(MemoryLimitTest, Namespace) {
  file("/proc/self/mountinfo", kUnified);
  file("/sys/fs/cgroup/memory.max", "3000000000\n");
  for (const char *group : {"0::/\n", "0::/../other\n", "0::/gone/away\n"}) {
    file("/proc/self/cgroup", group);
    expect(3000000000, "/sys/fs/cgroup/memory.max");
  }
}

TEST_F(MemoryLimitTest, VersionOne) {
  file("/proc/self/mountinfo", "36 35 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                               "37 35 0:32 / /sys/fs/cgroup/memory rw master:3 - cgroup cgroup rw,memory\n"
                               "38 35 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  file("/proc/self/cgroup", "3:cpu,cpuacct:/small\n2:memory:/a/b\n0::/a\n");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // unlimited
  file("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "2000000000\n");
  file("/sys/fs/cgroup/cpu/small/memory.limit_in_bytes", "1\n");    // another hierarchy
  file("/sys/fs/cgroup/memory/small/memory.limit_in_bytes", "1\n"); // another group
  expect(2000000000, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes");
  file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000000000\n");
  expect(1000000000, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
}

// A container on version 1 sees its own group mounted as the top, under the path that the host gave it.
TEST_F(MemoryLimitTest, VersionOneBelowTheTop) {
  file("/proc/self/mountinfo", "37 35 0:32 /docker/77 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n");
  file("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "1500000000\n");
  file("/proc/self/cgroup", "2:memory:/docker/77\n");
  expect(2000000000, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
  file("/proc/self/cgroup", "2:memory:/docker/77/inner\n");
  expect(1500000000, "/sys/fs/cgroup/memory/inner/memory.limit_in_bytes");
  file("/proc/self/cgroup", "2:memory:/docker/778\n"); // shares letters, not the path
  expect(2000000000, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

TEST_F(MemoryLimitTest, NoiseIsNoLimit) {
  file("/proc/self/mountinfo", std::string("\nnonsense\n1 2\n") + kUnified);
  file("/proc/self/cgroup", "\nx\n::\n0:\n0::/a\n");
  for (const char *text : {"", "-5", "lots", "\n", "99999999999999999999999"}) {
    file("/sys/fs/cgroup/a/memory.max", text);
    expect(kMachine, "/proc/meminfo");
  }
}

TEST(MemoryLimit, OfThisProcess) {
  MemoryLimit limit = memoryLimit();
  EXPECT_GT(limit.bytes, uint64_t(64) << 20);
  EXPECT_LE(limit.bytes,
            static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(limit.source.empty());
}
