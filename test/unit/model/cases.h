//===- cases.h - One-op functions for definitions and derivatives -----------===//
#pragma once

#include <string>
#include <vector>

namespace hocket::test {

struct Case {
  std::string name, arguments, results, op, returned; ///< MLIR text; `op` defines what is returned
  int64_t below = 3;                                  ///< integer inputs are in [0, below)
  std::vector<unsigned> seeds = {0};                  ///< results that get an adjoint

  std::string text() const {
    return "func.func @f(" + arguments + ") -> (" + results + ") {\n" + op + "\nreturn " + returned + " : " +
           results + "\n}\n";
  }
};

inline std::vector<Case> fusedCases() {
  std::string x = "%x: tensor<2x3x4xf64>", h = "tensor<4xf64>", rows = "tensor<2x3xf64>";
  std::string qkv = "%q: tensor<2x3x2x2x4xf64>, %k: tensor<2x5x2x4xf64>, %v: tensor<2x5x2x4xf64>, %i: "
                    "tensor<3xi32>, %j: tensor<5xi32>";
  std::string qkvTypes =
      "tensor<2x3x2x2x4xf64>, tensor<2x5x2x4xf64>, tensor<2x5x2x4xf64>, tensor<3xi32>, tensor<5xi32>";
  std::string logits = "%x: tensor<2x3x5xf64>, %y: tensor<2x3xi32>";
  return {
      {"rmsnorm", x + ", %w: " + h, "tensor<2x3x4xf64>, " + rows,
       "%y, %r = model.rmsnorm(%x, %w) {dims = \"bsh,h->bsh,bs\", eps = 0.01 : f64} : (tensor<2x3x4xf64>, "
       "tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>)",
       "%y, %r"},
      {"rmsnorm_inner", "%x: tensor<2x3x4xf64>, %w: tensor<3xf64>", "tensor<2x3x4xf64>, tensor<2x4xf64>",
       "%y, %r = model.rmsnorm(%x, %w) {dims = \"bhs,h->bhs,bs\", eps = 0.01 : f64} : (tensor<2x3x4xf64>, "
       "tensor<3xf64>) -> (tensor<2x3x4xf64>, tensor<2x4xf64>)",
       "%y, %r"},
      {"layernorm", x + ", %w: " + h + ", %b: " + h, "tensor<2x3x4xf64>, " + rows + ", " + rows,
       "%y, %m, %r = model.layernorm(%x, %w, %b) {dims = \"bsh,h,h->bsh,bs,bs\", eps = 0.01 : f64} : "
       "(tensor<2x3x4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3xf64>, "
       "tensor<2x3xf64>)",
       "%y, %m, %r"},
      {"rope", "%x: tensor<2x3x2x6xf64>, %p: tensor<3xi32>", "tensor<2x3x2x6xf64>",
       "%y = model.rope(%x, %p) {dims = \"bsgd,s->bsgd\", theta = 100.0 : f64} : (tensor<2x3x2x6xf64>, "
       "tensor<3xi32>) -> tensor<2x3x2x6xf64>",
       "%y", 40},
      {"rope_inverse", "%x: tensor<2x3x2x6xf64>, %p: tensor<3xi32>", "tensor<2x3x2x6xf64>",
       "%y = model.rope(%x, %p) {dims = \"bsgd,s->bsgd\", theta = 100.0 : f64, inverse} : "
       "(tensor<2x3x2x6xf64>, tensor<3xi32>) -> tensor<2x3x2x6xf64>",
       "%y", 40},
      // Wavelengths 6.3, 19.9, 62.8, 198.7: kept, between, divided, divided.
      {"rope_llama3", "%x: tensor<3x2x8xf64>, %p: tensor<3xi32>", "tensor<3x2x8xf64>",
       "%y = model.rope(%x, %p) {dims = \"sgd,s->sgd\", theta = 100.0 : f64, scaling = array<f64: 8.0, 1.0, "
       "4.0, 32.0>} : (tensor<3x2x8xf64>, tensor<3xi32>) -> tensor<3x2x8xf64>",
       "%y", 40},
      // Position 0 among the keys: every query sees one.
      {"attention", qkv, "tensor<2x3x2x2x4xf64>, tensor<2x3x2x2xf64>",
       "%o, %e = model.attention(%q, %k, %v, %i, %j) {dims = \"bsgrd,btgd,btgd,s,t->bsgrd,bsgr\", mask = "
       "\"causal\", scale = 0.7 : f64} : (" +
           qkvTypes + ") -> (tensor<2x3x2x2x4xf64>, tensor<2x3x2x2xf64>)",
       "%o, %e", 4},
      {"attention_all", qkv, "tensor<2x3x2x2x4xf64>, tensor<2x3x2x2xf64>",
       "%o, %e = model.attention(%q, %k, %v, %i, %j) {dims = \"bsgrd,btgd,btgd,s,t->bsgrd,bsgr\", mask = "
       "\"none\", scale = 0.7 : f64} : (" +
           qkvTypes + ") -> (tensor<2x3x2x2x4xf64>, tensor<2x3x2x2xf64>)",
       "%o, %e", 4},
      {"xent", logits, "tensor<f64>, tensor<2x3xf64>",
       "%l, %e = model.xent(%x, %y) {dims = \"bsv,bs->,bs\", scale = 0.25 : f64} : (tensor<2x3x5xf64>, "
       "tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)",
       "%l, %e", 5},
      {"xent_valid", logits, "tensor<f64>, tensor<2x3xf64>",
       "%l, %e = model.xent(%x, %y) {dims = \"bsv,bs->,bs\", scale = 0.25 : f64, valid = 3 : i64} : "
       "(tensor<2x3x5xf64>, tensor<2x3xi32>) -> (tensor<f64>, tensor<2x3xf64>)",
       "%l, %e", 3},
  };
}

/// Core ops, and a map for every scalar that has a derivative.
inline std::vector<Case> coreCases() {
  std::vector<Case> cases{
      {"dot", "%a: tensor<2x3x4xf64>, %b: tensor<4x5xf64>", "tensor<2x5x3xf64>",
       "%y = model.dot(%a, %b) {dims = \"bsh,hf->bfs\"} : (tensor<2x3x4xf64>, tensor<4x5xf64>) -> "
       "tensor<2x5x3xf64>",
       "%y"},
      {"dot_batched", "%a: tensor<2x3x4xf64>, %b: tensor<2x4x5xf64>", "tensor<2x3x5xf64>",
       "%y = model.dot(%a, %b) {dims = \"bsh,bhf->bsf\"} : (tensor<2x3x4xf64>, tensor<2x4x5xf64>) -> "
       "tensor<2x3x5xf64>",
       "%y"},
      {"dot_squares", "%a: tensor<2x3xf64>", "tensor<f64>",
       "%y = model.dot(%a, %a) {dims = \"lh,lh->\"} : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<f64>",
       "%y"},
      {"reduce_sum", "%a: tensor<2x3x4xf64>", "tensor<4x2xf64>",
       "%y = model.reduce(%a) {dims = \"bsh->hb\", kind = \"sum\"} : (tensor<2x3x4xf64>) -> tensor<4x2xf64>",
       "%y"},
      {"reduce_max", "%a: tensor<2x3x4xf64>", "tensor<2x3xf64>",
       "%y = model.reduce(%a) {dims = \"bsh->bs\", kind = \"max\"} : (tensor<2x3x4xf64>) -> tensor<2x3xf64>",
       "%y"},
      {"gather_rows", "%a: tensor<5x4xf64>, %i: tensor<2x3xi32>", "tensor<2x3x4xf64>",
       "%y = model.gather(%a, %i) {dims = \"vh,bs->bsh\"} : (tensor<5x4xf64>, tensor<2x3xi32>) -> "
       "tensor<2x3x4xf64>",
       "%y", 7},
      {"gather_one", "%a: tensor<2x3x5xf64>, %i: tensor<2x3xi32>", "tensor<2x3xf64>",
       "%y = model.gather(%a, %i) {dims = \"bsv,bs->bs\"} : (tensor<2x3x5xf64>, tensor<2x3xi32>) -> "
       "tensor<2x3xf64>",
       "%y", 5},
      {"scatter_add", "%a: tensor<2x3x4xf64>, %i: tensor<2x3xi32>", "tensor<5x4xf64>",
       "%y = model.scatter_add(%a, %i) {dims = \"bsh,bs->vh\"} : (tensor<2x3x4xf64>, tensor<2x3xi32>) -> "
       "tensor<5x4xf64>",
       "%y", 7},
      // Broadcast, another order of letters, an operand used twice, two results.
      {"map_broadcast",
       "%a: tensor<2x3x4xf64>, %b: tensor<4xf64>, %c: tensor<3x2xf64>, %d: tensor<f64>",
       "tensor<2x3x4xf64>, tensor<2x3x4xf64>",
       "%y:2 = model.map(%a, %b, %c, %d) {\n^bb0(%p: f64, %q: f64, %r: f64, %s: f64):\n%0 = arith.mulf %p, "
       "%q : f64\n%1 = arith.addf %0, %r : f64\n"
       "%2 = arith.mulf %1, %s : f64\n%3 = arith.subf %2, %p : f64\nmodel.yield %3, %1 : f64, f64\n} {dims = "
       "\"bsh,h,sb,->bsh,bsh\"} : "
       "(tensor<2x3x4xf64>, tensor<4xf64>, tensor<3x2xf64>, tensor<f64>) -> (tensor<2x3x4xf64>, "
       "tensor<2x3x4xf64>)",
       "%y#0, %y#1",
       3,
       {0, 1}},
      {"map_add", "%a: tensor<2x3xf64>, %b: tensor<3xf64>", "tensor<2x3xf64>",
       "%y = model.map(%a, %b) {\n^bb0(%p: f64, %q: f64):\n%0 = arith.addf %p, %q : f64\nmodel.yield %0 : "
       "f64\n} {dims = \"bs,s->bs\"} : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>",
       "%y"},
      {"map_spread", "%a: tensor<2xf64>", "tensor<2x3xf64>",
       "%y = model.map(%a) {\n^bb0(%p: f64):\n%0 = math.exp %p : f64\nmodel.yield %0 : f64\n} {dims = "
       "\"b->bs\"} : (tensor<2xf64>) -> tensor<2x3xf64>",
       "%y"},
  };
  auto map2 = [&](std::string name, std::string body) {
    cases.push_back({"map_" + name, "%a: tensor<3x4xf64>, %b: tensor<3x4xf64>", "tensor<3x4xf64>",
                     "%y = model.map(%a, %b) {\n^bb0(%p: f64, %q: f64):\n" + body +
                         "\nmodel.yield %r : f64\n} {dims = \"bs,bs->bs\"} : (tensor<3x4xf64>, "
                         "tensor<3x4xf64>) -> tensor<3x4xf64>",
                     "%y"});
  };
  std::string positive =
      "%pp = arith.mulf %p, %p : f64\n%c = arith.constant 0.5 : f64\n%s = arith.addf %pp, %c : f64\n";
  map2("sub", "%r = arith.subf %p, %q : f64");
  map2("mul", "%r = arith.mulf %p, %q : f64");
  map2("div", positive + "%r = arith.divf %q, %s : f64");
  map2("neg", "%n = arith.negf %p : f64\n%r = arith.mulf %n, %q : f64");
  map2("exp", "%e = math.exp %p : f64\n%r = arith.mulf %e, %q : f64");
  map2("log", positive + "%e = math.log %s : f64\n%r = arith.mulf %e, %q : f64");
  map2("tanh", "%e = math.tanh %p : f64\n%r = arith.mulf %e, %q : f64");
  map2("sqrt", positive + "%e = math.sqrt %s : f64\n%r = arith.mulf %e, %q : f64");
  map2("rsqrt", positive + "%e = math.rsqrt %s : f64\n%r = arith.mulf %e, %q : f64");
  map2("sin", "%e = math.sin %p : f64\n%r = arith.mulf %e, %q : f64");
  map2("cos", "%e = math.cos %p : f64\n%r = arith.mulf %e, %q : f64");
  map2("erf", "%e = math.erf %p : f64\n%r = arith.mulf %e, %q : f64");
  map2("max", "%e = arith.maximumf %p, %q : f64\n%r = arith.mulf %e, %p : f64");
  map2("min", "%e = arith.minimumf %p, %q : f64\n%r = arith.mulf %e, %p : f64");
  map2("select",
       "%c = arith.cmpf olt, %p, %q : f64\n%m = arith.mulf %p, %q : f64\n%r = arith.select %c, %m, %q : f64");
  return cases;
}

} // namespace hocket::test
