#include "dialects/model/Param.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hocket::model {

DictionaryAttr Param::attr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute, 6> entries{b.getNamedAttr("name", b.getStringAttr(name)),
                                         b.getNamedAttr("layout", b.getStringAttr(layout)),
                                         b.getNamedAttr("part", b.getI64ArrayAttr({dim, index, count})),
                                         b.getNamedAttr("init", b.getStringAttr(init))};
  if (init == "normal")
    entries.push_back(b.getNamedAttr("std", b.getF64FloatAttr(std)));
  if (decay)
    entries.push_back(b.getNamedAttr("decay", b.getUnitAttr()));
  return b.getDictionaryAttr(entries);
}

Param Param::of(DictionaryAttr attr) {
  Param p;
  p.name = attr.getAs<StringAttr>("name").str();
  p.layout = attr.getAs<StringAttr>("layout").str();
  p.init = attr.getAs<StringAttr>("init").str();
  if (auto part = attr.getAs<ArrayAttr>("part")) {
    p.dim = cast<IntegerAttr>(part[0]).getInt();
    p.index = cast<IntegerAttr>(part[1]).getInt();
    p.count = cast<IntegerAttr>(part[2]).getInt();
  }
  if (auto std = attr.getAs<FloatAttr>("std"))
    p.std = std.getValueAsDouble();
  p.decay = attr.contains("decay");
  return p;
}

std::optional<Param> Param::of(FunctionOpInterface fn, unsigned i) {
  if (auto attr = fn.getArgAttrOfType<DictionaryAttr>(i, kParam))
    return of(attr);
  return std::nullopt;
}

static llvm::StringRef text(FunctionOpInterface fn, unsigned i, llvm::StringRef key) {
  auto attr = fn.getArgAttrOfType<StringAttr>(i, key);
  return attr ? attr.getValue() : llvm::StringRef();
}

llvm::StringRef argName(FunctionOpInterface fn, unsigned i) { return text(fn, i, kName); }
llvm::StringRef argDims(FunctionOpInterface fn, unsigned i) { return text(fn, i, kDims); }

std::optional<SmallVector<std::string, 4>> splitLayout(llvm::StringRef layout) {
  SmallVector<std::string, 4> dims;
  while (!layout.empty()) {
    size_t length = 1;
    StringRef letters = layout.take_front(1);
    if (layout.front() == '(') {
      size_t close = layout.find(')');
      if (close == StringRef::npos || close == 1)
        return std::nullopt;
      letters = layout.slice(1, close);
      length = close + 1;
    }
    if (!llvm::all_of(letters, llvm::isAlpha))
      return std::nullopt;
    dims.push_back(letters.str());
    layout = layout.drop_front(length);
  }
  return dims;
}

} // namespace hocket::model
