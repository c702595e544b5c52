// The safetensors reader on hostile files; shards against whole tensors.

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/error.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace hocket;
using namespace hocket::checkpoint;
using namespace hocket::format;

namespace {

std::string headerError(const std::string &json, uint64_t dataBytes) {
  try {
    parseHeader(json, dataBytes, "f");
  } catch (const Error &e) {
    EXPECT_EQ(e.code(), kExitBadInput);
    return e.what();
  }
  return "none";
}

std::string tensor(const std::string &name, const std::string &dtype, const std::string &shape,
                   const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets +
         "}";
}

} // namespace

TEST(SafetensorsHeader, Valid) {
  Header h = parseHeader("{\"__metadata__\":{\"format\":\"pt\"}," + tensor("b", "F32", "[2,3]", "[0,24]") +
                             "," + tensor("a", "F64", "[]", "[24,32]") + "," +
                             tensor("none", "F32", "[0,5]", "[24,24]") + "}   ",
                         32, "f");
  ASSERT_EQ(h.size(), 3u);
  EXPECT_EQ(h["b"].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(h["a"].elements(), 1u);
}

TEST(SafetensorsHeader, EachRule) {
  const std::string ok = tensor("a", "F32", "[4]", "[0,16]");
  EXPECT_EQ(headerError("{" + ok + "}", 16), "none");
  const std::tuple<std::string, uint64_t, std::string> kCases[] = {
      {"", 0, "f: the header does not begin with '{'"},
      {" {" + ok + "}", 16, "f: the header does not begin with '{'"},
      {"{" + ok, 16, "f: the header is not JSON"},
      {"{" + ok + "} x", 16, "f: the header is not JSON"},
      {"{" + std::string(100000, '['), 0, "f: the header nests deeper than 8"},
      {"{\"a\":1}", 0, "f: tensor 'a' is not an object"},
      {"{\"a\":{}}", 0, "f: tensor 'a' lacks 'dtype'"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16],\"x\":1}}", 16,
       "f: tensor 'a' has the unknown key 'x'"},
      {"{" + tensor("a", "F33", "[4]", "[0,16]") + "}", 16, "f: tensor 'a' has an unknown dtype 'F33'"},
      {"{\"a\":{\"dtype\":7,\"shape\":[4],\"data_offsets\":[0,16]}}", 16,
       "f: tensor 'a' has an unknown dtype"},
      {"{" + tensor("a", "F32", "4", "[0,16]") + "}", 16,
       "f: tensor 'a': the shape is not an array of at most 16 numbers"},
      {"{" + tensor("a", "F32", "[-4]", "[0,16]") + "}", 16,
       "f: tensor 'a': an extent is not a whole number >= 0"},
      {"{" + tensor("a", "F32", "[4.5]", "[0,16]") + "}", 16,
       "f: tensor 'a': an extent is not a whole number >= 0"},
      {"{" + tensor("a", "F32", "[4294967296,4294967296]", "[0,16]") + "}", 16,
       "f: tensor 'a': shape times dtype overflows 64 bits"},
      {"{" + tensor("a", "F32", "[4]", "[0]") + "}", 16, "f: tensor 'a': data_offsets are not two numbers"},
      {"{" + tensor("a", "F32", "[4]", "[-1,15]") + "}", 16,
       "f: tensor 'a': an offset is not a whole number >= 0"},
      {"{" + tensor("a", "F32", "[4]", "[16,0]") + "}", 16,
       "f: tensor 'a': data_offsets [16, 0] are outside the 16 bytes of data (truncated file?)"},
      {"{" + ok + "}", 15,
       "f: tensor 'a': data_offsets [0, 16] are outside the 15 bytes of data (truncated file?)"},
      {"{" + tensor("a", "F32", "[5]", "[0,16]") + "}", 16,
       "f: tensor 'a': shape and dtype make 20 bytes, data_offsets span 16"},
      {"{" + ok + "," + ok + "}", 16, "f: the header names 'a' twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", 16,
       "f: the header names 'dtype' twice"},
      {"{" + ok + "," + tensor("b", "F32", "[4]", "[8,24]") + "}", 24,
       "f: tensor 'b' begins at 8, expected 16 (overlap)"},
      {"{" + ok + "," + tensor("b", "F32", "[4]", "[0,16]") + "}", 16,
       "f: tensor 'b' begins at 0, expected 16 (overlap)"},
      {"{" + ok + "," + tensor("b", "F32", "[4]", "[20,36]") + "}", 36,
       "f: tensor 'b' begins at 20, expected 16 (hole)"},
      {"{" + ok + "}", 20, "f: the tensors end at byte 16 of 20 of data"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "f: __metadata__ is not an object of strings"},
      {"{\"__metadata__\":3}", 0, "f: __metadata__ is not an object of strings"},
  };
  for (const auto &[json, bytes, message] : kCases)
    EXPECT_EQ(headerError(json, bytes), message) << json.substr(0, 200);
}

class SafetensorsFile : public testing::Test {
protected:
  std::string path = testing::TempDir() + "/hocket_test.safetensors";
  void TearDown() override { std::filesystem::remove(path); }
  void write(uint64_t length, const std::string &rest) {
    std::ofstream f(path, std::ios::binary);
    f.write(reinterpret_cast<const char *>(&length), 8);
    f << rest;
  }
  std::string error() {
    try {
      SafetensorsReader reader(path);
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitBadInput);
      return std::string(e.what()).substr(path.size());
    }
    return "none";
  }
};

TEST_F(SafetensorsFile, Lengths) {
  EXPECT_EQ(error(), ": No such file or directory");
  std::ofstream(path) << "1234567";
  EXPECT_EQ(error(), ": is shorter than a safetensors header (8 bytes)");
  write(3, "{}");
  EXPECT_EQ(error(), ": says that its header has 3 bytes, but the file has 10 in all (truncated?)");
  write(uint64_t(1) << 62, "{}");
  EXPECT_EQ(error(), ": says that its header has 4611686018427387904 bytes; the limit is 100000000");
  write(2, "{}");
  EXPECT_EQ(error(), "none");
}

TEST_F(SafetensorsFile, Types) {
  std::string header = "{" + tensor("h", "F16", "[6]", "[0,12]") + "," +
                       tensor("b", "BF16", "[2]", "[12,16]") + "," + tensor("i", "I32", "[1]", "[16,20]") +
                       "}";
  const uint16_t half[] = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x7bff, 0x8000, 0x3f80, 0xc049};
  std::string data(reinterpret_cast<const char *>(half), sizeof half);
  write(header.size(), header + data + std::string("\1\0\0\0", 4));
  SafetensorsReader reader(path);
  std::vector<double> v(6);
  reader.read("h", 0, v);
  EXPECT_EQ(v, (std::vector<double>{1, -2, 0x1p-24, INFINITY, 65504, -0.0}));
  v.resize(2);
  reader.read("b", 0, v);
  EXPECT_EQ(v, (std::vector<double>{1, -3.140625}));
  EXPECT_THROW(reader.read("i", 0, std::span(v).first(1)), Error);
}

TEST_F(SafetensorsFile, RoundTripSortedAndDeterministic) {
  auto fill = [](const OutputTensor &t, std::vector<uint8_t> &bytes) {
    for (size_t i = 0; i < bytes.size() / 8; ++i) {
      double v = static_cast<double>(i) + (t.name == "a" ? 0.25 : 0.5);
      std::memcpy(bytes.data() + 8 * i, &v, 8);
    }
  };
  writeSafetensors(path, {{"b\"quote", "F64", {3}}, {"a", "F64", {2, 2}}}, fill);
  auto contents = [&] {
    std::ifstream f(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(f), {});
  };
  std::string first = contents();
  SafetensorsReader reader(path);
  EXPECT_EQ(reader.find("a")->begin, 0u);
  EXPECT_EQ(reader.find("b\"quote")->begin, 32u);
  std::vector<double> v(2);
  reader.read("a", 2, v);
  EXPECT_EQ(v, (std::vector<double>{2.25, 3.25}));
  writeSafetensors(path, {{"a", "F64", {2, 2}}, {"b\"quote", "F64", {3}}}, fill);
  EXPECT_EQ(contents(), first);
}

//===----------------------------------------------------------------------===//

namespace {

/// One class over data = 2, tensor = 2: the three parts of "h(gd)" (as GPT-2 packs q, k, v), with g
/// sharded over tensor and padded from 3 to 4.
struct ShardRig final : Arenas {
  Plan plan;
  std::vector<std::vector<std::byte>> memory;
  void read(uint32_t rank, uint64_t offset, std::span<std::byte> to) const override {
    std::memcpy(to.data(), memory[rank].data() + offset, to.size());
  }
  void write(uint32_t rank, uint64_t offset, std::span<const std::byte> from) override {
    std::memcpy(memory[rank].data() + offset, from.data(), from.size());
  }

  ShardRig() {
    plan.axes = {{"data", 2, 2}, {"tensor", 2, 1}};
    ClassProgram c;
    c.first = {0, 0};
    c.last = {1, 1};
    Region r;
    r.offset = 64, r.bytes = 4096, r.layers = 2, r.layerStride = 1024;
    c.regions = {r};
    c.arenaBytes = 8192;
    plan.classes = {c};
    // Global h=2 g=3 (padded to 4, sharded over tensor) d=2; the checkpoint is [2, 3 * 3 * 2].
    Param p;
    p.name = "h.{l}.attn", p.id = "layer.wk";
    p.stacked = true, p.layerBegin = 4, p.layerEnd = 6;
    p.dims = {{'g', 2, 3, {1}}, {'h', 2, 2, {}}, {'d', 2, 2, {}}};
    p.layout = "h(gd)", p.partDim = 1, p.partIndex = 1, p.partCount = 3;
    p.value.flags = kLayered;
    p.value.offset = 128;
    for (uint32_t part = 0; part < 3; ++part) {
      p.partIndex = part;
      p.value.offset = 128 + 64 * part;
      plan.params.push_back(p);
    }
    memory.assign(4, std::vector<std::byte>(8192));
  }
  float *shard(uint32_t rank, uint32_t part, uint32_t layer) {
    return reinterpret_cast<float *>(memory[rank].data() + 64 + 128 + 64 * part + 1024 * (layer - 4));
  }
};

} // namespace

TEST(Shards, AffineImageWithPartsAndPadding) {
  ShardRig rig;
  std::vector<Tensor> tensors = tensorsOf(rig.plan);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "h.4.attn");
  EXPECT_EQ(tensors[1].name, "h.5.attn");
  EXPECT_EQ(tensors[0].shape, (std::vector<uint64_t>{2, 18}));
  std::vector<double> values(36);
  for (int i = 0; i < 36; ++i)
    values[i] = i + 1;
  for (auto &m : rig.memory)
    std::fill(m.begin(), m.end(), std::byte(0xff));
  scatter(rig.plan, tensors[1], What::Value, rig, values);
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t part = 0; part < 3; ++part)
      for (uint32_t g = 0; g < 2; ++g)
        for (uint32_t h = 0; h < 2; ++h)
          for (uint32_t d = 0; d < 2; ++d) {
            uint32_t global = rank % 2 * 2 + g;
            float expected = global >= 3 ? 0 : static_cast<float>(1 + h * 18 + part * 6 + global * 2 + d);
            EXPECT_EQ(rig.shard(rank, part, 5)[(g * 2 + h) * 2 + d], expected);
          }
  EXPECT_EQ(rig.memory[0][64 + 128], std::byte(0xff)); // the other layer is untouched
  // Other replicas must not matter: data = 1 is overwritten.
  rig.shard(2, 0, 5)[0] = rig.shard(3, 2, 5)[1] = -7;
  std::vector<uint8_t> bytes(36 * 4);
  gather(rig.plan, tensors[1], What::Value, rig, bytes);
  for (int i = 0; i < 36; ++i) {
    float v;
    std::memcpy(&v, bytes.data() + 4 * i, 4);
    EXPECT_EQ(v, static_cast<float>(i + 1));
  }
}

TEST(Shards, TiedCopyIsLoadedButNotSaved) {
  ShardRig rig;
  Param p;
  p.name = "wte.weight", p.id = "emb";
  p.dims = {{'v', 4, 4, {}}};
  p.layout = "v";
  rig.plan.params = {p, p};
  rig.plan.params[1].owner = false;
  rig.plan.params[1].value.offset = 256;
  std::vector<Tensor> tensors = tensorsOf(rig.plan);
  ASSERT_EQ(tensors.size(), 1u);
  std::vector<double> values{1, 2, 3, 4};
  scatter(rig.plan, tensors[0], What::Value, rig, values);
  auto *copy = reinterpret_cast<float *>(rig.memory[0].data() + 64 + 256);
  EXPECT_EQ(copy[3], 4);
  copy[3] = 9;
  std::vector<uint8_t> bytes(16);
  gather(rig.plan, tensors[0], What::Value, rig, bytes);
  float last;
  std::memcpy(&last, bytes.data() + 12, 4);
  EXPECT_EQ(last, 4);
}

TEST(Shards, Contradictions) {
  auto error = [](auto change) {
    ShardRig rig;
    change(rig.plan);
    try {
      tensorsOf(rig.plan);
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitNo);
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(error([](Plan &) {}), "none");
  EXPECT_NE(error([](Plan &p) { p.params[0].layout = "h(g"; }).find("unclosed group"), std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].layout = "h(g!)"; }).find("unexpected '!'"), std::string::npos);
  EXPECT_NE(
      error([](Plan &p) { p.params[0].layout = "hgg"; }).find("letter g is no dimension, or occurs twice"),
      std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].layout = "hg"; }).find("not every dimension"), std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].partIndex = 3; }).find("part 3 of 3"), std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].partDim = 2; }).find("part 0 of 3"), std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].dims[1].letter = 'g'; }).find("letter g occurs twice"),
            std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].dtype = DType::F64; }).find("different shape or type"),
            std::string::npos);
  EXPECT_NE(error([](Plan &p) { p.params[0].dims[1].global = uint64_t(1) << 59; }).find("too large"),
            std::string::npos);
}

TEST(Checkpoint, LoadChecksAllBeforeItWrites) {
  ShardRig rig;
  std::string directory = testing::TempDir() + "/hocket_checkpoint";
  std::filesystem::create_directories(directory);
  auto write = [&](std::vector<OutputTensor> tensors) {
    writeSafetensors(
        directory + "/model.safetensors", tensors,
        [](const OutputTensor &, std::vector<uint8_t> &bytes) { std::fill(bytes.begin(), bytes.end(), 1); });
  };
  auto error = [&] {
    try {
      load(rig.plan, directory, rig);
    } catch (const Error &e) {
      EXPECT_EQ(e.code(), kExitBadInput);
      for (auto &m : rig.memory)
        EXPECT_EQ(m, std::vector<std::byte>(8192));
      return std::string(e.what()).substr(directory.size());
    }
    return std::string("none");
  };
  EXPECT_EQ(error(), "/model.safetensors: No such file or directory");
  write({{"h.4.attn", "F32", {2, 18}}});
  EXPECT_EQ(error(), "/model.safetensors: lacks tensor 'h.5.attn', which the plan's model has");
  write({{"h.4.attn", "F32", {2, 18}}, {"h.5.attn", "F32", {18, 2}}});
  EXPECT_EQ(error(), "/model.safetensors: tensor 'h.5.attn' is [18, 2], the plan's model has [2, 18]");
  write({{"h.4.attn", "F32", {2, 18}}, {"h.5.attn", "F32", {2, 18}}, {"extra", "F32", {1}}});
  LoadReport report = load(rig.plan, directory, rig);
  EXPECT_EQ(report.loaded, 2u);
  EXPECT_EQ(report.ignored, std::vector<std::string>{"extra"});
  std::filesystem::remove_all(directory);
}
