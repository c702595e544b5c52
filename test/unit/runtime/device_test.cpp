// Streams, events, the ring, the pool; products of the library against loops.

#include "runtime/device/cpu/device.h"
#include "runtime/error.h"

#include <gtest/gtest.h>
#include <random>

using namespace hocket;
using namespace hocket::format;
using device::cpu::CpuDevice;
using device::cpu::Module;

namespace {

void append(void **args, int64_t, int64_t) {
  auto *log = static_cast<std::vector<int64_t> *>(args[0]);
  log->push_back(*static_cast<int64_t *>(args[1]));
}
std::atomic<int> chunks{0}; ///< calls of square
void square(void **args, int64_t begin, int64_t end) {
  ++chunks;
  for (int64_t i = begin; i < end; ++i)
    static_cast<int64_t *>(args[0])[i] += i * i;
}
device::KernelFunction resolve(const std::string &s) {
  return s == "append" ? append : s == "square" ? square : nullptr;
}

struct Rig {
  Plan plan;
  device::Fault fault;
  std::unique_ptr<Module> module;
  std::unique_ptr<CpuDevice> device;

  explicit Rig(uint32_t threads = 1, device::Options options = {}) {
    plan.threadsPerRank = threads;
    plan.kernels.resize(2);
    plan.kernels[0].symbol = "append";
    plan.kernels[1].symbol = "square";
    plan.kernels[1].work = 1001;
    plan.kernels[1].memoryBytes = 1e9; // worth a split
    plan.strings = {""};
    ClassProgram c;
    c.streams = {"a", "b", "c"};
    c.events = 4;
    c.arenaBytes = 1 << 20;
    plan.classes.push_back(c);
    module = std::make_unique<Module>(plan, resolve);
    device = std::make_unique<CpuDevice>(plan, plan.classes[0], 0, *module, nullptr, fault, options);
  }
};

} // namespace

TEST(Device, ArenaIsZeroAndAligned) {
  Rig rig;
  for (int i = 0; i < 1 << 20; ++i)
    ASSERT_EQ(rig.device->arena()[i], std::byte(0));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(rig.device->arena()) % 4096, 0u);
}

// Many more commands than the ring holds, of several sizes: order and values survive the wrap.
TEST(Device, StreamIsAQueue) {
  Rig rig;
  std::vector<int64_t> log;
  log.reserve(20000);
  for (int64_t i = 0; i < 20000; ++i) {
    device::Argument args[3] = {{&log, 0, false}, {nullptr, i, true}, {nullptr, -i, true}};
    rig.device->stream(0).launch(0, {args, size_t(2 + i % 2)}, 0);
    if (i % 3 == 0)
      rig.device->stream(0).fill(rig.device->arena() + i, 1, 0);
  }
  ASSERT_TRUE(rig.device->finish());
  ASSERT_EQ(log.size(), 20000u);
  for (int64_t i = 0; i < 20000; ++i)
    ASSERT_EQ(log[i], i);
  EXPECT_EQ(rig.device->progress() >= 26666, true);
}

// Three streams append to one log under events only; with delays any missing order would show.
TEST(Device, EventsOrderStreams) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    device::Options options;
    options.delays = true;
    options.delaySeed = seed;
    Rig rig(1, options);
    std::vector<int64_t> log;
    log.reserve(300);
    for (int64_t i = 0; i < 300; ++i) {
      device::Stream &stream = rig.device->stream(i % 3);
      stream.wait((i + 3) % 4); // the record of i - 1
      device::Argument args[2] = {{&log, 0, false}, {nullptr, i, true}};
      stream.launch(0, args, 0);
      stream.record(i % 4);
    }
    ASSERT_TRUE(rig.device->finish());
    for (int64_t i = 0; i < 300; ++i)
      ASSERT_EQ(log[i], i);
  }
}

// A wait means the last earlier record in issue order, on whichever stream it was.
TEST(Device, WaitBindsToTheLastEarlierRecord) {
  Rig rig;
  std::atomic<int> gate{0}, passed{0};
  auto hold = [](void *context, void *) {
    while (static_cast<std::atomic<int> *>(context)->load() == 0)
      std::this_thread::yield();
  };
  auto note = [](void *context, void *) { static_cast<std::atomic<int> *>(context)->store(1); };
  rig.device->stream(0).record(0); // done at once
  rig.device->stream(1).host({hold, &gate, nullptr, 0, "hold"}, 0);
  rig.device->stream(1).record(0); // the last record: held back
  rig.device->stream(2).wait(0);
  rig.device->stream(0).record(0); // later: must not matter
  rig.device->stream(2).host({note, &passed, nullptr, 0, "note"}, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(passed.load(), 0);
  EXPECT_EQ(rig.device->waiting(2).what, "wait for event 0");
  EXPECT_EQ(rig.device->waiting(1).what, "hold");
  EXPECT_TRUE(rig.device->waiting(0).idle);
  gate = 1;
  ASSERT_TRUE(rig.device->finish());
  EXPECT_EQ(passed.load(), 1);
}

// A report may be made while streams run: what it says of a stream is one command's, never parts of two.
TEST(Device, WaitingIsOneCommand) {
  Rig rig;
  static const char *const kinds[] = {"zero", "one", "two", "three", "four", "five", "six"};
  std::atomic<bool> stop{false};
  std::atomic<int> seen{0};
  std::thread reader([&] {
    while (!stop.load()) {
      device::Waiting w = rig.device->waiting(0);
      if (w.idle)
        continue;
      ++seen;
      if (w.what == "fill")
        EXPECT_EQ(w.name, 99u);
      else if (w.name < 7)
        EXPECT_EQ(w.what, kinds[w.name]);
      else
        ADD_FAILURE() << w.what << " " << w.name;
    }
  });
  auto nothing = [](void *, void *) {};
  uint64_t payload[5] = {};
  uint32_t issued = 0;
  // Enough of the ring's rounds, and until the reader has met some commands.
  for (; issued < 50000 || (seen.load() < 100 && issued < 5000000); ++issued) {
    uint32_t name = issued % 7;
    rig.device->stream(0).host({nothing, nullptr, payload, 8 * (issued % 6), kinds[name]}, name);
    if (issued % 5 == 0)
      rig.device->stream(0).fill(rig.device->arena(), 1000, 99);
  }
  ASSERT_TRUE(rig.device->finish());
  stop = true;
  reader.join();
  EXPECT_GE(seen.load(), 100);
  EXPECT_TRUE(rig.device->waiting(0).idle);
}

TEST(Device, PoolSplitsTheWork) {
  for (uint32_t threads : {1u, 2u, 3u, 5u}) {
    Rig rig(threads);
    std::vector<int64_t> sums(1001, 0);
    device::Argument arg{sums.data(), 0, false};
    for (int k = 0; k < 50; ++k)
      rig.device->stream(0).launch(1, {&arg, 1}, 0);
    ASSERT_TRUE(rig.device->finish());
    for (int64_t i = 0; i < 1001; ++i)
      ASSERT_EQ(sums[i], 50 * i * i) << threads << " threads";
  }
}

// 2 threads save half: above 54 microseconds of one core, 27 of hand-over are less.
TEST(Device, OnlyLongKernelsAreSplit) {
  using device::cpu::worthSplitting;
  EXPECT_FALSE(worthSplitting(1e30, 1));
  EXPECT_FALSE(worthSplitting(5.3e6, 2));
  EXPECT_TRUE(worthSplitting(5.5e6, 2));
  EXPECT_FALSE(worthSplitting(2.7e6, 64));
  EXPECT_TRUE(worthSplitting(2.8e6, 64));
  for (double bytes : {1e5, 1e9}) {
    Rig rig(2);
    rig.plan.kernels[1].memoryBytes = bytes;
    std::vector<int64_t> sums(1001, 0);
    device::Argument arg{sums.data(), 0, false};
    chunks = 0;
    rig.device->stream(0).launch(1, {&arg, 1}, 0);
    ASSERT_TRUE(rig.device->finish());
    EXPECT_EQ(chunks.load(), bytes < 1e6 ? 1 : 2);
  }
}

TEST(Device, CopyAndFill) {
  Rig rig;
  auto *bytes = reinterpret_cast<char *>(rig.device->arena());
  for (int i = 0; i < 100; ++i)
    bytes[i] = static_cast<char>(i);
  rig.device->stream(0).copy(bytes, bytes + 200, 100, 0);
  rig.device->stream(0).fill(bytes + 250, 10, 0);
  ASSERT_TRUE(rig.device->finish());
  EXPECT_EQ(bytes[200 + 49], 49);
  EXPECT_EQ(bytes[250], 0);
  EXPECT_EQ(bytes[260], 60);
}

TEST(Module, HostIsaIsALevel) {
  std::string isa = device::cpu::hostIsa();
  EXPECT_NO_THROW(device::cpu::checkIsa(isa));
  EXPECT_NO_THROW(device::cpu::checkIsa("x86-64"));
  for (const char *bad : {"x86-64-v5", "sm_90", ""})
    try {
      device::cpu::checkIsa(bad);
      ADD_FAILURE() << bad;
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitIncompatible);
      EXPECT_NE(std::string(e.what()).find(isa), std::string::npos);
    }
}

TEST(Module, RejectsForeignCode) {
  Plan plan;
  plan.kernels.resize(1);
  plan.isa = "x86-64";
  for (size_t bytes : {0u, 10u, 64u, 5000u}) {
    plan.code.assign(bytes, 0x7f);
    try {
      Module module(plan, {});
      ADD_FAILURE();
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitBadInput);
    }
  }
}

TEST(Matmul, EqualsLoops) {
  auto library = device::cpu::MatmulLibrary::load();
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int variant = 0; variant < 8; ++variant)
    for (auto [m, n, k] : {std::array<int64_t, 3>{64, 96, 33}, {1, 256, 64}, {7, 5, 3}, {128, 384, 128}}) {
      Gemm g;
      g.m = m, g.n = n, g.k = k;
      g.transposeA = variant & 1, g.transposeB = variant & 2, g.accumulate = variant & 4;
      g.lda = (g.transposeA ? m : k) + 3, g.ldb = (g.transposeB ? k : n) + 2, g.ldc = n + 5;
      g.scratchBytes = 16 << 20;
      std::vector<float> a((g.transposeA ? k : m) * g.lda), b((g.transposeB ? n : k) * g.ldb),
          c(m * g.ldc, 2.0f), scratch(g.scratchBytes / 4);
      for (auto *v : {&a, &b})
        for (float &x : *v)
          x = uniform(random);
      std::vector<float> expected = c;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = g.accumulate ? 2.0 : 0.0;
          for (int64_t l = 0; l < k; ++l)
            sum += double(g.transposeA ? a[l * g.lda + i] : a[i * g.lda + l]) *
                   (g.transposeB ? b[j * g.ldb + l] : b[l * g.ldb + j]);
          expected[i * g.ldc + j] = static_cast<float>(sum);
        }
      auto product = library->prepare(g, 0, 2);
      ASSERT_TRUE(product->run(a.data(), b.data(), c.data(), scratch.data()));
      for (size_t i = 0; i < c.size(); ++i)
        ASSERT_NEAR(c[i], expected[i], 1e-4)
            << "variant " << variant << " " << m << "x" << n << "x" << k << " at " << i;
    }
}

TEST(Matmul, NoSuchType) {
  Gemm g;
  g.m = g.n = g.k = g.lda = g.ldb = g.ldc = 4;
  g.dtype = DType::F64;
  EXPECT_THROW(device::cpu::MatmulLibrary::load()->prepare(g, 0, 1), Error);
}
