//===- Helpers.cpp - Shardings read, built and measured ---------------------===//
#include "dialects/par/Sharding.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hocket::par {

bool Sharding::whole() const {
  return partial.empty() && llvm::all_of(dims, [](const Axes &axes) { return axes.empty(); });
}

bool Sharding::operator==(const Sharding &other) const {
  return dims == other.dims && partial == other.partial && kind == other.kind;
}

Axes axesOf(ArrayAttr axes) {
  Axes out;
  for (StringAttr axis : axes.getAsRange<StringAttr>())
    out.push_back(axis.getValue());
  return out;
}

ArrayAttr axesAttr(MLIRContext *context, const Axes &axes) {
  return ArrayAttr::get(context, llvm::map_to_vector(axes, [&](StringRef axis) -> Attribute {
                          return StringAttr::get(context, axis);
                        }));
}

Sharding getSharding(Type type) {
  Sharding out;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return out;
  out.dims.resize(tensor.getRank());
  auto encoding = dyn_cast_or_null<ShardingAttr>(tensor.getEncoding());
  if (!encoding)
    return out;
  for (auto [to, from] : llvm::zip(out.dims, encoding.getDims()))
    to = axesOf(from);
  out.partial = axesOf(encoding.getPartial());
  out.kind = encoding.getKind().getValue();
  return out;
}

RankedTensorType withoutSharding(RankedTensorType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

RankedTensorType withSharding(RankedTensorType type, const Sharding &sharding) {
  if (sharding.whole())
    return withoutSharding(type);
  MLIRContext *context = type.getContext();
  auto dims = llvm::map_to_vector(sharding.dims, [&](const Axes &axes) { return axesAttr(context, axes); });
  auto encoding =
      ShardingAttr::get(context, dims, axesAttr(context, sharding.partial),
                        StringAttr::get(context, sharding.partial.empty() ? "sum" : sharding.kind));
  return RankedTensorType::get(type.getShape(), type.getElementType(), encoding);
}

int64_t shards(const Axes &axes, AxisSize size) {
  int64_t product = 1;
  for (StringRef axis : axes) {
    int64_t n = size(axis);
    if (n <= 0)
      return 0;
    product *= n;
  }
  return product;
}

RankedTensorType localType(RankedTensorType type, AxisSize size) {
  Sharding sharding = getSharding(type);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, axes] : llvm::zip(shape, sharding.dims)) {
    int64_t n = shards(axes, size);
    if (n == 0 || extent % n != 0)
      return {};
    extent /= n;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

MeshOp findMesh(Operation *module) {
  for (Operation &op : module->getRegion(0).front())
    if (auto mesh = dyn_cast<MeshOp>(op))
      return mesh;
  return {};
}

SmallVector<int64_t> axisStrides(MeshOp mesh) {
  SmallVector<int64_t> strides(mesh.getSizes().size(), 1);
  for (size_t i = strides.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * mesh.getSizes()[i - 1];
  return strides;
}

int64_t axisRank(MeshOp mesh, StringRef axis) {
  int64_t rank = 0;
  for (ArrayAttr names : {mesh.getAxes(), mesh.getTime()})
    for (StringAttr name : names.getAsRange<StringAttr>()) {
      if (name.getValue() == axis)
        return rank;
      ++rank;
    }
  return -1;
}

int64_t axisSize(MeshOp mesh, StringRef axis) {
  int64_t rank = axisRank(mesh, axis), space = mesh.getSizes().size();
  return rank < 0 ? 0 : rank < space ? mesh.getSizes()[rank] : mesh.getTimes()[rank - space];
}

Location axisLoc(MeshOp mesh, StringRef axis) {
  Location found = mesh.getLoc();
  mesh.getLoc()->walk([&](Location l) {
    auto name = dyn_cast<NameLoc>(l);
    if (!name || name.getName() != axis)
      return WalkResult::advance();
    found = name.getChildLoc();
    return WalkResult::interrupt();
  });
  return found;
}

bool isTimeAxis(MeshOp mesh, StringRef axis) {
  return axisRank(mesh, axis) >= int64_t(mesh.getSizes().size());
}

void canonicalize(MeshOp mesh, Axes &axes) {
  llvm::sort(axes, [&](StringRef a, StringRef b) { return axisRank(mesh, a) < axisRank(mesh, b); });
  axes.erase(llvm::unique(axes), axes.end());
}

std::string str(const Axes &axes) { return "{" + llvm::join(axes, ", ") + "}"; }

} // namespace hocket::par
