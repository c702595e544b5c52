// Collectives and transfers: fixed order of additions, the same bits in every run.

#include "runtime/comm/local/group.h"
#include "runtime/error.h"

#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace hocket;
using comm::local::Group;
using comm::local::Request;
using format::CollectiveKind;
using format::DType;

namespace {

template <class T>
std::vector<std::vector<T>> values(uint32_t members, size_t n) {
  std::mt19937_64 random(n * 7 + members);
  std::vector<std::vector<T>> result(members, std::vector<T>(n));
  for (auto &v : result)
    for (T &x : v)
      // Magnitudes far apart: the order of additions shows in the bits.
      x = static_cast<T>(
          std::ldexp(static_cast<double>(random() % 2001) - 1000, static_cast<int>(random() % 40) - 20));
  return result;
}

template <class T>
void runAll(Group &group, CollectiveKind kind, std::vector<std::vector<T>> &buffers) {
  std::vector<std::thread> threads;
  for (uint32_t m = 0; m < buffers.size(); ++m)
    threads.emplace_back([&, m] {
      group.run(m, {kind, sizeof(T) == 4 ? DType::F32 : DType::F64,
                    reinterpret_cast<std::byte *>(buffers[m].data()), buffers[m].size() * sizeof(T), 0});
    });
  for (std::thread &t : threads)
    t.join();
}

template <class T>
void check(CollectiveKind kind, uint32_t members, size_t n) {
  SCOPED_TRACE(std::to_string(members) + " members, " + std::to_string(n) + " elements, kind " +
               std::to_string(int(kind)));
  device::Fault fault;
  std::vector<uint32_t> ranks;
  for (uint32_t m = 0; m < members; ++m)
    ranks.push_back(m);
  Group group("g", ranks, fault);
  const auto before = values<T>(members, n);
  std::vector<T> reduced = before[0];
  for (uint32_t m = 1; m < members; ++m)
    for (size_t i = 0; i < n; ++i)
      reduced[i] = kind == CollectiveKind::AllReduceMax ? std::max(reduced[i], before[m][i])
                                                        : reduced[i] + before[m][i];
  size_t slot = n / members;
  for (int run = 0; run < 20; ++run) {
    auto buffers = before;
    runAll(group, kind, buffers);
    ASSERT_FALSE(fault.raised());
    for (uint32_t m = 0; m < members; ++m)
      for (size_t i = 0; i < n; ++i) {
        T expected = reduced[i];
        if (kind == CollectiveKind::AllGather)
          expected = before[i / slot][i];
        else if (kind == CollectiveKind::ReduceScatter && i / slot != m)
          expected = before[m][i];
        ASSERT_EQ(buffers[m][i], expected) << "member " << m << " element " << i << " run " << run;
      }
  }
}

} // namespace

TEST(Group, AllKindsInMemberOrder) {
  for (auto kind : {CollectiveKind::AllReduceSum, CollectiveKind::AllReduceMax, CollectiveKind::AllGather,
                    CollectiveKind::ReduceScatter})
    for (uint32_t members : {1u, 2u, 3u, 4u})
      // Below and above the size where members share the work; not a multiple of anything for all-reduce.
      for (size_t n : {12u, 1200u, 36000u}) {
        bool sliced = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter;
        check<float>(kind, members, sliced ? n : n + 1);
        check<double>(kind, members, sliced ? n : n + 1);
      }
}

TEST(Group, NanIsNotHiddenByMax) {
  device::Fault fault;
  Group group("g", {0, 1}, fault);
  for (int holder = 0; holder < 2; ++holder) {
    std::vector<std::vector<float>> buffers{{1}, {2}};
    buffers[holder][0] = std::nanf("");
    runAll(group, CollectiveKind::AllReduceMax, buffers);
    EXPECT_TRUE(std::isnan(buffers[0][0]) && std::isnan(buffers[1][0]));
  }
}

TEST(Group, MismatchIsAFault) {
  device::Fault fault;
  Group group("tp", {4, 6}, fault);
  float a[4] = {}, b[4] = {};
  std::thread other([&] {
    group.run(1, {CollectiveKind::AllReduceMax, DType::F32, reinterpret_cast<std::byte *>(b), 16, 0});
  });
  group.run(0, {CollectiveKind::AllReduceSum, DType::F32, reinterpret_cast<std::byte *>(a), 16, 0});
  other.join();
  try {
    fault.check();
    FAIL();
  } catch (const Error &e) {
    EXPECT_STREQ(
        e.what(),
        "communicator 'tp': rank 4 is in all_reduce of 16 bytes, rank 6 in all_reduce_max of 16 bytes");
    EXPECT_EQ(e.code(), kExitRunTime);
  }
}

TEST(Group, TypeThatCannotBeAdded) {
  device::Fault fault;
  Group group("tp", {0, 1}, fault);
  int32_t a[4] = {};
  std::thread other([&] {
    group.run(1, {CollectiveKind::AllReduceSum, DType::I32, reinterpret_cast<std::byte *>(a), 16, 0});
  });
  group.run(0, {CollectiveKind::AllReduceSum, DType::I32, reinterpret_cast<std::byte *>(a), 16, 0});
  other.join();
  EXPECT_TRUE(fault.raised());
}

TEST(Group, AFaultElsewhereEndsTheWait) {
  device::Fault fault;
  Group group("tp", {0, 1}, fault);
  float a[4] = {};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(group.missing(0), std::vector<uint32_t>{1});
    fault.raise(kExitRunTime, "elsewhere");
  });
  group.run(0, {CollectiveKind::AllReduceSum, DType::F32, reinterpret_cast<std::byte *>(a), 16, 0});
  other.join();
}
