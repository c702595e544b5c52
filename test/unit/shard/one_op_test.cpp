//===- one_op_test.cpp - Every op, every letter, on 2, 3 and 4 devices ------===//
//
// A one-op program is sharded over one letter and run on all devices; it must
// give what the whole op gives. Letters f and v get extents that do not divide.
//
//===----------------------------------------------------------------------===//
#include "spmd.h"

#include "compiler/shard/Passes.h"
#include "test/unit/model/support.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::test;

namespace {

struct OpCase {
  std::string name, op, dims; ///< "model.dot", "bsh,hf->bsf"
  std::string integers;       ///< positions of operands that hold integers
  std::string attributes, region;
  std::string refused; ///< letters that no rule shards: an error, not a wrong result
};

std::string scalarMap(const std::string &arguments, const std::string &body) {
  return " {\n^bb0(" + arguments + "):\n" + body + "\n}";
}

std::vector<OpCase> opCases() {
  return {
      {"dot", "model.dot", "bsh,hf->bfs", "", "", "", ""},
      {"dot_batched", "model.dot", "bsh,bhf->bsf", "", "", "", ""},
      {"dot_scalar", "model.dot", "vh,vh->", "", "", "", ""},
      {"map", "model.map", "bsf,f,sb,->bsf,bsf", "", "",
       scalarMap("%p: f64, %q: f64, %r: f64, %s: f64",
                 "%0 = arith.addf %p, %q : f64\n%1 = arith.mulf %0, %r : f64\n%2 = arith.mulf %1, %s : f64\n"
                 "model.yield %2, %1 : f64, f64"),
       ""},
      {"sum", "model.reduce", "bsf->fb", "", ", kind = \"sum\"", "", ""},
      {"max", "model.reduce", "bsh->sb", "", ", kind = \"max\"", "", ""},
      {"gather", "model.gather", "vh,bs->bsh", "1", "", "", ""},
      {"gather_one", "model.gather", "bsv,bs->bs", "1", "", "", ""},
      {"scatter_add", "model.scatter_add", "bsh,bs->vh", "1", "", "", ""},
      {"scatter_add_rows", "model.scatter_add", "sh,s->vh", "1", "", "", ""},
      {"rmsnorm", "model.rmsnorm", "bsh,h->bsh,bs", "", ", eps = 0.01 : f64", "", ""},
      {"rmsnorm_grad", "model.rmsnorm_grad", "bsh,bsh,bs,h->bsh,h", "", "", "", ""},
      {"layernorm", "model.layernorm", "bsh,h,h->bsh,bs,bs", "", ", eps = 0.01 : f64", "", ""},
      {"layernorm_grad", "model.layernorm_grad", "bsh,bsh,bs,bs,h->bsh,h,h", "", "", "", ""},
      {"rope", "model.rope", "bsgd,s->bsgd", "1", ", theta = 100.0 : f64", "", "d"},
      {"rope_inverse", "model.rope", "bsgrd,s->bsgrd", "1", ", theta = 100.0 : f64, inverse", "", "d"},
      {"attention", "model.attention", "bsgrd,btgd,btgd,s,t->bsgrd,bsgr", "34",
       ", mask = \"causal\", scale = 0.7 : f64", "", ""},
      {"attention_grad", "model.attention_grad", "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd",
       "67", ", mask = \"causal\", scale = 0.7 : f64", "", ""},
      {"xent", "model.xent", "bsv,bs->,bs", "1", ", scale = 0.25 : f64", "", ""},
      {"xent_grad", "model.xent_grad", "bsv,bs,bs->bsv", "1", ", scale = 0.25 : f64", "", ""},
  };
}

/// The sharded letter's extent: two to each device, or one too few where the rule pads.
std::map<char, int64_t> extentsOf(const model::Dims &dims, char letter, int64_t size) {
  std::map<char, int64_t> extents;
  for (char c : dims.all())
    extents[c] = c == letter ? 2 * size - (c == 'f' || c == 'v')
                             : std::map<char, int64_t>{{'b', 2}, {'t', 5}, {'d', 4}, {'f', 5}, {'v', 7},
                                                       {'r', 2}, {'g', 2}, {'h', 4}, {'s', 3}}
                                   .at(c);
  return extents;
}

std::string typeOf(const std::string &letters, const std::map<char, int64_t> &extents, bool integer) {
  std::string type = "tensor<";
  for (char c : letters)
    type += std::to_string(extents.at(c)) + "x";
  return type + (integer ? "i32>" : "f64>");
}

/// The op on arguments a0, a1, …; a letter that only results have is shared
/// with one more argument, which multiplies the first result.
std::string program(const OpCase &c, char letter, int64_t size) {
  model::Dims dims = model::Dims::parse(c.dims);
  auto extents = extentsOf(dims, letter, size);
  std::string arguments, operands, types, results, returned, tiled;
  for (auto [i, letters] : llvm::enumerate(dims.operands)) {
    std::string name = "a" + std::to_string(i);
    std::string type = typeOf(letters, extents, c.integers.find(char('0' + i)) != std::string::npos);
    arguments += (i ? ", %" : "%") + name + ": " + type + " {model.name = \"" + name + "\", model.dims = \"" +
                 letters + "\"}";
    operands += (i ? ", %" : "%") + name;
    types += (i ? ", " : "") + type;
    if (letters.find(letter) != std::string::npos)
      tiled += (tiled.empty() ? "\"" : ", \"") + name + "\"";
  }
  for (auto [i, letters] : llvm::enumerate(dims.results)) {
    results += (i ? ", " : "") + typeOf(letters, extents, false);
    returned += (i ? ", %y" : "%y") + (dims.results.size() > 1 ? "#" + std::to_string(i) : "");
  }
  std::string text = "  %y" + (dims.results.size() > 1 ? ":" + std::to_string(dims.results.size()) : "") +
                     " = " + c.op + "(" + operands + ")" + c.region + " {dims = \"" + c.dims + "\"" +
                     c.attributes + "} : (" + types + ") -> (" + results + ")\n";
  if (tiled.empty()) {
    std::string only = dims.results[0], type = typeOf(only, extents, false);
    arguments += ", %w: " + type + " {model.name = \"w\", model.dims = \"" + only + "\"}";
    tiled = "\"w\"";
    text += "  %z = model.map(%y, %w)" +
            scalarMap("%p: f64, %q: f64", "%0 = arith.mulf %p, %q : f64\nmodel.yield %0 : f64") +
            " {dims = \"" + only + "," + only + "->" + only + "\"} : (" + type + ", " + type + ") -> " +
            type + "\n";
    returned = "%z";
  }
  return "par.mesh {axes = [\"idle\", \"x\"], sizes = array<i64: 2, " + std::to_string(size) +
         ">, sym_name = \"mesh\", time = [], times = array<i64>}\npar.strategy {\n  par.tile {axis = \"x\", "
         "in = @f, letter = \"" +
         std::string(1, letter) + "\", values = [" + tiled +
         "]}\n} {sym_name = \"strategy\"}\nfunc.func @f(" + arguments + ") -> (" + results + ") {\n" + text +
         "  return " + returned + " : " + results + "\n}\n";
}

/// attention_grad's o and e must be those of its q, k and v: its definition makes them anew.
void attend(func::FuncOp function, const OpCase &c, Tensors &inputs) {
  model::Dims d = model::Dims::parse(c.dims);
  std::string text = "func.func @f(", operands, types, results;
  auto type = [&](unsigned i) {
    std::string out;
    llvm::raw_string_ostream(out) << function.getArgument(i).getType();
    return out;
  };
  const unsigned from[] = {1, 2, 3, 6, 7};
  for (auto [i, at] : llvm::enumerate(from)) {
    operands += (i ? ", %a" : "%a") + std::to_string(i);
    types += (i ? ", " : "") + type(at);
    text += (i ? ", %a" : "%a") + std::to_string(i) + ": " + type(at);
  }
  results = type(4) + ", " + type(5);
  text += ") -> (" + results + ") {\n  %o, %e = model.attention(" + operands + ") {dims = \"" +
          d.operands[1] + "," + d.operands[2] + "," + d.operands[3] + "," + d.operands[6] + "," +
          d.operands[7] + "->" + d.operands[4] + "," + d.operands[5] + "\"" + c.attributes + "} : (" + types +
          ") -> (" + results + ")\n  return %o, %e : " + results + "\n}\n";
  auto module = parse(*function.getContext(), text);
  Tensors forward = evaluate(module->lookupSymbol<func::FuncOp>("f"),
                             {inputs[1], inputs[2], inputs[3], inputs[6], inputs[7]});
  inputs[4] = forward[0];
  inputs[5] = forward[1];
}

Tensors inputsOf(func::FuncOp function, const OpCase &c, int64_t below) {
  std::mt19937_64 rng(7);
  Tensors inputs;
  for (Type type : function.getArgumentTypes())
    inputs.push_back(randomTensor(type, rng, below));
  for (auto [i, letters] : llvm::enumerate(model::Dims::parse(c.dims).operands)) {
    if (letters == "t")
      inputs[i].data[0] = 0; // every query sees a key
    if (c.name.starts_with("xent") && i == 1)
      inputs[i].data[1] = -1; // one label is ignored
    if (c.name.ends_with("norm_grad") && letters == "bs" && i == 2 + (c.name[0] == 'l'))
      for (double &x : inputs[i].data)
        x = 1 + x * x; // 1 / deviation
  }
  if (c.name == "attention_grad")
    attend(function, c, inputs);
  if (c.name == "xent_grad")
    for (int64_t row = 0, v = inputs[0].shape.back(); row < inputs[2].size(); ++row) {
      double sum = 0;
      for (int64_t i = 0; i < v; ++i)
        sum += std::exp(inputs[0].data[row * v + i]);
      inputs[2].data[row] = std::log(sum);
    }
  return inputs;
}

void check(const OpCase &c, char letter, int64_t size) {
  MLIRContext context;
  loadDialects(context);
  context.loadDialect<par::ParDialect>();
  std::string text = program(c, letter, size);
  SCOPED_TRACE(c.name + " letter " + letter + " on " + std::to_string(size) + "\n" + text);
  auto whole = parseSourceString<ModuleOp>(text, &context),
       sharded = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(whole && sharded);
  auto function = whole->lookupSymbol<func::FuncOp>("f");
  Tensors inputs = inputsOf(function, c, letter == 'v' ? 2 * size - 1 : 5),
          expected = evaluate(function, inputs);

  PassManager manager(&context);
  manager.addPass(shard::createShard());
  manager.addPass(shard::createVerifyShard());
  bool refused = c.refused.find(letter) != std::string::npos;
  std::unique_ptr<ScopedDiagnosticHandler> quiet;
  if (refused)
    quiet = std::make_unique<ScopedDiagnosticHandler>(&context, [](Diagnostic &) { return success(); });
  bool ok = succeeded(manager.run(*sharded));
  ASSERT_EQ(ok, !refused);
  if (refused)
    return;

  Spmd devices(*sharded);
  std::string error;
  Tensors found = devices.run("f", inputs, error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_LE(test::error(crop(found[i], expected[i].shape), expected[i]), 1e-13) << "result " << i;
}

TEST(OneOp, EveryLetter) {
  int cases = 0;
  for (const OpCase &c : opCases())
    for (char letter : model::Dims::parse(c.dims).all())
      for (int64_t size : {2, 3, 4}) {
        check(c, letter, size);
        ++cases;
      }
  EXPECT_GT(cases, 150);
}

} // namespace
