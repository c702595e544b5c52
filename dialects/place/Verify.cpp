//===- Verify.cpp - Invariants of place's ops -------------------------------===//
#include "dialects/place/Place.h"

using namespace mlir;
using namespace hocket::place;

LogicalResult MeshOp::verify() {
  if (getAxes().size() != getSizes().size())
    return emitOpError("names ") << getAxes().size() << " axes and " << getSizes().size() << " sizes";
  if (getAxes().size() != getStrides().size())
    return emitOpError("names ") << getAxes().size() << " axes and " << getStrides().size() << " strides";
  constexpr int64_t most = int64_t(1) << 31; // device numbers
  int64_t last = getDevice(), count = 1;
  for (auto [size, stride] : llvm::zip(getSizes(), getStrides())) {
    if (size < 1)
      return emitOpError("has an axis of size ") << size;
    if (stride < 1)
      return emitOpError("has an axis of stride ") << stride;
    if (size > most / count || (size - 1) > (most - 1) / stride)
      return emitOpError("has more than ") << most << " devices";
    count *= size;
    last += (size - 1) * stride;
  }
  if (int64_t(getDevice()) < 0 || last >= most)
    return emitOpError("has devices beyond 0 to ") << most - 1;
  if (int64_t(getStage()) < 0)
    return emitOpError("has stage ") << int64_t(getStage());
  ArrayRef<int64_t> layers = getLayers();
  if (layers.size() != 2 || layers[0] < 0 || layers[1] < layers[0])
    return emitOpError("layers must be [first, end) with 0 <= first <= end");
  return success();
}

SmallVector<int64_t> MeshOp::devices() {
  SmallVector<int64_t> numbers{int64_t(getDevice())};
  for (auto [size, stride] : llvm::zip(getSizes(), getStrides())) {
    SmallVector<int64_t> next;
    next.reserve(numbers.size() * size);
    for (int64_t base : numbers)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(base + i * stride);
    numbers = std::move(next);
  }
  return numbers;
}

LogicalResult StepOp::verify() {
  if (int64_t(getMicro()) < 1)
    return emitOpError("has ") << int64_t(getMicro()) << " micro-batches";
  for (Region *region : {&getBody(), &getUpdate()})
    if (region->front().empty() || !isa<YieldOp>(region->front().back()))
      return emitOpError("needs a place.yield at the end of each region");
  if (getBody().getNumArguments())
    return emitOpError("body takes no arguments");
  auto reported = cast<YieldOp>(getUpdate().front().back()).getValues().size();
  if (reported != getMetrics().size())
    return emitOpError("names ") << getMetrics().size() << " metrics and yields " << reported;
  auto summed = cast<YieldOp>(getBody().front().back()).getValues().size();
  if (summed != getUpdate().getNumArguments())
    return emitOpError("body yields ")
           << summed << " values, the update takes " << getUpdate().getNumArguments();
  for (NamedAttribute entry : getOrder()) {
    auto list = dyn_cast<ArrayAttr>(entry.getValue());
    if (!list || !llvm::all_of(list, [](Attribute a) { return isa<StringAttr>(a); }))
      return emitOpError("order of \"") << entry.getName().getValue() << "\" is no list of strings";
  }
  return success();
}

LogicalResult TaskOp::verify() {
  StringRef name = getName();
  if (name.size() != 1 || !StringRef("FBLNU").contains(name))
    return emitOpError("name \"") << name << "\" is none of F, B, L, N, U";
  return success();
}

LogicalResult TransferOp::verify() {
  if (getFrom() == getTo())
    return emitOpError("goes from @") << getFrom() << " to itself";
  if (getInput().getType() != getResult().getType())
    return emitOpError("changes the type of its value");
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().size() != getMeshes().size() || getInputs().empty())
    return emitOpError("takes ") << getInputs().size() << " values of " << getMeshes().size() << " meshes";
  for (Value v : getInputs())
    if (v.getType() != getResult().getType())
      return emitOpError("operands and result differ in type");
  if (getKind() != "sum")
    return emitOpError("kind \"") << getKind() << "\" is not sum";
  return success();
}

LogicalResult ParamOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getType());
  if (!tensor || tensor.getRank() != int64_t(getDims().size()))
    return emitOpError("letters \"") << getDims() << "\" do not name the dimensions of " << getType();
  for (StringRef key : {"name", "layout", "init"})
    if (!isa_and_nonnull<StringAttr>(getCheckpoint().get(key)))
      return emitOpError("checkpoint lacks the string \"") << key << "\"";
  if (Attribute part = getCheckpoint().get("part")) {
    auto list = dyn_cast<ArrayAttr>(part);
    if (!list || list.size() != 3 || !llvm::all_of(list, llvm::IsaPred<IntegerAttr>))
      return emitOpError("part is not [dimension, index, count]: ") << part;
  }
  if (getStacked() ? getLayers().size() != 2 || getLayers()[0] < 0 || getLayers()[0] >= getLayers()[1]
                   : !getLayers().empty())
    return emitOpError("layers are ") << getLayers() << "; legal: [begin, end) if stacked, else none";
  return success();
}

LogicalResult InputOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getType());
  if (!tensor || tensor.getRank() != 2)
    return emitOpError("has type ") << getType() << "; inputs are rows by sequence";
  return success();
}
