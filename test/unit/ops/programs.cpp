#include "programs.h"

#include "dialects/model/Dims.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace hocket::test::ops {

Extents extents() {
  return {{'b', 12}, {'s', 12}, {'t', 12}, {'h', 12}, {'g', 12},
          {'r', 12}, {'d', 12}, {'p', 24}, {'f', 11}, {'v', 13}};
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

static Line dot(std::string result, std::string operands, std::string dims) {
  return {result, "dot", operands, dims, "", ""};
}

/// A map of f64 scalars: arguments %a0, %a1, …
static Line map(std::string results, std::string operands, std::string dims, std::string body) {
  std::string region = " {\n^bb0(";
  for (size_t i = 0, n = model::Dims::parse(dims).operands.size(); i < n; ++i)
    region += (i ? ", %a" : "%a") + std::to_string(i) + ": f64";
  return {results, "map", operands, dims, "", region + "):\n" + body + "\n}"};
}

static Line add(std::string result, std::string operands, std::string dims) {
  return map(result, operands, dims, "%s = arith.addf %a0, %a1 : f64\nmodel.yield %s : f64");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A layer that holds nothing but a bias.
static Program plain(std::string name, std::string letters) {
  return {name, letters, {{"w", "h"}}, {add("z", "x,w", "bsh,h->bsh")}};
}

static Program layer(std::string name, std::string letters, std::vector<Parameter> parameters,
                     std::vector<Line> lines) {
  lines.push_back(add("z", "x,y", "bsh,bsh->bsh"));
  return {name, letters, parameters, lines};
}

/// Every scalar that has a derivative; arguments of log and roots are above 0.5.
static const char *const kScalars = R"(%half = arith.constant 0.5 : f64
%sq = arith.mulf %a0, %a0 : f64
%pos = arith.addf %sq, %half : f64
%e = math.exp %a0 : f64
%l = math.log %pos : f64
%t = math.tanh %e : f64
%q = math.sqrt %pos : f64
%rq = math.rsqrt %pos : f64
%sn = math.sin %a0 : f64
%cs = math.cos %a1 : f64
%er = math.erf %a0 : f64
%n = arith.negf %er : f64
%mx = arith.maximumf %a0, %a1 : f64
%mn = arith.minimumf %sn, %cs : f64
%dv = arith.divf %l, %pos : f64
%sb = arith.subf %t, %q : f64
%lt = arith.cmpf olt, %a0, %a1 : f64
%se = arith.select %lt, %mx, %rq : f64
%s0 = arith.addf %dv, %sb : f64
%s1 = arith.mulf %mn, %n : f64
%s2 = arith.addf %s0, %s1 : f64
%s3 = arith.addf %s2, %se : f64
model.yield %s3 : f64)";

static std::vector<Program> coreOps() {
  return {
      layer("dot", "bshf", {{"w", "hf"}, {"u", "fh"}},
            {dot("a", "x,w", "bsh,hf->bfs"), dot("y", "a,u", "bfs,fh->bsh")}),
      layer(
          "dot_batched", "bshf", {{"w", "sf"}, {"u", "fh"}},
          {dot("k", "x,w", "bsh,sf->bhf"), dot("a", "x,k", "bsh,bhf->bsf"), dot("y", "a,u", "bsf,fh->bsh")}),
      plain("dot_scalar", "vh"), // squares of the norm of gradients
      layer("map", "bsf", {{"w", "hf"}, {"c", "f"}, {"k", "h"}, {"u", "fh"}},
            {dot("a", "x,w", "bsh,hf->bsf"),
             {"rows", "reduce", "x", "bsh->sb", ", kind = \"sum\"", ""},
             {"one", "reduce", "k", "h->", ", kind = \"sum\"", ""},
             map("m,n", "a,c,rows,one", "bsf,f,sb,->bsf,bsf",
                 "%0 = arith.addf %a0, %a1 : f64\n%1 = math.tanh %0 : f64\n%2 = arith.mulf %1, %a2 : f64\n"
                 "%3 = arith.mulf %2, %a3 : f64\nmodel.yield %2, %3 : f64, f64"),
             add("mn", "m,n", "bsf,bsf->bsf"),
             dot("y", "mn,u", "bsf,fh->bsh")}),
      layer("map_rows", "f", {{"w", "hf"}, {"u", "fh"}},
            {dot("a", "x,w", "bsh,hf->bsf"),
             {"rows", "reduce", "x", "bsh->sb", ", kind = \"sum\"", ""},
             add("m", "a,rows", "bsf,sb->bsf"),
             dot("y", "m,u", "bsf,fh->bsh")}),
      layer("map_scalars", "bsh", {{"w", "h"}}, {map("y", "x,w", "bsh,h->bsh", kScalars)}),
      layer("reduce_sum", "bsf", {{"w", "hf"}, {"u", "fh"}},
            {dot("a", "x,w", "bsh,hf->bsf"),
             {"c", "reduce", "a", "bsf->fb", ", kind = \"sum\"", ""},
             map("m", "a,c", "bsf,fb->bsf", "%0 = arith.mulf %a0, %a1 : f64\nmodel.yield %0 : f64"),
             dot("y", "m,u", "bsf,fh->bsh")}),
      layer("reduce_max", "bsh", {{"w", "h"}},
            {{"c", "reduce", "x", "bsh->sb", ", kind = \"max\"", ""},
             map("y", "x,c,w", "bsh,sb,h->bsh",
                 "%0 = arith.subf %a0, %a1 : f64\n%1 = arith.mulf %0, %a2 : f64\nmodel.yield %1 : f64")}),
      plain("gather", "vhbs"),
      layer("gather_one", "bsv", {{"w", "hv"}, {"u", "h"}},
            {dot("a", "x,w", "bsh,hv->bsv"),
             {"picked", "gather", "a,tokens", "bsv,bs->bs", "", ""},
             map("y", "picked,u", "bs,h->bsh", "%0 = arith.mulf %a0, %a1 : f64\nmodel.yield %0 : f64")}),
      layer("gather_lookup", "vhbs", {{"table", "vh"}},
            {{"y", "gather", "table,tokens", "vh,bs->bsh", "", ""}}),
      layer("scatter_add", "bshv", {{"w", "h"}},
            {{"slots", "scatter_add", "x,positions", "bsh,s->bvh", "", ""},
             map("m", "slots,w", "bvh,h->bvh", "%0 = arith.mulf %a0, %a1 : f64\nmodel.yield %0 : f64"),
             {"y", "gather", "m,positions", "bvh,s->bsh", "", ""}}),
      layer("constant", "bsh", {{"w", "h"}},
            {{"c", "constant", "", "->bsh", ", value = 0.25 : f64", ""},
             map("y", "c,w", "bsh,h->bsh", "%0 = arith.mulf %a0, %a1 : f64\nmodel.yield %0 : f64")}),
  };
}

/// Of what is around the layers.
static std::vector<Program> outerOps() {
  Program rows = plain("gather_rows", "psh");
  rows.outer = {{"table", "ph"}};
  rows.front = {{"rows", "gather", "table,positions", "ph,s->sh", "", ""},
                add("x0", "e,rows", "bsh,sh->bsh")};
  return {rows};
}

static std::vector<Program> fusedOps() {
  std::string eps = ", eps = 0.01 : f64", causal = ", mask = \"causal\", scale = 0.3 : f64",
              all = ", mask = \"none\", scale = 0.3 : f64", theta = ", theta = 100.0 : f64";
  std::vector<Line> qkv{dot("q", "x,wq", "bsh,hgrd->bsgrd"), dot("k", "x,wk", "bsh,hgd->bsgd"),
                        dot("v", "x,wv", "bsh,hgd->bsgd")},
      keyed{dot("q", "x,wq", "bsh,hgrd->bsgrd"), dot("xt", "x,mix", "bsh,st->bth"),
            dot("k", "xt,wk", "bth,hgd->btgd"), dot("v", "xt,wv", "bth,hgd->btgd")};
  std::vector<Parameter> weights{{"wq", "hgrd"}, {"wk", "hgd"}, {"wv", "hgd"}, {"wo", "grdh"}},
      mixed = weights;
  mixed.push_back({"mix", "st"});
  auto out = [](std::vector<Line> lines, Line op) {
    lines.push_back(op);
    lines.push_back(dot("y", "o,wo", "bsgrd,grdh->bsh"));
    return lines;
  };
  std::vector<Program> result{
      layer("rmsnorm", "bsh", {{"w", "h"}}, {{"y,r", "rmsnorm", "x,w", "bsh,h->bsh,bs", eps, ""}}),
      layer("layernorm", "bsh", {{"w", "h"}, {"c", "h"}},
            {{"y,mean,r", "layernorm", "x,w,c", "bsh,h,h->bsh,bs,bs", eps, ""}}),
      layer("rope", "bsgrd", {{"wq", "hgrd"}, {"wo", "grdh"}},
            out({qkv[0]}, {"o", "rope", "q,positions", "bsgrd,s->bsgrd", theta, ""})),
      layer("rope_inverse", "bsgrd", {{"wq", "hgrd"}, {"wo", "grdh"}},
            out({qkv[0]}, {"o", "rope", "q,positions", "bsgrd,s->bsgrd", theta + ", inverse", ""})),
      layer("attention", "bsgrd", weights,
            out(qkv, {"o,e", "attention", "q,k,v,positions,positions", "bsgrd,btgd,btgd,s,t->bsgrd,bsgr",
                      causal, ""})),
      layer("attention_keys", "bsgrdt", mixed,
            out(keyed,
                {"o,e", "attention", "q,k,v,positions,keys", "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", causal, ""})),
      layer("attention_all", "bsgrdt", mixed,
            out(keyed,
                {"o,e", "attention", "q,k,v,positions,keys", "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", all, ""})),
      plain("xent", "bsv"),
  };
  return result;
}

std::vector<Program> programs() {
  std::vector<Program> result = coreOps();
  for (auto &more : {outerOps(), fusedOps()})
    result.insert(result.end(), more.begin(), more.end());
  for (Program &p : result) {
    if (p.name.starts_with("rope"))
      p.refused['d'] = "letter 'd'";
    p.refused['s'] = "input 'tokens' is sharded by letter 's' over {tensor}; a rank reads whole rows";
    if (p.name == "map_rows")
      p.refused['f'] =
          "does not divide, and pads would not stay zero there; legal sizes of \"tensor\": 1, 11";
    if (p.name == "attention")
      p.refused['s'] = "conflicting shardings: axis \"tensor\" shards letter 's'";
  }
  Program scan = plain("scan", "l");
  scan.layers = 5;
  result.push_back(scan);
  return result;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static bool isInteger(llvm::StringRef name) {
  return name == "tokens" || name == "labels" || name == "positions" || name == "keys";
}

static std::string type(llvm::StringRef name, llvm::StringRef letters, const Extents &extents) {
  std::string text = "tensor<";
  for (char c : letters)
    text += std::to_string(extents.at(c)) + "x";
  return text + (isInteger(name) ? "i32>" : "f64>");
}

static llvm::SmallVector<llvm::StringRef> names(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  return parts;
}

static std::string text(const Line &line, const Extents &extents) {
  model::Dims dims = model::Dims::parse(line.dims);
  std::string results, operands, from, to, named;
  for (auto [i, name] : llvm::enumerate(names(line.results))) {
    results += (i ? ", %" : "%") + name.str();
    to += (i ? ", " : "") + type(name, dims.results[i], extents);
    named += (i ? ", \"" : "\"") + name.str() + "\"";
  }
  for (auto [i, name] : llvm::enumerate(names(line.operands))) {
    operands += (i ? ", %" : "%") + name.str();
    from += (i ? ", " : "") + type(name, dims.operands[i], extents);
  }
  return "  " + results + " = model." + line.op + "(" + operands + ")" + line.region + " {dims = \"" +
         line.dims + "\", model.names = [" + named + "]" + line.attributes + "} : (" + from + ") -> (" + to +
         ")\n";
}

static std::string argument(llvm::StringRef id, llvm::StringRef name, llvm::StringRef dims,
                            const std::string &role, const Extents &extents) {
  return ("%" + id + ": " + type(name, dims, extents) + " {model.name = \"" + name + "\", model.dims = \"" +
          dims + "\"" + role + "}")
      .str();
}

/// Initial values keep activations near 1: by the number of elements that a result sums.
static std::string role(const Parameter &p, bool stacked, const Extents &extents) {
  std::string summed = p.dims == "vh"          ? ""
                       : p.dims.ends_with("h") ? p.dims.substr(0, p.dims.size() - 1)
                                               : p.dims.substr(0, 1);
  double fan = 1;
  for (char c : summed)
    fan *= double(extents.at(c));
  return ", model.param = {name = \"" + std::string(stacked ? "layers.{l}." : "") + p.name +
         "\", layout = \"" + p.dims +
         "\", part = [0, 0, 1], init = \"normal\", std = " + std::to_string(0.5 / std::sqrt(fan)) + " : f64" +
         (p.dims.size() > 1 ? ", decay}" : "}");
}

std::string moduleText(const Program &p, const Extents &given) {
  Extents extents = given;
  extents['l'] = p.layers;
  Parameter emb{"emb", "vh"}, head{"head", "vh"};
  // Shared operands that the layer takes; what it does not use is not passed.
  std::vector<std::pair<std::string, std::string>> shared;
  for (auto [name, letters] : {std::pair("positions", "s"), {"keys", "t"}, {"tokens", "bs"}})
    if (llvm::any_of(p.body, [&](const Line &l) { return llvm::is_contained(names(l.operands), name); }))
      shared.emplace_back(name, letters);

  std::string bsh = type("x", "bsh", extents);
  std::string text = "func.func @layer(" + argument("x", "x", "bsh", "", extents);
  for (auto &[name, letters] : shared)
    text += ", " + argument(name, name, letters, "", extents);
  for (const Parameter &q : p.layer)
    text += ", " + argument(q.name, q.name, q.dims, "", extents);
  text += ") -> " + bsh + " {\n";
  for (const Line &line : p.body)
    text += ops::text(line, extents);
  text += "  return %z : " + bsh + "\n}\n";

  text += "func.func @loss(" + argument("tokens", "tokens", "bs", ", model.input = \"tokens\"", extents) +
          ", " + argument("labels", "labels", "bs", ", model.input = \"labels\"", extents) + ", " +
          argument("emb", "emb", "vh", role(emb, false, extents), extents);
  for (const Parameter &q : p.layer)
    text += ", " + argument("l_" + q.name, "layer." + q.name, "l" + q.dims, role(q, true, extents), extents);
  for (const Parameter &q : p.outer)
    text += ", " + argument(q.name, q.name, q.dims, role(q, false, extents), extents);
  text += ", " + argument("head", "head", "vh", role(head, false, extents), extents) +
          ") -> (tensor<f64> {model.name = \"loss\"}) {\n";
  auto uses = [&](llvm::StringRef name) {
    return llvm::any_of(p.front, [&](const Line &l) { return llvm::is_contained(names(l.operands), name); });
  };
  if (uses("positions") || llvm::any_of(shared, [](auto &s) { return s.first == "positions"; }))
    text += ops::text({"positions", "iota", "", "->s", "", ""}, extents);
  if (llvm::any_of(shared, [](auto &s) { return s.first == "keys"; }))
    text += ops::text({"keys", "iota", "", "->t", "", ""}, extents);
  text += ops::text({p.front.empty() ? "x0" : "e", "gather", "emb,tokens", "vh,bs->bsh", "", ""}, extents);
  for (const Line &line : p.front)
    text += ops::text(line, extents);
  std::string operands = "%x0", types = bsh;
  for (auto &[name, letters] : shared) {
    operands += ", %" + name;
    types += ", " + type(name, letters, extents);
  }
  for (const Parameter &q : p.layer) {
    operands += ", %l_" + q.name;
    types += ", " + type(q.name, "l" + q.dims, extents);
  }
  text += "  %x = model.scan(" + operands + ") {body = @layer, carries = 1 : i64, model.names = [\"x\"], " +
          "range = array<i64: 0, " + std::to_string(p.layers) +
          ">, shared = " + std::to_string(shared.size()) + " : i64} : (" + types + ") -> " + bsh + "\n";
  text += ops::text(dot("logits", "x,head", "bsh,vh->bsv"), extents);
  text +=
      ops::text({"loss,lse", "xent", "logits,labels", "bsv,bs->,bs", ", scale = 0.01 : f64", ""}, extents);
  return text + "  return %loss : tensor<f64>\n}\n";
}

std::vector<std::string> holders(const Program &p, char letter) {
  std::vector<std::string> result;
  auto add = [&](const std::string &name, const std::string &dims) {
    if (dims.find(letter) != std::string::npos)
      result.push_back(name);
  };
  add("tokens", "bs");
  add("labels", "bs");
  add("emb", "vh");
  for (const Parameter &q : p.layer)
    add("layer." + q.name, q.dims);
  for (const Parameter &q : p.outer)
    add(q.name, q.dims);
  add("head", "vh");
  return result;
}

std::vector<Sharded> everything() {
  std::vector<Sharded> result;
  for (const Program &p : programs())
    for (char letter : p.letters)
      for (int64_t size : {2, 3, 4})
        result.push_back({p.name, letter, size});
  return result;
}

} // namespace hocket::test::ops
