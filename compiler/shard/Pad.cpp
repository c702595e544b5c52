//===- Pad.cpp - Extents rounded up to a multiple of their shards -----------===//
//
// Letters f and v may be padded where all ops keep zeros in the pads (PadZeros.cpp):
// these are zero in parameters, gradients and moments, and cross-entropy masks the pads of v by `valid`. All
// dimensions that share an axis list and an extent get the same padded extent, so a letter has one extent
// again in every op.
//
//===----------------------------------------------------------------------===//
#include "compiler/shard/Steps.h"
#include "dialects/model/Param.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

static constexpr StringLiteral kPaddable = "fv";

/// The number of devices on `axis` that would divide: divisors of what is left
/// of the extent after the other axes.
static std::string legalSizes(int64_t extent, int64_t others) {
  std::string text;
  if (others == 0 || extent % others != 0)
    return "none";
  for (int64_t n = 1; n <= extent / others && text.size() < 60; ++n)
    if ((extent / others) % n == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(n);
  return text;
}

static int64_t product(const par::Axes &axes, par::MeshOp mesh) {
  return par::shards(axes, [&](StringRef axis) { return par::axisSize(mesh, axis); });
}

static LogicalResult checkDivisible(Operation *op, char letter, Slot slot, const Table &table,
                                    par::MeshOp mesh, StringRef paddable) {
  const par::Axes &axes = table.at(slot);
  int64_t extent = cast<RankedTensorType>(slot.value.getType()).getDimSize(slot.dim);
  int64_t shards = product(axes, mesh);
  bool pads = paddable.contains(letter), keeps = !isa<model::LetterOp>(op) || keepsZeros(op, letter);
  if (extent % shards == 0 || (pads && keeps))
    return success();
  StringRef last = axes.back();
  Location size = placeOf(par::axisLoc(mesh, last), op);
  InFlightDiagnostic error = emitError(size);
  error << "letter '" << letter << "' of " << describe(op, slot.value) << " has extent " << extent
        << ", which " << par::str(axes) << " = " << shards << " does not divide"
        << (pads ? ", and pads would not stay zero there" : "") << "; legal sizes of \"" << last
        << "\": " << legalSizes(extent, shards / par::axisSize(mesh, last));
  if (size == op->getLoc())
    return error;
  if (par::TileOp tile = table.tactic(slot.value, last); tile && tile.getLoc() != size)
    error.attachNote(tile.getLoc()) << "this tactic shards it";
  if (!isa<func::FuncOp>(op))
    error.attachNote(op->getLoc()) << "it is a letter of a " << op->getName();
  return error;
}

LogicalResult shard::checkDivisible(const FunctionUses &functions, ArrayRef<Relation> relations,
                                    const Table &table, par::MeshOp mesh, bool padded) {
  StringRef paddable = padded ? StringRef() : StringRef(kPaddable);
  for (auto &[constFunction, use] : functions) {
    func::FuncOp function = constFunction;
    for (BlockArgument argument : function.getArguments())
      for (auto [dim, letter] : llvm::enumerate(model::argDims(function, argument.getArgNumber())))
        if (failed(::checkDivisible(function, letter, {argument, unsigned(dim)}, table, mesh, paddable)))
          return failure();
  }
  for (const Relation &relation : relations)
    for (const Group &group : relation.groups)
      if (group.letter &&
          failed(::checkDivisible(relation.op, group.letter, group.slots.front(), table, mesh, paddable)))
        return failure();
  return success();
}

static RankedTensorType padded(Value value, const Table &table, par::MeshOp mesh) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return {};
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, axes] : llvm::zip(shape, table.of(value))) {
    int64_t shards = product(axes, mesh);
    extent = (extent + shards - 1) / shards * shards;
  }
  return shape == type.getShape() ? RankedTensorType() : RankedTensorType::get(shape, type.getElementType());
}

/// True extents of the padded letters of an argument.
static void recordValid(func::FuncOp function, unsigned i, RankedTensorType before, RankedTensorType after) {
  StringRef dims = model::argDims(function, i);
  Builder builder(function.getContext());
  SmallVector<NamedAttribute> valid;
  for (auto [letter, from, to] : llvm::zip(dims, before.getShape(), after.getShape()))
    if (from != to)
      valid.push_back(builder.getNamedAttr(StringRef(&letter, 1), builder.getI64IntegerAttr(from)));
  if (!valid.empty())
    function.setArgAttr(i, model::kValid, builder.getDictionaryAttr(valid));
}

/// Cross-entropy must know how many classes are true ones.
static void setValidClasses(Operation *op, const Table &table, par::MeshOp mesh) {
  model::Dims dims = cast<model::LetterOp>(op).getLetters();
  std::string classes = model::minus(dims.operands[0], dims.operands[1]);
  Slot slot{op->getOperand(0), unsigned(dims.operands[0].find(classes))};
  int64_t extent = cast<RankedTensorType>(slot.value.getType()).getDimSize(slot.dim);
  if (extent % product(table.at(slot), mesh) != 0 && !op->hasAttr("valid"))
    op->setAttr("valid", Builder(op->getContext()).getI64IntegerAttr(extent));
}

void shard::pad(const FunctionUses &functions, const Table &table, par::MeshOp mesh) {
  for (auto &[function, use] : functions)
    for (Operation &op : func::FuncOp(function).getBody().front())
      if (isa<model::XentOp, model::XentGradOp>(op))
        setValidClasses(&op, table, mesh);
  auto rewrite = [&](Value value) -> bool {
    RankedTensorType type = padded(value, table, mesh);
    if (type)
      value.setType(type);
    return bool(type);
  };
  for (auto &[constFunction, use] : functions) {
    func::FuncOp function = constFunction;
    for (BlockArgument argument : function.getArguments()) {
      auto before = dyn_cast<RankedTensorType>(argument.getType());
      if (rewrite(argument))
        recordValid(function, argument.getArgNumber(), before, cast<RankedTensorType>(argument.getType()));
    }
    for (Operation &op : function.getBody().front())
      for (Value result : op.getResults())
        rewrite(result);
    setFunctionType(function);
  }
}
