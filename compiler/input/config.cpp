#include "compiler/input/config.h"

#include "compiler/input/table_reader.h"
#include "compiler/input/units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace hocket {

StringRef name(Family family) { return family == Family::Gpt2 ? "gpt2" : "llama"; }

namespace {

/// Keys of every config.json that say nothing about the training step: names
/// and versions, tokens, generation, outputs of the Python class.
constexpr StringRef kHarmless[] = {"_name_or_path",
                                   "architectures",
                                   "auto_map",
                                   "bos_token_id",
                                   "eos_token_id",
                                   "pad_token_id",
                                   "sep_token_id",
                                   "decoder_start_token_id",
                                   "cls_token_id",
                                   "mask_token_id",
                                   "torch_dtype",
                                   "dtype",
                                   "transformers_version",
                                   "use_cache",
                                   "output_attentions",
                                   "output_hidden_states",
                                   "return_dict",
                                   "return_dict_in_generate",
                                   "output_scores",
                                   "task_specific_params",
                                   "finetuning_task",
                                   "id2label",
                                   "label2id",
                                   "num_labels",
                                   "problem_type",
                                   "prefix",
                                   "summary_activation",
                                   "summary_first_dropout",
                                   "summary_proj_to_labels",
                                   "summary_type",
                                   "summary_use_proj",
                                   "do_sample",
                                   "early_stopping",
                                   "length_penalty",
                                   "max_length",
                                   "min_length",
                                   "no_repeat_ngram_size",
                                   "num_beams",
                                   "num_beam_groups",
                                   "num_return_sequences",
                                   "repetition_penalty",
                                   "temperature",
                                   "top_k",
                                   "top_p",
                                   "typical_p",
                                   "diversity_penalty",
                                   "encoder_no_repeat_ngram_size",
                                   "exponential_decay_length_penalty",
                                   "forced_bos_token_id",
                                   "forced_eos_token_id",
                                   "bad_words_ids",
                                   "begin_suppress_tokens",
                                   "suppress_tokens",
                                   "remove_invalid_values",
                                   "tokenizer_class",
                                   "torchscript",
                                   "use_bfloat16",
                                   "tf_legacy_loss",
                                   "gradient_checkpointing",
                                   "_attn_implementation_autoset",
                                   "_flash_attn_2_enabled",
                                   "attn_implementation",
                                   "_attn_implementation",
                                   "_commit_hash",
                                   "chunk_size_feed_forward",
                                   "is_decoder",
                                   "model_max_length",
                                   "output_past",
                                   "padding_side",
                                   "unsloth_version",
                                   "use_return_dict"};

/// Keys that, when true, give another architecture.
constexpr StringRef kMustBeFalse[] = {"add_cross_attention", "is_encoder_decoder",
                                      "cross_attention_hidden_size", "tie_encoder_decoder",
                                      "use_sliding_window"};
/// Keys that must be absent, null or an empty list or table.
constexpr StringRef kMustBeEmpty[] = {"quantization_config",  "sliding_window",
                                      "pruned_heads",         "layer_types",
                                      "attention_chunk_size", "chunk_size_feed_forward"};

class ConfigReader {
public:
  ConfigReader(const Value &root, bool dropoutZero, Diagnostics &diags)
      : root(root), diags(diags), dropoutZero(dropoutZero) {}

  std::optional<ModelConfig> read() {
    size_t before = diags.errors();
    c.loc = Loc{root.loc.file, root.loc.line, root.loc.column, root.loc.line, root.loc.column + 1};
    const Value *type = get("model_type");
    if (!type || type->kind != Value::Kind::String) {
      diags.error(type ? type->loc : c.loc, "'model_type' is missing in config.json")
          .note("supported families: gpt2, llama");
      return std::nullopt;
    }
    if (type->string == "gpt2") {
      readGpt2();
    } else if (type->string == "llama") {
      readLlama();
    } else {
      StringRef families[] = {"gpt2", "llama"};
      diags
          .error(type->loc,
                 "model family '" + type->string + "' is not supported" + didYouMean(type->string, families))
          .note("supported families: gpt2, llama");
      return std::nullopt;
    }
    readCommon();
    return diags.errors() == before ? std::optional(c) : std::nullopt;
  }

private:
  /// The value of a key; null counts as absent, as transformers has it for
  /// every key that is read here.
  const Value *get(StringRef key) {
    known.push_back(key);
    for (const Member &m : root.members)
      if (m.key == key)
        return m.value.kind == Value::Kind::Null ? nullptr : &m.value;
    return nullptr;
  }
  /// A key under its own name or transformers' attribute name.
  const Value *get(StringRef key, StringRef alias, StringRef &used) {
    const Value *a = get(key), *b = get(alias);
    if (a && b)
      diags.error(b->loc, "'" + alias + "' and '" + key + "' are the same; give one");
    used = a ? key : alias;
    return a ? a : b;
  }
  int64_t integer(const Value *v, StringRef key, int64_t fallback, int64_t max, Loc *loc = nullptr) {
    if (!v)
      return fallback;
    if (loc)
      *loc = v->loc;
    return asInteger(*v, key, 1, max, diags).value_or(fallback);
  }
  bool boolean(StringRef key, bool fallback) {
    const Value *v = get(key);
    if (!v)
      return fallback;
    if (v->kind != Value::Kind::Bool)
      diags.error(v->loc, "'" + key + "' must be a boolean, not " + kindName(v->kind));
    return v->kind == Value::Kind::Bool ? v->boolean : fallback;
  }
  double number(StringRef key, double fallback, double min, double max) {
    const Value *v = get(key);
    return v ? asNumber(*v, key, min, max, diags).value_or(fallback) : fallback;
  }
  void dropout(StringRef key, double classDefault) {
    const Value *v = get(key);
    double rate = v ? asNumber(*v, key, 0, 1, diags).value_or(0) : classDefault;
    if (rate == 0 || dropoutZero)
      return;
    if (v)
      diags.error(v->loc, "'" + key + "' is " + numberText(rate) + "; dropout is not supported")
          .note("--dropout=0 trains without it");
    else
      diags
          .error(c.loc,
                 "'" + key + "' is absent, which means " + numberText(rate) + "; dropout is not supported")
          .note("write \"" + key + "\": 0.0, or --dropout=0 to train without it");
  }
  void mustBe(StringRef key, bool wanted, StringRef why) {
    const Value *v = get(key);
    if (v && boolean(key, wanted) != wanted)
      diags.error(v->loc, "'" + key + "' = " + (wanted ? "false" : "true") + " is not supported: " + why);
  }
  void activation(StringRef key, StringRef supported) {
    const Value *v = get(key);
    if (v && (v->kind != Value::Kind::String || v->string != supported))
      diags.error(v->loc, "'" + key + "' is not supported: only '" + supported + "' is in this family");
  }

  void readGpt2() {
    c.family = Family::Gpt2;
    c.learnedPositions = true;
    StringRef key;
    const Value *v = get("n_embd", "hidden_size", key);
    if (!v)
      diags.error(c.loc, "'n_embd' (the hidden size) is missing in config.json");
    c.hidden = integer(v, key, 768, kMaxWidth);
    c.layers = integer(get("n_layer", "num_hidden_layers", key), "n_layer", 12, kMaxLayers, &c.layersLoc);
    v = get("n_head", "num_attention_heads", key);
    c.heads = integer(v, key, 12, kMaxWidth, &c.headsLoc);
    c.kvHeads = c.heads;
    c.kvHeadsLoc = c.headsLoc;
    v = get("n_positions", "max_position_embeddings", key);
    c.maxPositions = integer(v, key, 1024, kMaxPositions, &c.maxPositionsLoc);
    if (const Value *ctx = get("n_ctx"); ctx && integer(ctx, "n_ctx", 1, kMaxPositions) != c.maxPositions)
      diags.error(ctx->loc, "'n_ctx' differs from 'n_positions'");
    c.ffn = integer(get("n_inner"), "n_inner", 4 * c.hidden, kMaxWidth);
    c.vocab = integer(get("vocab_size"), "vocab_size", 50257, kMaxVocab);
    c.normEps = number("layer_norm_epsilon", 1e-5, 0, 1);
    c.tied = boolean("tie_word_embeddings", true);
    c.scaleAttention = boolean("scale_attn_weights", true);
    activation("activation_function", "gelu_new");
    for (StringRef rate : {"resid_pdrop", "embd_pdrop", "attn_pdrop"})
      dropout(rate, 0.1);
    mustBe("scale_attn_by_inverse_layer_idx", false, "every layer scales alike");
    mustBe("reorder_and_upcast_attn", false, "attention runs in the job's dtype");
    if (c.heads && c.hidden % c.heads != 0)
      diags.error(c.headsLoc.valid() ? c.headsLoc : c.loc,
                  "the hidden size " + Twine(c.hidden) + " is not divisible by " + Twine(c.heads) + " heads");
    else
      c.headDim = c.hidden / c.heads;
    limitHead();
  }

  void readLlama() {
    c.family = Family::Llama;
    const Value *v = get("hidden_size");
    if (!v)
      diags.error(c.loc, "'hidden_size' is missing in config.json");
    c.hidden = integer(v, "hidden_size", 4096, kMaxWidth);
    c.layers = integer(get("num_hidden_layers"), "num_hidden_layers", 32, kMaxLayers, &c.layersLoc);
    c.heads = integer(get("num_attention_heads"), "num_attention_heads", 32, kMaxHeads, &c.headsLoc);
    c.kvHeads = integer(get("num_key_value_heads"), "num_key_value_heads", c.heads, kMaxHeads, &c.kvHeadsLoc);
    c.maxPositions = integer(get("max_position_embeddings"), "max_position_embeddings", 2048, kMaxPositions,
                             &c.maxPositionsLoc);
    c.ffn = integer(get("intermediate_size"), "intermediate_size", 11008, kMaxWidth);
    c.vocab = integer(get("vocab_size"), "vocab_size", 32000, kMaxVocab);
    c.normEps = number("rms_norm_eps", 1e-6, 0, 1);
    c.tied = boolean("tie_word_embeddings", false);
    activation("hidden_act", "silu");
    dropout("attention_dropout", 0);
    mustBe("attention_bias", false, "projections have no bias in this family");
    mustBe("mlp_bias", false, "projections have no bias in this family");
    if (const Value *tp = get("pretraining_tp"); tp && integer(tp, "pretraining_tp", 1, 1 << 20) != 1)
      diags.error(tp->loc, "'pretraining_tp' above 1 is not supported: it changes the order of sums");
    if (c.heads % c.kvHeads != 0)
      diags.error(c.kvHeadsLoc.valid() ? c.kvHeadsLoc : c.loc,
                  Twine(c.heads) + " heads are not divisible by " + Twine(c.kvHeads) + " key/value heads");
    if (const Value *d = get("head_dim"))
      c.headDim = integer(d, "head_dim", 1, kMaxHeadDim);
    else if (c.hidden % c.heads != 0)
      diags.error(c.headsLoc.valid() ? c.headsLoc : c.loc, "the hidden size " + Twine(c.hidden) +
                                                               " is not divisible by " + Twine(c.heads) +
                                                               " heads, and 'head_dim' is not given");
    else
      c.headDim = c.hidden / c.heads;
    limitHead();
    if (c.headDim % 2 != 0)
      diags.error(c.loc, "the head size " + Twine(c.headDim) + " is odd; rotary embedding needs an even one");
    readRope();
  }

  void limitHead() {
    if (c.headDim > kMaxHeadDim)
      diags.error(c.headsLoc.valid() ? c.headsLoc : c.loc,
                  "the head size " + Twine(c.headDim) + " (hidden size " + Twine(c.hidden) + " / " +
                      Twine(c.heads) + " heads) is above the attention kernel's limit of " +
                      Twine(kMaxHeadDim));
  }

  /// rope_theta and rope_scaling, or both in the newer rope_parameters.
  void readRope() {
    c.ropeTheta = number("rope_theta", 10000, 1, 1e12);
    const Value *scaling = get("rope_scaling"), *parameters = get("rope_parameters");
    if (scaling && parameters)
      diags.error(parameters->loc, "'rope_parameters' and 'rope_scaling' are the same; give one");
    const Value *v = parameters ? parameters : scaling;
    StringRef key = parameters ? "rope_parameters" : "rope_scaling";
    if (!v)
      return;
    if (v->kind != Value::Kind::Table) {
      diags.error(v->loc, "'" + key + "' must be a table, not " + kindName(v->kind));
      return;
    }
    TableReader r(*v, ("'" + key + "'").str(), diags);
    // transformers 5 writes it here too; the one outside must then agree.
    if (const Value *theta = r.find("rope_theta")) {
      double inner = r.number("rope_theta", 1, 1e12).value_or(c.ropeTheta);
      if (get("rope_theta") && inner != c.ropeTheta)
        diags.error(theta->loc, "'rope_theta' differs from the one outside of '" + key + "'");
      c.ropeTheta = inner;
    }
    const Value *type = r.find("rope_type"), *oldType = r.find("type");
    type = type ? type : oldType;
    std::string kind = "default";
    if (type) {
      if (type->kind != Value::Kind::String || (type->string != "llama3" && type->string != "default")) {
        diags.error(type->loc, "rope type " + diags.spelling(type->loc) +
                                   " is not supported: only 'default' and 'llama3' are");
        return;
      }
      kind = type->string;
    } else if (!parameters) {
      diags.error(v->loc, "'rope_type' is missing in 'rope_scaling'");
      return;
    }
    if (kind == "llama3") {
      RopeScaling s;
      auto need = [&](StringRef name, double min, double max, double &out) {
        if (!r.find(name))
          r.missing(name);
        out = r.number(name, min, max).value_or(out);
      };
      need("factor", 1, 1e6, s.factor);
      need("low_freq_factor", 1e-6, 1e6, s.lowFreqFactor);
      need("high_freq_factor", 1e-6, 1e6, s.highFreqFactor);
      if (!r.find("original_max_position_embeddings"))
        r.missing("original_max_position_embeddings");
      s.originalMaxPositions = r.integer("original_max_position_embeddings", 1, kMaxPositions).value_or(8192);
      // The smooth band divides by their difference.
      if (!(s.highFreqFactor > s.lowFreqFactor))
        diags.error(r.find("high_freq_factor") ? r.find("high_freq_factor")->loc : v->loc,
                    "'high_freq_factor' must be above 'low_freq_factor'");
      c.ropeScaling = s;
    }
    r.finish();
  }

  void readCommon() {
    c.initializerRange = number("initializer_range", 0.02, 0, 10);
    for (StringRef key : kMustBeFalse) {
      const Value *v = get(key);
      if (v && !(v->kind == Value::Kind::Bool && !v->boolean))
        diags.error(v->loc, "'" + key + "' is not supported");
    }
    for (StringRef key : kMustBeEmpty) {
      const Value *v = get(key);
      if (!v || (v->kind == Value::Kind::Int && v->integer == 0) ||
          ((v->kind == Value::Kind::Array || v->kind == Value::Kind::Table) && v->items.empty() &&
           v->members.empty()))
        continue;
      diags.error(v->loc, "'" + key + "' is not supported");
    }
    for (const Member &m : root.members) {
      if (is_contained(known, m.key) || is_contained(kHarmless, m.key))
        continue;
      // It may change the mathematics (a soft cap, another rope, a multiplier): never ignored.
      diags
          .error(m.keyLoc, "unknown key '" + m.key + "' in a " + name(c.family) + " config.json" +
                               didYouMean(m.key, known))
          .note("a key that changes nothing can be left out");
    }
  }

  /// Sizes whose products stay below 2^62.
  static constexpr int64_t kMaxLayers = 1 << 14, kMaxWidth = 1 << 22, kMaxHeads = 1 << 10,
                           kMaxVocab = 1 << 24, kMaxPositions = 1 << 24;
  /// A tile of attention holds rows of this many elements (compiler/kernels/attention.cpp).
  static constexpr int64_t kMaxHeadDim = 512;

  const Value &root;
  Diagnostics &diags;
  bool dropoutZero;
  ModelConfig c;
  SmallVector<StringRef> known;
};

} // namespace

std::optional<ModelConfig> readConfig(int32_t source, bool dropoutZero, Diagnostics &diags) {
  std::optional<Value> root = parseJson(source, diags);
  if (!root)
    return std::nullopt;
  if (root->kind != Value::Kind::Table) {
    diags.error(root->loc, "config.json must hold an object, not " + kindName(root->kind));
    return std::nullopt;
  }
  std::optional<ModelConfig> config = ConfigReader(*root, dropoutZero, diags).read();
  if (config)
    config->text = diags.text(source).str();
  return config;
}

std::optional<ModelConfig> openConfig(const std::string &path, bool dropoutZero, Diagnostics &diags,
                                      Loc askedBy) {
  SmallString<256> file(path);
  if (sys::fs::is_directory(file))
    sys::path::append(file, "config.json");
  std::optional<int32_t> source = loadText(file.str().str(), diags, askedBy);
  if (!source)
    return std::nullopt;
  std::optional<ModelConfig> config = readConfig(*source, dropoutZero, diags);
  if (config) {
    SmallString<256> folder(file);
    sys::fs::make_absolute(folder);
    sys::path::remove_dots(folder, true);
    config->name = sys::path::filename(sys::path::parent_path(folder)).str();
  }
  return config;
}

} // namespace hocket
