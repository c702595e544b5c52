#include "compiler/import/import.h"
#include "compiler/import/builder.h"

#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace hocket::model;

namespace hocket {
namespace {

using namespace importer;
using mlir::Value;

class Importer {
public:
  Importer(MLIRContext *context, const ModelConfig &config, const ImportOptions &options)
      : builder(context), loc(NameLoc::get(builder.getStringAttr(config.name))), config(config),
        options(options) {
    element = options.f64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());
    extents = {{'b', options.batch},
               {'s', options.sequence},
               {'h', config.hidden},
               {'g', config.kvHeads},
               {'r', config.heads / config.kvHeads},
               {'d', config.headDim},
               {'f', config.ffn},
               {'v', config.vocab},
               {'p', config.maxPositions},
               {'l', config.layers}};
    family = config.family == Family::Gpt2 ? makeGpt2(config) : makeLlama(config);
  }

  OwningOpRef<ModuleOp> run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(module->getBody());
    buildLayer();
    buildLoss();
    if (failed(verify(*module)))
      return nullptr;
    return module;
  }

private:
  struct Argument {
    std::string name, dims;
    Type element;
    std::optional<NamedAttribute> role;
  };

  Type tensor(StringRef letters, Type type) {
    SmallVector<int64_t> shape;
    for (char c : letters)
      shape.push_back(extents.at(c));
    return RankedTensorType::get(shape, type);
  }

  /// A function with the arguments bound by name in `body`.
  func::FuncOp function(StringRef name, ArrayRef<Argument> arguments, Type result, Body &body) {
    SmallVector<Type> types;
    for (const Argument &a : arguments)
      types.push_back(tensor(a.dims, a.element));
    auto fn = func::FuncOp::create(builder, loc, name, builder.getFunctionType(types, result));
    Block *entry = fn.addEntryBlock();
    for (auto [i, a] : llvm::enumerate(arguments)) {
      fn.setArgAttr(i, kName, builder.getStringAttr(a.name));
      fn.setArgAttr(i, kDims, builder.getStringAttr(a.dims));
      if (a.role)
        fn.setArgAttr(i, a.role->getName(), a.role->getValue());
      body.bind(a.name, {entry->getArgument(i), a.dims});
    }
    builder.setInsertionPointToEnd(entry);
    return fn;
  }

  void buildLayer() {
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Argument> arguments{{"x", "bsh", element, {}}, {"positions", "s", builder.getI32Type(), {}}};
    for (const Parameter &p : family->layer())
      arguments.push_back({p.name, p.dims, element, {}});
    Body body(builder, loc);
    function("layer", arguments, tensor("bsh", element), body);
    Term z = family->layer(body, body["x"]);
    func::ReturnOp::create(builder, loc, z.value);
  }

  void buildLoss() {
    auto role = [&](StringRef key, Attribute value) { return builder.getNamedAttr(key, value); };
    auto input = [&](StringRef name) -> Argument {
      return {name.str(), "bs", builder.getI32Type(), role(kInput, builder.getStringAttr(name))};
    };
    SmallVector<Argument> arguments{input("tokens"), input("labels")};
    auto add = [&](const Parameter &p, StringRef prefix, StringRef stack) {
      arguments.push_back({prefix.str() + p.name, stack.str() + p.dims, element,
                           role(kParam, p.param.attr(builder.getContext()))});
    };
    for (const Parameter &p : family->embeddings())
      add(p, "", "");
    for (const Parameter &p : family->layer())
      add(p, "layer.", "l");
    for (const Parameter &p : family->finalNorm())
      add(p, "", "");
    if (!config.tied)
      add(family->head(), "", "");

    Type scalarType = tensor("", element);
    Body body(builder, loc);
    auto fn = function("loss", arguments, scalarType, body);
    fn.setResultAttr(0, kName, builder.getStringAttr("loss"));
    body.bind("positions", Build(builder, loc).iota('s', options.sequence));
    Term x = family->embed(body);

    SmallVector<Value> operands{x.value, body["positions"].value};
    for (const Parameter &p : family->layer())
      operands.push_back(body["layer." + p.name].value);
    auto scan = ScanOp::create(builder, loc, TypeRange(x.value.getType()), operands, "layer", /*carries=*/1,
                               /*shared=*/1, ArrayRef<int64_t>{0, config.layers}, /*reverse=*/false);
    scan->setAttr(kNames, builder.getStrArrayAttr({"xl"}));

    Term normed = family->normalise(body, {scan.getResult(0), "bsh"});
    Term logits = body.dot("logits", normed, body[config.tied ? "emb" : "head"], "bsv");
    double scale = 1.0 / (double(options.batch) * double(options.sequence));
    auto xent =
        XentOp::create(builder, loc, scalarType, tensor("bs", element), logits.value, body["labels"].value,
                       builder.getStringAttr("bsv,bs->,bs"), builder.getF64FloatAttr(scale), IntegerAttr());
    xent->setAttr(kNames, builder.getStrArrayAttr({"loss", "lse"}));
    func::ReturnOp::create(builder, loc, xent.getLoss());
  }

  OpBuilder builder;
  Location loc;
  const ModelConfig &config;
  const ImportOptions &options;
  Type element;
  Extents extents;
  std::unique_ptr<FamilyBuilder> family;
};

} // namespace

OwningOpRef<ModuleOp> importModel(MLIRContext *context, const ModelConfig &config,
                                  const ImportOptions &options) {
  context->loadDialect<func::FuncDialect, arith::ArithDialect, math::MathDialect, ModelDialect>();
  if (config.learnedPositions && options.sequence > config.maxPositions) {
    emitError(NameLoc::get(StringAttr::get(context, config.name)))
        << "sequence " << options.sequence << " is longer than the model's " << config.maxPositions
        << " learned positions";
    return nullptr;
  }
  return Importer(context, config, options).run();
}

} // namespace hocket
