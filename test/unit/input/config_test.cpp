#include "compiler/cost/shape_of.h"
#include "compiler/input/config.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace hocket;
using llvm::StringRef;

namespace {

const std::string kLlama = "\"model_type\": \"llama\", \"hidden_size\": 64, \"num_attention_heads\": 8";
const std::string kGpt2 =
    "\"model_type\": \"gpt2\", \"n_embd\": 96, \"resid_pdrop\": 0, \"embd_pdrop\": 0, \"attn_pdrop\": 0";

std::string errorOf(const std::string &body, bool dropoutZero = false) {
  Diagnostics d;
  EXPECT_FALSE(readConfig(d.addSource("config.json", "{" + body + "}"), dropoutZero, d)) << body;
  return d.str();
}
ModelConfig read(const std::string &body, bool dropoutZero = false) {
  Diagnostics d;
  auto c = readConfig(d.addSource("config.json", "{" + body + "}"), dropoutZero, d);
  EXPECT_TRUE(c) << d.str();
  EXPECT_EQ(d.diagnostics().size(), 0u) << d.str();
  return c.value_or(ModelConfig());
}

/// Splits a CSV line; fields may be quoted.
std::vector<std::string> fields(StringRef line) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

uint64_t number(std::string s) {
  llvm::erase(s, ',');
  uint64_t n = 0;
  EXPECT_FALSE(StringRef(s).getAsInteger(10, n)) << s;
  return n;
}

} // namespace

TEST(Config, PublishedParameterCounts) {
  auto file = llvm::MemoryBuffer::getFile(HOCKET_SOURCE_DIR "/test/data/models.csv");
  ASSERT_TRUE(file);
  llvm::SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n', -1, false);
  int checked = 0;
  for (StringRef line : llvm::ArrayRef(lines).drop_front()) {
    std::vector<std::string> f = fields(line);
    auto [heads, kv] = StringRef(f[4]).split('/');
    std::string tied = f[9] == "yes" ? "true" : "false", json;
    if (f[1] == "llama")
      json = "\"model_type\": \"llama\", \"num_hidden_layers\": " + f[2] + ", \"hidden_size\": " + f[3] +
             ", \"num_attention_heads\": " + heads.str() + ", \"num_key_value_heads\": " + kv.str() +
             ", \"head_dim\": " + f[5] + ", \"intermediate_size\": " + f[6] + ", \"vocab_size\": " + f[7] +
             ", \"tie_word_embeddings\": " + tied;
    else
      json = "\"model_type\": \"gpt2\", \"n_layer\": " + f[2] + ", \"n_embd\": " + f[3] +
             ", \"n_head\": " + heads.str() + ", \"n_inner\": " + f[6] + ", \"vocab_size\": " + f[7] +
             ", \"n_positions\": 1024, \"tie_word_embeddings\": " + tied;
    // The published figure of Llama-3.2-1B counts its tied head twice; its note says the total.
    uint64_t expected = f[0] == "Llama-3.2-1B" ? 1235814400u : number(f[10]);
    EXPECT_EQ(parameterCount(read(json, true)), expected) << f[0];
    ++checked;
  }
  EXPECT_EQ(checked, 12);
}

TEST(Config, Examples) {
  for (auto [path, count] : {std::pair("gpt2-tiny", 875264u), std::pair("llama-tiny", 0u)}) {
    Diagnostics d;
    auto c = openConfig(std::string(HOCKET_SOURCE_DIR "/examples/") + path, false, d);
    ASSERT_TRUE(c) << d.str();
    EXPECT_EQ(c->name, path);
    if (count)
      EXPECT_EQ(parameterCount(*c), count);
  }
  Diagnostics d;
  auto big = openConfig(HOCKET_SOURCE_DIR "/examples/llama-3.1-405b/config.json", false, d);
  ASSERT_TRUE(big) << d.str();
  EXPECT_EQ(big->name, "llama-3.1-405b");
  EXPECT_EQ(parameterCount(*big), 405853388800u);
  ASSERT_TRUE(big->ropeScaling);
  EXPECT_EQ(big->ropeScaling->originalMaxPositions, 8192);
}

TEST(Config, ClassDefaults) {
  ModelConfig l = read("\"model_type\": \"llama\", \"hidden_size\": 4096");
  EXPECT_EQ(l.layers, 32);
  EXPECT_EQ(l.kvHeads, 32);
  EXPECT_EQ(l.headDim, 128);
  EXPECT_EQ(l.ffn, 11008);
  EXPECT_EQ(l.vocab, 32000);
  EXPECT_EQ(l.maxPositions, 2048);
  EXPECT_EQ(l.normEps, 1e-6);
  EXPECT_EQ(l.ropeTheta, 10000);
  EXPECT_FALSE(l.tied);
  ModelConfig g = read("\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_inner\": null", true);
  EXPECT_EQ(g.layers, 12);
  EXPECT_EQ(g.heads, 12);
  EXPECT_EQ(g.ffn, 3072);
  EXPECT_EQ(g.vocab, 50257);
  EXPECT_EQ(g.maxPositions, 1024);
  EXPECT_EQ(g.normEps, 1e-5);
  EXPECT_TRUE(g.tied);
  EXPECT_EQ(parameterCount(g), 124439808u);
}

TEST(Config, RopeParameters) {
  ModelConfig c = read(
      kLlama +
      ", \"rope_parameters\": {\"rope_theta\": 500000.0, \"rope_type\": \"llama3\", \"factor\": 32.0, "
      "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}");
  EXPECT_EQ(c.ropeTheta, 500000);
  ASSERT_TRUE(c.ropeScaling);
  EXPECT_EQ(c.ropeScaling->factor, 32);
  EXPECT_FALSE(read(kLlama + ", \"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}")
                   .ropeScaling);
}

TEST(Config, WhatChangesTheMathematicsIsAnErrorThatNamesTheKey) {
  const std::pair<const char *, const char *> llama[] = {
      {"attention_dropout", "0.1"},
      {"attention_bias", "true"},
      {"mlp_bias", "true"},
      {"hidden_act", "\"gelu\""},
      {"pretraining_tp", "2"},
      {"sliding_window", "4096"},
      {"quantization_config", "{\"bits\": 4}"},
      {"rope_scaling", "{\"type\": \"linear\", \"factor\": 2.0}"},
      {"add_cross_attention", "true"},
      {"is_encoder_decoder", "true"},
      {"num_key_value_heads", "3"},
      {"rms_norm_eps", "-1"},
      {"head_dim", "7"},
      {"vocab_size", "0"},
      {"num_hidden_layers", "1.5"},
      {"rope_theta", "\"x\""},
      {"rope_scaling", "{\"rope_type\": \"llama3\", \"factor\": 8.0}"}};
  for (auto [key, value] : llama) {
    std::string out = errorOf(kLlama + ", \"" + key + "\": " + value);
    EXPECT_NE(out.find(key), std::string::npos) << out;
    EXPECT_NE(out.find("config.json:1:"), std::string::npos) << out;
  }
  const std::pair<const char *, const char *> gpt2[] = {{"scale_attn_by_inverse_layer_idx", "true"},
                                                        {"reorder_and_upcast_attn", "true"},
                                                        {"activation_function", "\"relu\""},
                                                        {"n_head", "7"},
                                                        {"n_ctx", "512"},
                                                        {"add_cross_attention", "true"},
                                                        {"hidden_size", "96"}};
  for (auto [key, value] : gpt2) {
    std::string out = errorOf(kGpt2 + ", \"" + key + "\": " + value);
    EXPECT_NE(out.find(key), std::string::npos) << out;
  }
}

TEST(Config, Dropout) {
  std::string out =
      errorOf("\"model_type\": \"gpt2\", \"n_embd\": 96, \"embd_pdrop\": 0.0, \"attn_pdrop\": 0.2");
  EXPECT_NE(out.find("'resid_pdrop' is absent, which means 0.1"), std::string::npos) << out;
  EXPECT_NE(out.find("'attn_pdrop' is 0.2"), std::string::npos) << out;
  EXPECT_EQ(out.find("'embd_pdrop'"), std::string::npos) << out;
  read("\"model_type\": \"gpt2\", \"n_embd\": 96, \"attn_pdrop\": 0.2", true);
}

TEST(Config, MissingAndUnknown) {
  EXPECT_NE(errorOf("\"model_type\": \"llama\"").find("'hidden_size' is missing"), std::string::npos);
  EXPECT_NE(errorOf("\"model_type\": \"gpt2\"", true).find("'n_embd' (the hidden size) is missing"),
            std::string::npos);
  EXPECT_NE(errorOf("\"model_type\": \"lama\"").find("did you mean 'llama'?"), std::string::npos);
  EXPECT_NE(errorOf("\"hidden_size\": 1").find("'model_type' is missing"), std::string::npos);
  Diagnostics d;
  EXPECT_FALSE(readConfig(d.addSource("c", "{" + kLlama + ", \"hiden_act\": \"silu\"}"), false, d));
  EXPECT_NE(d.str().find("error: unknown key 'hiden_act' in a llama config.json; did you "
                         "mean 'hidden_act'?"),
            std::string::npos);
  // Of other models on the same family, and of later versions of the class.
  for (const char *key : {"partial_rotary_factor", "attn_logit_softcapping", "final_logit_softcapping",
                          "residual_multiplier", "use_qk_norm", "logit_scale"})
    EXPECT_NE(errorOf(kLlama + ", \"" + key + "\": 0.5").find(std::string("unknown key '") + key + "'"),
              std::string::npos)
        << key;
}
