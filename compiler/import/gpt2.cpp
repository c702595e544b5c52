//===- gpt2.cpp - GPT2LMHeadModel -------------------------------------------===//
#include "compiler/import/builder.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace hocket::model;

namespace hocket::importer {
using mlir::Value; // not the one of the readers
namespace {

/// gelu_new of u + bias: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Scalars gelu(ImplicitLocOpBuilder &b, ValueRange a) {
  Type t = a[0].getType();
  auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
  auto add = [&](Value x, Value y) -> Value { return arith::AddFOp::create(b, x, y); };
  Value x = add(a[0], a[1]);
  Value inner = mul(x, add(scalar(b, t, 1), mul(scalar(b, t, 0.044715), mul(x, x))));
  Value tanh = math::TanhOp::create(b, mul(scalar(b, t, std::sqrt(2 / std::numbers::pi)), inner));
  return {mul(mul(scalar(b, t, 0.5), x), add(scalar(b, t, 1), tanh))};
}

/// c_attn holds q, k and v side by side.
Parameter part(Parameter p, int64_t dim, int64_t index) {
  p.param.dim = dim;
  p.param.index = index;
  p.param.count = 3;
  return p;
}

class Gpt2 final : public FamilyBuilder {
public:
  using FamilyBuilder::FamilyBuilder;

  std::vector<Parameter> embeddings() const override {
    return {matrix("emb", "vh", "transformer.wte.weight", "vh"),
            matrix("emb_pos", "ph", "transformer.wpe.weight", "ph")};
  }

  std::vector<Parameter> layer() const override {
    std::string p = "transformer.h.{l}.", w = p + "attn.c_attn.weight", b = p + "attn.c_attn.bias";
    return {vector("n1", "h", p + "ln_1.weight", "h", "one"),
            vector("n1b", "h", p + "ln_1.bias", "h", "zero"),
            part(matrix("wq", "hgrd", w, "h(grd)"), 1, 0),
            part(vector("bq", "grd", b, "(grd)", "zero"), 0, 0),
            part(matrix("wk", "hgd", w, "h(gd)"), 1, 1),
            part(vector("bk", "gd", b, "(gd)", "zero"), 0, 1),
            part(matrix("wv", "hgd", w, "h(gd)"), 1, 2),
            part(vector("bv", "gd", b, "(gd)", "zero"), 0, 2),
            residual("wo", "grdh", p + "attn.c_proj.weight", "(grd)h"),
            vector("bo", "h", p + "attn.c_proj.bias", "h", "zero"),
            vector("n2", "h", p + "ln_2.weight", "h", "one"),
            vector("n2b", "h", p + "ln_2.bias", "h", "zero"),
            matrix("wu", "hf", p + "mlp.c_fc.weight", "hf"),
            vector("bu", "f", p + "mlp.c_fc.bias", "f", "zero"),
            residual("wd", "fh", p + "mlp.c_proj.weight", "fh"),
            vector("bd", "h", p + "mlp.c_proj.bias", "h", "zero")};
  }

  std::vector<Parameter> finalNorm() const override {
    return {vector("norm", "h", "transformer.ln_f.weight", "h", "one"),
            vector("norm_b", "h", "transformer.ln_f.bias", "h", "zero")};
  }
  Parameter head() const override { return matrix("head", "vh", "lm_head.weight", "vh"); }

  Term embed(Body &f) const override {
    Term token = f.gather("xt", f["emb"], f["tokens"], "bsh");
    return f.add("x", {token, f.gather("xp", f["emb_pos"], f["positions"], "sh")});
  }

  Term layer(Body &f, const Term &x) const override {
    Term a = f.layernorm({"a", "mean1", "r1"}, x, f["n1"], f["n1b"], config.normEps)[0];
    Term q = f.add("q", {f.dot("q0", a, f["wq"], "bsgrd"), f["bq"]});
    Term k = f.add("k", {f.dot("k0", a, f["wk"], "bsgd"), f["bk"]});
    Term v = f.add("v", {f.dot("v0", a, f["wv"], "bsgd"), f["bv"]});
    Term o = f.attention({"o", "e"}, q, k, v, f["positions"], attentionScale());
    Term y = f.add("y", {x, f.dot("p", o, f["wo"], "bsh"), f["bo"]});
    Term c = f.layernorm({"c", "mean2", "r2"}, y, f["n2"], f["n2b"], config.normEps)[0];
    Term m = f.map("m", {f.dot("u", c, f["wu"], "bsf"), f["bu"]}, "bsf", gelu);
    return f.add("z", {y, f.dot("w", m, f["wd"], "bsh"), f["bd"]});
  }

  Term normalise(Body &f, const Term &x) const override {
    return f.layernorm({"xn", "mean_n", "rn"}, x, f["norm"], f["norm_b"], config.normEps)[0];
  }
};

} // namespace

std::unique_ptr<FamilyBuilder> makeGpt2(const ModelConfig &config) { return std::make_unique<Gpt2>(config); }

} // namespace hocket::importer
