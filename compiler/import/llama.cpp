//===- llama.cpp - LlamaForCausalLM -----------------------------------------===//
#include "compiler/import/builder.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket::importer {
using mlir::Value; // not the one of the readers
namespace {

/// silu(g) u, with the sigmoid as (1 + tanh(g/2)) / 2: neither it nor its
/// derivative overflows, where 1 / (1 + exp(-g)) has inf * 0 below -88 in f32.
Scalars swiglu(ImplicitLocOpBuilder &b, ValueRange a) {
  Value half = scalar(b, a[0].getType(), 0.5);
  Value h = arith::MulFOp::create(b, a[0], half);
  Value silu = arith::AddFOp::create(b, h, arith::MulFOp::create(b, h, math::TanhOp::create(b, h)));
  return {arith::MulFOp::create(b, silu, a[1])};
}

class Llama final : public FamilyBuilder {
public:
  using FamilyBuilder::FamilyBuilder;

  std::vector<Parameter> embeddings() const override {
    return {matrix("emb", "vh", "model.embed_tokens.weight", "vh")};
  }

  std::vector<Parameter> layer() const override {
    std::string p = "model.layers.{l}.";
    return {vector("n1", "h", p + "input_layernorm.weight", "h", "one"),
            matrix("wq", "hgrd", p + "self_attn.q_proj.weight", "(grd)h"),
            matrix("wk", "hgd", p + "self_attn.k_proj.weight", "(gd)h"),
            matrix("wv", "hgd", p + "self_attn.v_proj.weight", "(gd)h"),
            residual("wo", "grdh", p + "self_attn.o_proj.weight", "h(grd)"),
            vector("n2", "h", p + "post_attention_layernorm.weight", "h", "one"),
            matrix("wg", "hf", p + "mlp.gate_proj.weight", "fh"),
            matrix("wu", "hf", p + "mlp.up_proj.weight", "fh"),
            residual("wd", "fh", p + "mlp.down_proj.weight", "hf")};
  }

  std::vector<Parameter> finalNorm() const override {
    return {vector("norm", "h", "model.norm.weight", "h", "one")};
  }
  Parameter head() const override { return matrix("head", "vh", "lm_head.weight", "vh"); }

  Term embed(Body &f) const override { return f.gather("x", f["emb"], f["tokens"], "bsh"); }

  Term layer(Body &f, const Term &x) const override {
    Term a = f.rmsnorm({"a", "r1"}, x, f["n1"], config.normEps)[0];
    Term q0 = f.dot("q0", a, f["wq"], "bsgrd"), k0 = f.dot("k0", a, f["wk"], "bsgd"),
         v = f.dot("v", a, f["wv"], "bsgd");
    Term q = f.rope("q", q0, f["positions"], config.ropeTheta, config.ropeScaling);
    Term k = f.rope("k", k0, f["positions"], config.ropeTheta, config.ropeScaling);
    Term o = f.attention({"o", "e"}, q, k, v, f["positions"], attentionScale());
    Term y = f.add("y", {x, f.dot("p", o, f["wo"], "bsh")});
    Term c = f.rmsnorm({"c", "r2"}, y, f["n2"], config.normEps)[0];
    Term g = f.dot("g", c, f["wg"], "bsf"), u = f.dot("u", c, f["wu"], "bsf");
    Term m = f.map("m", {g, u}, "bsf", swiglu);
    return f.add("z", {y, f.dot("w", m, f["wd"], "bsh")});
  }

  Term normalise(Body &f, const Term &x) const override {
    return f.rmsnorm({"xn", "rn"}, x, f["norm"], config.normEps)[0];
  }
};

} // namespace

std::unique_ptr<FamilyBuilder> makeLlama(const ModelConfig &config) {
  return std::make_unique<Llama>(config);
}

} // namespace hocket::importer
