#include "compiler/input/cluster.h"
#include "compiler/input/job.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

std::string cluster(std::string pool, std::string fabric, std::string host, std::string device) {
  return "format = 1\npool = [{ host = \"h\", hosts = " + pool + " }]\n" + fabric +
         "\n[host.h]\ndevice = \"d\"\n" + host + "\n[device.d]\nkind = \"cpu\"\n" + device;
}
const std::string kHost =
    "devices = 4\nlink = { kind = \"memory\", rate = \"10 GB/s\", latency = \"1 us\" }\n";
const std::string kNic = "nic = { count = 2, rate = \"100 Gbit/s\", latency = \"10 us\" }\n";
const std::string kDevice =
    "isa = \"x86-64-v3\"\nmemory = \"3 GiB\"\nrate = { f32 = \"60 GFLOP/s\" }\nmemory_rate = \"10 GB/s\"\n";

std::string errorOf(const std::string &text) {
  Diagnostics d;
  EXPECT_FALSE(readCluster(d.addSource("c.toml", text), d));
  return d.str(MessageFormat::Short);
}

void expectError(const std::string &text, const std::string &message) {
  std::string out = errorOf(text);
  EXPECT_NE(out.find(message), std::string::npos) << out;
}

} // namespace

TEST(Cluster, FabricFromTheInsideOut) {
  Diagnostics d;
  auto c = readCluster(d.addSource("c", cluster("64",
                                                "fabric = [{ name = \"unit\", joins = 32 }, { name = "
                                                "\"spine\", joins = 2, oversubscription = 2.0 }]",
                                                kHost + kNic, kDevice)),
                       d);
  ASSERT_TRUE(c) << d.str();
  EXPECT_EQ(c->ranks(), 256);
  ASSERT_EQ(c->levels.size(), 3u);
  EXPECT_EQ(c->levels[0].count, 4);
  EXPECT_EQ(c->levels[0].latency, 1e-6);
  EXPECT_EQ(c->levels[1].count, 32);
  EXPECT_EQ(c->levels[1].rate, 25e9);
  EXPECT_EQ(c->levels[2].rate, 12.5e9);
  EXPECT_EQ(c->device.memory, 3221225472);
  EXPECT_EQ(c->device.rateF64, 0);
}

TEST(Cluster, Counts) {
  expectError(cluster("0", "", kHost, kDevice), "'hosts' is 0; it must be from 1 to 1048576");
  expectError(cluster("1099511627776", "", kHost, kDevice), "'hosts' is 1099511627776");
  expectError(cluster("1", "", "devices = 0\n", kDevice), "'devices' is 0");
  expectError(cluster("1048576", "fabric = [{ name = \"f\", joins = 1048576 }]", kHost + kNic, kDevice),
              "4,194,304 ranks; at most 1,048,576 are possible");
  expectError(cluster("2", "", kHost, kDevice), "hosts 1 to 1 cannot be reached from host 0");
  expectError(cluster("4", "fabric = [{ name = \"f\", joins = 2 }]", kHost + kNic, kDevice),
              "the fabric joins 2 of 4 hosts: hosts 2 to 3 cannot be reached");
  expectError(cluster("2", "fabric = [{ name = \"f\", joins = 4 }]", kHost + kNic, kDevice),
              "the fabric joins 4 hosts, but the pool has 2");
  expectError(cluster("2", "fabric = [{ name = \"f\", joins = 2 }]", kHost, kDevice),
              "the rate of fabric 'f' is unknown");
  expectError(cluster("1", "", "devices = 4\n", kDevice), "its 4 devices cannot reach each other");
  expectError(cluster("1", "", kHost + "memory = \"8 GiB\"\n", kDevice), "the host's memory is smaller");
}

TEST(Cluster, HostsOnTheCommandLine) {
  std::string text = cluster("2", "fabric = [{ name = \"f\", joins = 2 }]", kHost + kNic, kDevice);
  Diagnostics d;
  auto c = readCluster(d.addSource("c", text), d, 16);
  ASSERT_TRUE(c) << d.str();
  EXPECT_EQ(c->ranks(), 64);
  EXPECT_EQ(c->levels.back().count, 16);
  Diagnostics inner;
  text = cluster("64", "fabric = [{ name = \"u\", joins = 32 }, { name = \"s\", joins = 2 }]", kHost + kNic,
                 kDevice);
  EXPECT_FALSE(readCluster(inner.addSource("c", text), inner, 48));
  EXPECT_NE(inner.str().find("48 hosts do not fill the inner fabric, which joins 32"), std::string::npos);
}

TEST(Job, AdamwAloneMeansTheTable) {
  Diagnostics d;
  auto j = readJob(d.addSource("dir/j.toml", "format = 1\nmodel = \"m\"\noptimizer = \"adamw\"\n"), d);
  ASSERT_TRUE(j) << d.str();
  EXPECT_EQ(j->model, "dir/m");
  EXPECT_EQ(j->optimizer.lr, 3e-4);
  EXPECT_EQ(j->optimizer.schedule, format::ScheduleKind::Cosine);
  EXPECT_EQ(j->optimizer.warmup, 100u);
  EXPECT_EQ(j->optimizer.steps, 2000u);
  EXPECT_EQ(j->optimizer.minLr, 3e-5);
}

TEST(Job, Constant) {
  Diagnostics d;
  auto j = readJob(d.addSource("j.toml", "format = 1\ndtype = \"f64\"\noptimizer = { name = \"adamw\", lr = "
                                         "1e-3, schedule = \"constant\" }\n"),
                   d);
  ASSERT_TRUE(j) << d.str();
  EXPECT_EQ(j->dtype(), format::DType::F64);
  EXPECT_EQ(j->optimizer.lr, 1e-3);
  EXPECT_EQ(j->optimizer.steps, 0u);
  EXPECT_EQ(j->optimizer.minLr, 0);
}

TEST(Job, Errors) {
  auto error = [](const std::string &body, const std::string &message) {
    Diagnostics d;
    EXPECT_FALSE(readJob(d.addSource("j.toml", "format = 1\n" + body), d)) << body;
    std::string out = d.str();
    EXPECT_NE(out.find(message), std::string::npos) << out;
  };
  error("dtype = { compute = \"f32\", gradients = \"f64\" }", "gradients beside compute = 'f32' are 'f32'");
  error("dtype = { compute = \"mxfp8\", gradients = \"nvfp4\" }", "'mxfp8' are 'f32' or 'bf16'");
  error("dtype = \"bf61\"", "dtype 'bf61' is unknown: write 'f64', 'f32', 'bf16'");
  error("optimizer = \"adam\"", "did you mean 'adamw'?");
  error("optimizer = { name = \"adamw\", lr = nan }", "'lr' must be finite");
  error("optimizer = { name = \"adamw\", betas = [0.9, 1.0] }", "'betas' must be finite and from 0 to");
  error("optimizer = { name = \"adamw\", schedule = \"constant\", warmup = 3 }", "'warmup' has no meaning");
  error("optimizer = { name = \"adamw\", warmup = 2000 }", "must be below 'steps'");
  error("train = { sequence = 0 }", "'sequence' is 0");
  error("train = { seqence = 8 }", "unknown key 'seqence' in 'train'; did you mean 'sequence'?");
  error("train = { tokens = 0 }", "'tokens' must be finite and from 1");
  error("target = { runtime = \"megatron-core@0.19\" }", "does not exist in this version");
  error("goal = { require = [8] }", "a requirement must be a string, not an integer");
}

TEST(Job, WhatIsSearchedFor) {
  Diagnostics d;
  auto j = readJob(d.addSource("j.toml", "format = 1\ntrain = { tokens = 100e9 }\n"
                                         "dtype = { compute = \"fp8-tensorwise\", gradients = \"bf16\" }\n"
                                         "target = { headroom = \"6 %\" }\n"
                                         "goal = { require = [\"tensor <= 8\"] }\n"),
                   d);
  ASSERT_TRUE(j) << d.str();
  EXPECT_EQ(j->tokens, 100e9);
  EXPECT_EQ(j->compute, ComputeType::Fp8Tensorwise);
  EXPECT_FALSE(j->gradientsF32);
  EXPECT_TRUE(j->headroomGiven);
  EXPECT_DOUBLE_EQ(j->headroom, 0.06);
  ASSERT_EQ(j->require.size(), 1u);
  EXPECT_EQ(j->require[0].text, "tensor <= 8");
  EXPECT_EQ(d.spelling(j->require[0].loc), "\"tensor <= 8\"");
  // Priced, and not compiled for.
  EXPECT_FALSE(checkExecutable(*j, d));
  EXPECT_EQ(d.exitCode(), kExitIncompatible);
}
