//===- Sharding.cpp - Spelling and invariants of #par.s ---------------------===//
#include "dialects/par/Par.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace hocket::par;

#define GET_ATTRDEF_CLASSES
#include "dialects/par/ParAttrs.cpp.inc"

void ParDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/par/ParAttrs.cpp.inc"
      >();
}

static ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<Attribute> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  });
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  SmallVector<ArrayAttr> dims;
  SmallVector<Attribute> partial;
  std::string kind = "sum";
  auto parseDim = [&]() -> ParseResult {
    SmallVector<Attribute> axes;
    if (parseAxes(parser, axes))
      return failure();
    dims.push_back(ArrayAttr::get(context, axes));
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma()))
    if (parser.parseKeyword("partial") || parser.parseEqual() || parser.parseKeywordOrString(&kind) ||
        parseAxes(parser, partial))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ShardingAttr>(parser.getCurrentLocation(), context, dims,
                                         ArrayAttr::get(context, partial), StringAttr::get(context, kind));
}

static void printAxes(AsmPrinter &printer, ArrayAttr axes) {
  printer << "{";
  llvm::interleaveComma(axes.getAsRange<StringAttr>(), printer,
                        [&](StringAttr a) { printer << a.getValue(); });
  printer << "}";
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](ArrayAttr axes) { printAxes(printer, axes); });
  printer << "]";
  if (!getPartial().empty()) {
    printer << ", partial = " << getKind().getValue();
    printAxes(printer, getPartial());
  }
  printer << ">";
}

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<ArrayAttr> dims,
                                   ArrayAttr partial, StringAttr kind) {
  if (kind.getValue() != "sum" && kind.getValue() != "max")
    return emitError() << "partial kind \"" << kind.getValue() << "\" is neither sum nor max";
  if (partial.empty() && kind.getValue() != "sum")
    return emitError() << "kind \"" << kind.getValue() << "\" of a sharding that is not partial";
  llvm::SmallSet<StringRef, 8> seen;
  auto once = [&](ArrayAttr axes) -> LogicalResult {
    for (StringAttr a : axes.getAsRange<StringAttr>())
      if (!seen.insert(a.getValue()).second)
        return emitError() << "axis \"" << a.getValue() << "\" occurs twice in one sharding";
    return success();
  };
  for (ArrayAttr axes : dims)
    if (failed(once(axes)))
      return failure();
  return once(partial);
}

LogicalResult ShardingAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                           function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "sharding of " << getDims().size() << " dimensions on a tensor of rank "
                       << shape.size();
  if (getPartial().empty() && llvm::all_of(getDims(), [](ArrayAttr axes) { return axes.empty(); }))
    return emitError() << "a whole tensor has no sharding; leave the encoding out";
  return success();
}
