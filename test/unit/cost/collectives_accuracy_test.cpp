//===- collectives_accuracy_test.cpp - Published collectives, as limits -----===//
#include "compiler/calibrate/collective_fit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

using namespace hocket;
using namespace hocket::calibrate;

namespace {

using Rows = std::vector<const CollectiveRow *>;

const char *const kHeading =
    "source,system,gpu,nodes,gpus,op,algo,size_bytes,time_us,algbw_GBps,busbw_GBps,notes\n";

TEST(PublishedCollectives, WithinTheLimits) {
  std::ifstream file(HOCKET_SOURCE_DIR "/test/data/published/measured_collectives.csv", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  CollectiveRows read = readCollectives(text);
  ASSERT_EQ(read.error, "");
  ASSERT_EQ(read.rows.size(), 664u);

  int counted = 0, mapped = 0;
  std::map<std::string, Rows> tables;
  for (const CollectiveRow &row : read.rows) {
    counted += row.knownGpu && row.measured;
    mapped += row.knownGpu && row.measured && row.unmapped.empty();
    if (row.unmapped.empty())
      tables[row.table].push_back(&row);
  }
  EXPECT_GE(mapped, 0.9 * counted);

  int large = 0;
  for (auto &[name, rows] : tables) {
    if (rows.size() < 8)
      continue;
    ++large;
    Rows fitted, tested;
    splitSizes(rows, fitted, tested);
    cost::FabricConstants constants = fitFabric(fitted);
    CollectiveError error = errorOf(tested, constants);
    EXPECT_LE(error.meanAbove, 0.15) << name;
    EXPECT_LE(error.meanBelow, 0.25) << name;
    for (const CollectiveRow *row : rows) {
      double bound = cost::cutBound(row->op, row->bytes, row->group);
      EXPECT_GE(predict(*row, constants), bound) << row->line;
      EXPECT_GE(row->seconds, bound) << row->line << ": faster than its topology allows";
    }
  }
  EXPECT_EQ(large, 28);
}

TEST(PublishedCollectives, EveryFourthSizeIsFitted) {
  std::vector<CollectiveRow> rows(10);
  Rows table, fitted, tested;
  for (int i = 0; i < 10; ++i) {
    rows[i].bytes = double(100 - i);
    table.push_back(&rows[i]);
  }
  splitSizes(table, fitted, tested);
  ASSERT_EQ(fitted.size(), 3u);
  EXPECT_EQ(tested.size(), 7u);
  EXPECT_EQ(fitted[0]->bytes, 91);
  EXPECT_EQ(fitted[1]->bytes, 95);
}

TEST(PublishedCollectives, FindsItsOwnConstants) {
  std::vector<CollectiveRow> rows;
  cost::FabricConstants truth;
  truth.startup = 15e-6, truth.hop = 25e-6, truth.inner = 0.7, truth.outer = 0.6, truth.ramp = 5e-6,
  truth.low = 0.05;
  for (double bytes = 8; bytes < 2e10; bytes *= 2) {
    CollectiveRow row;
    row.bytes = bytes;
    row.group.levels = 2;
    row.group.level[0] = {8, 300e9, 1, 1, false};
    row.group.level[1] = {2, 25e9, 1, 1, false};
    row.seconds = predict(row, truth);
    rows.push_back(row);
  }
  Rows all;
  for (const CollectiveRow &row : rows)
    all.push_back(&row);
  CollectiveError error = errorOf(all, fitFabric(all));
  EXPECT_LE(error.worstAbove, 0.05);
  EXPECT_LE(error.worstBelow, 0.05);
}

TEST(PublishedCollectives, WhatIsRefusedAndLeftOut) {
  EXPECT_EQ(readCollectives("").error, "empty file");
  EXPECT_EQ(readCollectives("source,system\n").error, "no column 'gpu'");
  EXPECT_EQ(readCollectives(std::string(kHeading) + "a,b\n").error, "line 2: 2 fields, the heading has 12");

  auto reason = [](const char *row) {
    return readCollectives(std::string(kHeading) + row).rows.at(0).unmapped;
  };
  EXPECT_EQ(reason("s,y,H100,1,8,all_reduce,auto,1024,10,,,\n"), "");
  EXPECT_EQ(reason("s,y,unknown,1,8,all_reduce,auto,1024,10,,,\n"), "GPU not stated or not in the library");
  EXPECT_EQ(reason("s,y,H100,1,8,all_reduce,auto,1024,,,,\n"), "neither a time nor a bus rate");
  EXPECT_EQ(reason("s,y,H100,1,8,all_reduce,auto,,10,,,\n"), "no size");
  EXPECT_EQ(reason("s,y,H100,3,8,all_reduce,auto,1024,10,,,\n"), "number of ranks not stated");
  EXPECT_EQ(reason("s,y,H100,1,8,gossip,auto,1024,10,,,\n"), "not a collective: gossip");
  EXPECT_EQ(reason("s,y,H100,1,8,all_reduce,auto,8,900,,,\ns,y,H100,1,8,all_reduce,auto,16,90,,,\n"),
            "over four times the time of a larger message in its sweep: warm-up");
}

TEST(PublishedCollectives, NicsAsTheSystemStatesThem) {
  auto nic = [](const char *system) {
    std::string row = std::string(kHeading) + "s," + system + ",H100,2,16,all_reduce,auto,1024,10,,,\n";
    return readCollectives(row).rows.at(0).group.level[1].rate;
  };
  EXPECT_EQ(nic("box (8x400Gb/s)"), 50e9);
  EXPECT_EQ(nic("box (4x200Gb/s)"), 12.5e9);
  EXPECT_EQ(nic("GCP A3 Mega TCPXO"), 25e9);
  EXPECT_EQ(nic("some cluster"), 50e9);
}

} // namespace
