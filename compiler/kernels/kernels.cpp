#include "compiler/kernels/kernels.h"
#include "compiler/kernels/hash.h"
#include "compiler/kernels/recipe.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hocket::kernels {

std::string Hash::finish() {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  auto bytes = blake.final<4>();
  for (uint8_t b : bytes) {
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

std::string typeName(Type t) {
  std::string text;
  llvm::raw_string_ostream os(text);
  t.print(os);
  return text;
}

std::string shapeName(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t n : shape)
    text += (text.empty() ? "" : "x") + std::to_string(n);
  return text.empty() ? "scalar" : text;
}

/// Everything about `op` that its code depends on, and nothing of where it stands.
/// The root's operands count by position: a kernel takes each as an argument of its own, whether
/// or not two of them are one value where the op stands.
static void hashOp(Hash &hash, Operation *op, std::map<const void *, int64_t> &values, bool root = true) {
  hash.text(op->getName().getStringRef());
  std::string text;
  llvm::raw_string_ostream os(text);
  if (Attribute properties = op->getPropertiesAsAttribute())
    properties.print(os);
  else
    op->getAttrDictionary().print(os);
  hash.text(text);
  for (auto [position, v] : llvm::enumerate(op->getOperands())) {
    int64_t number = root ? int64_t(position)
                          : values.try_emplace(v.getAsOpaquePointer(), int64_t(values.size())).first->second;
    hash.number(number).text(typeName(v.getType()));
  }
  for (Value v : op->getResults()) {
    values.try_emplace(v.getAsOpaquePointer(), int64_t(values.size()));
    hash.text(typeName(v.getType()));
  }
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Value v : block.getArguments())
        values.try_emplace(v.getAsOpaquePointer(), int64_t(values.size()));
      for (Operation &inner : block)
        hashOp(hash, &inner, values, false);
    }
}

static FailureOr<Recipe> recipeOf(Operation *op) {
  auto check = [&](Value v) -> LogicalResult {
    if (v.getType().isIndex())
      return success();
    auto tensor = dyn_cast<RankedTensorType>(v.getType());
    if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() || tensor.getNumElements() == 0)
      return op->emitError("a kernel takes local tensors of static, non-empty shape, not ") << v.getType();
    Type t = tensor.getElementType();
    if (!t.isF32() && !t.isF64() && !t.isInteger(32) && !t.isInteger(64))
      return op->emitError("no kernels for elements of type ") << t;
    return success();
  };
  for (Value v : op->getOperands())
    if (failed(check(v)))
      return failure();
  for (Value v : op->getResults())
    if (failed(check(v)))
      return failure();
  return llvm::TypeSwitch<Operation *, FailureOr<Recipe>>(op)
      .Case([](model::MapOp o) { return mapRecipe(o); })
      .Case<model::DotOp, model::ReduceOp>([](auto o) { return contractRecipe(o); })
      .Case([](model::GatherOp o) { return gatherRecipe(o); })
      .Case([](model::ScatterAddOp o) { return scatterRecipe(o); })
      .Case([](model::IotaOp o) { return iotaRecipe(o); })
      .Case([](model::ConstantOp o) { return constantRecipe(o); })
      .Case<model::RmsNormOp, model::LayerNormOp>([](auto o) { return normRecipe(o); })
      .Case<model::RmsNormGradOp, model::LayerNormGradOp>([](auto o) { return normGradRecipe(o); })
      .Case([](model::RopeOp o) { return ropeRecipe(o); })
      .Case([](model::AttentionOp o) { return attentionRecipe(o); })
      .Case([](model::AttentionGradOp o) { return attentionGradRecipe(o); })
      .Case([](model::XentOp o) { return xentRecipe(o); })
      .Case([](model::XentGradOp o) { return xentGradRecipe(o); })
      .Default(
          [](Operation *o) -> FailureOr<Recipe> { return o->emitError("no kernel for this operation"); });
}

static uint64_t bytesOf(Value v) {
  return v.getType().isIndex() ? 8
                               : uint64_t(elements(v.getType())) * (elementOf(v).getIntOrFloatBitWidth() / 8);
}

static KernelDesc describe(Operation *op, const Recipe &recipe) {
  KernelDesc desc;
  Hash hash;
  std::map<const void *, int64_t> values;
  hashOp(hash, op, values);
  Value main =
      op->getNumOperands() && !op->getOperand(0).getType().isIndex() ? op->getOperand(0) : op->getResult(0);
  StringRef name = op->getName().stripDialect();
  desc.symbol = (name + "_" + typeName(elementOf(op->getResult(0))) + "_" + shapeName(shapeOf(main)) + "_" +
                 hash.finish())
                    .str();
  for (Value v : op->getOperands())
    desc.args.push_back({v.getType().isIndex() ? format::Access::Value : format::Access::Read, bytesOf(v)});
  for (Value v : op->getResults())
    desc.args.push_back({format::Access::Write, bytesOf(v)});
  for (const format::KernelArg &arg : desc.args)
    desc.memoryBytes += double(arg.bytes);
  if (recipe.scratchBytes)
    desc.args.push_back({format::Access::Write, uint64_t(recipe.scratchBytes)});
  desc.scratchBytes = recipe.scratchBytes;
  desc.work = recipe.work;
  desc.flops = cast<model::LetterOp>(op).getFlops();
  return desc;
}

FailureOr<KernelDesc> describe(Operation *op) {
  FailureOr<Recipe> recipe = recipeOf(op);
  if (failed(recipe))
    return failure();
  return describe(op, *recipe);
}

void loadDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

void emitFunction(ModuleOp kernels, StringRef symbol, ArrayRef<Type> memrefs, const Recipe &recipe) {
  OpBuilder b = OpBuilder::atBlockEnd(kernels.getBody());
  SmallVector<Type> inputs(memrefs);
  inputs.append(2, b.getIndexType());
  auto fn = func::FuncOp::create(b, UnknownLoc::get(b.getContext()), symbol, b.getFunctionType(inputs, {}));
  Block *entry = fn.addEntryBlock();
  if (!recipe.mayAlias)
    for (unsigned i = 0; i < memrefs.size(); ++i)
      fn.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
  Code c(fn, recipe.type);
  SmallVector<Value> args(entry->getArguments().drop_back(2));
  X begin = c.wrap(entry->getArgument(memrefs.size()));
  X end = c.wrap(entry->getArgument(memrefs.size() + 1));
  c.when(begin < end, [&] { recipe.emit(c, args, begin, end); });
  func::ReturnOp::create(c.b, c.loc);
  normalizeOrder(fn);
}

LogicalResult generate(Operation *op, ModuleOp kernels) {
  FailureOr<Recipe> recipe = recipeOf(op);
  if (failed(recipe))
    return failure();
  loadDialects(*kernels.getContext());
  KernelDesc desc = describe(op, *recipe);
  SmallVector<Type> types;
  auto add = [&](Value v) {
    if (v.getType().isIndex())
      types.push_back(MemRefType::get({1}, IntegerType::get(op->getContext(), 64)));
    else
      types.push_back(MemRefType::get({elements(v.getType())}, elementOf(v)));
  };
  for (Value v : op->getOperands())
    add(v);
  for (Value v : op->getResults())
    add(v);
  if (recipe->scratchBytes)
    types.push_back(MemRefType::get({recipe->scratchBytes}, IntegerType::get(op->getContext(), 8)));
  emitFunction(kernels, desc.symbol, types, *recipe);
  return success();
}

} // namespace hocket::kernels
