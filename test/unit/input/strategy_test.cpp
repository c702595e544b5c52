#include "compiler/input/legal.h"

#include <gtest/gtest.h>

using namespace hocket;

namespace {

Strategy mesh(const char *text) {
  Diagnostics d;
  auto s = readMesh(d.addSource("--strategy", text), d);
  EXPECT_TRUE(s) << d.str();
  return s.value_or(Strategy());
}
std::string meshError(const char *text) {
  Diagnostics d;
  EXPECT_FALSE(readMesh(d.addSource("--strategy", text), d)) << text;
  return d.str();
}
std::string tomlError(const std::string &body) {
  Diagnostics d;
  EXPECT_FALSE(readStrategy(d.addSource("s.toml", "format = 1\n" + body), d)) << body;
  return d.str();
}
Cluster ranks(int64_t n) {
  Cluster c;
  c.devicesPerHost = n;
  c.device.rateF32 = c.device.rateF64 = 1e9;
  return c;
}

} // namespace

TEST(Mesh, SizesInAnyOrder) {
  Strategy s = mesh(" tensor = 4, pipeline=2 ,data=8 ");
  EXPECT_EQ(s.tensor, 4);
  EXPECT_EQ(s.pipeline, 2);
  EXPECT_EQ(s.data, 8);
  EXPECT_TRUE(s.dataGiven);
  EXPECT_EQ(meshText(s), "pipeline=2, data=8, tensor=4");
  EXPECT_EQ(mesh("context=1,tensor=2").tensor, 2);
}

TEST(Mesh, Errors) {
  EXPECT_NE(meshError("data=2,data=4").find("--strategy:1:8: error: axis 'data' is given twice"),
            std::string::npos);
  EXPECT_NE(meshError("tensr=2").find("did you mean 'tensor'?"), std::string::npos);
  EXPECT_NE(meshError("context=2").find("'context' above 1 is not executable"), std::string::npos);
  EXPECT_NE(meshError("expert=2").find("not a mesh axis"), std::string::npos);
  EXPECT_NE(meshError("").find("the mesh is empty"), std::string::npos);
  for (const char *bad : {"data", "data=", "data=0", "data=-1", "data=x", "data=2,",
                          "data=99999999999999999999", "=2", ",", "data=2.0"})
    EXPECT_NE(meshError(bad).find("error"), std::string::npos) << bad;
}

TEST(Strategy, ResolveFillsData) {
  Diagnostics d;
  Strategy s = mesh("tensor=2");
  EXPECT_TRUE(resolveStrategy(s, ranks(8), false, d)) << d.str();
  EXPECT_EQ(s.data, 4);
  s = mesh("tensor=3");
  EXPECT_FALSE(resolveStrategy(s, ranks(8), false, d));
  s = mesh("tensor=3");
  Diagnostics idle;
  EXPECT_TRUE(resolveStrategy(s, ranks(8), true, idle));
  EXPECT_EQ(s.data, 2);
}

TEST(Strategy, ProductAgainstCluster) {
  Diagnostics d;
  Strategy s = mesh("data=2,tensor=2");
  EXPECT_FALSE(resolveStrategy(s, ranks(8), false, d));
  EXPECT_NE(d.str().find("uses 4 of the cluster's 8 devices"), std::string::npos);
  Diagnostics idle;
  EXPECT_TRUE(resolveStrategy(s, ranks(8), true, idle));
  Diagnostics larger;
  EXPECT_FALSE(resolveStrategy(s, ranks(2), true, larger));
  EXPECT_NE(larger.str().find("needs 4 devices; the cluster has 2"), std::string::npos);
  s = mesh("pipeline=1048576,data=1048576,tensor=1048576");
  EXPECT_FALSE(resolveStrategy(s, ranks(8), true, larger));
}

TEST(Strategy, TextRoundTrips) {
  for (std::string text :
       {"mesh = \"tensor=2\"\n",
        "mesh = \"pipeline=2, data=2, tensor=2\"\norder = [\"tensor\", \"context\", \"data\", "
        "\"pipeline\"]\nmicro_batch = 3\n"
        "tile = [\"layer.wq layer.wk: g -> tensor\", \"emb head:v->tensor\"]\n"
        "pipeline = { schedule = \"gpipe\", layers = [3, 1] }\n",
        "mesh = \"data=4\"\ntile = []\nrecompute = []\noffload = []\nexpert = { size = 1 }\n"}) {
    Diagnostics d;
    auto s = readStrategy(d.addSource("s", "format = 1\n" + text), d);
    ASSERT_TRUE(s) << d.str();
    std::string printed = toToml(*s);
    auto again = readStrategy(d.addSource("s2", printed), d);
    ASSERT_TRUE(again) << d.str() << printed;
    EXPECT_EQ(toToml(*again), printed);
    EXPECT_EQ(again->tiles.size(), s->tiles.size());
    EXPECT_EQ(again->tilesGiven, s->tilesGiven);
    EXPECT_EQ(again->layers, s->layers);
    EXPECT_EQ(again->order, s->order);
    EXPECT_EQ(again->microBatch, s->microBatch);
    EXPECT_EQ(again->schedule, s->schedule);
    EXPECT_EQ(again->dataGiven, s->dataGiven);
  }
}

TEST(Strategy, Errors) {
  const std::string m = "mesh = \"data=2, tensor=2\"\n";
  auto has = [&](const std::string &body, const std::string &message) {
    std::string out = tomlError(body);
    EXPECT_NE(out.find(message), std::string::npos) << out;
  };
  has("mesh = \"data=2, data=2\"\n", "s.toml:2:17: error: axis 'data' is given twice");
  has("mesh = \"dat\\u0061=2, data=2\"\n", "s.toml(mesh):1:9: error: axis 'data' is given twice");
  has(m + "shard = { optimizer = [\"data\"] }", "'shard' is not executable in this version");
  has(m + "recompute = [\"all\"]", "'recompute' is not executable in this version");
  has(m + "offload = [\"optimizer\"]", "'offload' is not executable in this version");
  has(m + "overlap = { gradients = { bucket = \"128 MiB\" } }",
      "'overlap' is not executable in this version");
  has(m + "expert = { size = 2 }", "expert parallelism is not executable");
  has(m + "tensor = { sequence_parallel = true }", "sequence parallelism is not executable");
  has(m + "pipeline = { schedule = \"interleaved-1f1b\" }", "schedule 'interleaved-1f1b' is not executable");
  has(m + "pipeline = { schedule = \"1f1\" }", "did you mean '1f1b'?");
  has(m + "pipeline = { layers = [0, 4] }", "'layers' is 0");
  has(m + "pipeline = { layers = \"odd\" }", "must be \"even\" or a list");
  has(m + "order = [\"data\", \"tensor\"]", "'pipeline' is missing");
  has(m + "order = [\"data\", \"tensor\", \"tensor\", \"pipeline\"]", "'tensor' is given twice");
  has(m + "tile = [\"layer.wq g -> tensor\"]", "expected \"NAMES: LETTER -> AXIS\"");
  has(m + "tile = [\"layer.wq: g -> data\"]", "tiling over 'data' is not executable");
  has(m + "tile = [\"layer.wq: g -> tensr\"]", "did you mean 'tensor'?");
  has(m + "micro_batches = 1",
      "unknown key 'micro_batches' in the strategy file; did you mean 'micro_batch'?");
  has("micro_batch = 1", "'mesh' is missing");
}

TEST(Strategy, EvenStages) {
  Strategy s = mesh("pipeline=16");
  std::vector<int64_t> layers = stageLayers(s, 126);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), 8), 14);
  EXPECT_EQ(std::count(layers.begin(), layers.end(), 7), 2);
}

TEST(Legal, NearestValues) {
  ModelConfig m;
  m.layers = 4;
  m.hidden = 64;
  m.heads = 8;
  m.kvHeads = 4;
  m.maxPositions = 128;
  Job job;
  job.sequence = 128;
  job.globalBatch = 12;
  auto check = [&](const char *text, int64_t micro = 0) {
    Strategy s = mesh(text);
    s.microBatch = micro;
    Diagnostics d;
    checkLegal(m, ranks(64), job, s, d);
    return d.str(MessageFormat::Short);
  };
  EXPECT_EQ(check("data=2,tensor=4,pipeline=4", 3), "");
  EXPECT_NE(check("tensor=3")
                .find("8 heads are not divisible by tensor=3\nnote: nearest legal values for tensor: 2 or 4"),
            std::string::npos);
  EXPECT_NE(check("tensor=8").find("4 key/value heads are not divisible by tensor=8"), std::string::npos);
  EXPECT_NE(check("pipeline=5").find("4 layers are fewer than pipeline=5"), std::string::npos);
  EXPECT_NE(check("data=5").find("not divisible by data=5\nnote: nearest legal values for data: 4 or 6"),
            std::string::npos);
  EXPECT_NE(check("data=2", 4).find("a replica's batch of 6"), std::string::npos);
  job.sequence = 129;
  EXPECT_NE(check("data=2").find("longer than the model's 128 positions"), std::string::npos);
}
