//===- VerifyAttributes.cpp - What function arguments carry -----------------===//
#include "dialects/model/Model.h"
#include "dialects/model/Param.h"

#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace hocket::model;

static std::string joined(const SmallVector<std::string, 4> &dims) { return llvm::join(dims, ""); }

/// The checkpoint's name, layout, part, initial value and decay flag.
static LogicalResult verifyParam(Operation *op, DictionaryAttr param, StringRef dims) {
  auto error = [&](const Twine &text) { return op->emitOpError("model.param ") << text; };
  for (NamedAttribute entry : param)
    if (!llvm::is_contained({"name", "layout", "part", "init", "std", "decay"}, entry.getName().getValue()))
      return error("has the unknown entry '" + entry.getName().getValue() + "'");
  auto name = param.getAs<StringAttr>("name"), layout = param.getAs<StringAttr>("layout"),
       init = param.getAs<StringAttr>("init");
  if (!name || name.empty())
    return error("needs a name");
  if (!layout)
    return error("'" + name.getValue() + "' needs a layout");
  auto split = splitLayout(layout);
  if (!split || !sameLetters(joined(*split), minus(dims, "l")) ||
      joined(*split).size() != minus(dims, "l").size())
    return error("'" + name.getValue() + "' has layout \"" + layout.getValue() + "\" for dims \"" + dims +
                 "\"");
  if (dims.contains('l') != name.getValue().contains("{l}"))
    return error("'" + name.getValue() + "' must hold {l} if and only if its dims hold l");
  auto part = param.getAs<ArrayAttr>("part");
  auto isInt = [](Attribute a) { return isa<IntegerAttr>(a); };
  if (!part || part.size() != 3 || !llvm::all_of(part, isInt))
    return error("'" + name.getValue() + "' needs part = [dim, index, count]");
  auto at = [&](unsigned i) { return cast<IntegerAttr>(part[i]).getInt(); };
  if (at(0) < 0 || at(0) >= int64_t(split->size()) || at(1) < 0 || at(1) >= at(2))
    return error("'" + name.getValue() + "' has a part outside its layout");
  if (!init || !llvm::is_contained({"normal", "zero", "one"}, init.getValue()))
    return error("'" + name.getValue() + "' needs init = \"normal\", \"zero\" or \"one\"");
  auto std = param.getAs<FloatAttr>("std");
  if ((init.getValue() == "normal") != bool(std))
    return error("'" + name.getValue() + "' needs std if and only if init is \"normal\"");
  if (std && !(std::isfinite(std.getValueAsDouble()) && std.getValueAsDouble() > 0))
    return error("'" + name.getValue() + "' needs a finite std greater than 0");
  return success();
}

static LogicalResult verifyArgument(FunctionOpInterface fn, unsigned i, NamedAttribute attr) {
  Operation *op = fn;
  StringRef key = attr.getName().getValue();
  auto text = dyn_cast<StringAttr>(attr.getValue());
  if ((key == kName || key == kDims || key == kInput || key == kScalar) && !text)
    return op->emitOpError() << key << " must be a string";
  if (key == kName) {
    for (unsigned j = 0; j < i; ++j)
      if (argName(fn, j) == text.getValue())
        return op->emitOpError("has two arguments named '") << text.getValue() << "'";
    return success();
  }
  auto tensor = dyn_cast<RankedTensorType>(fn.getArgument(i).getType());
  if (key == kDims) {
    if (!tensor || tensor.getRank() != int64_t(text.size()) || !llvm::all_of(text.getValue(), llvm::isAlpha))
      return op->emitOpError("argument ") << i << " of type " << fn.getArgument(i).getType()
                                          << " has model.dims \"" << text.getValue() << "\"";
    for (char c : text.getValue())
      if (text.getValue().count(c) > 1)
        return op->emitOpError("argument ") << i << " has letter '" << Twine(c) << "' twice in model.dims";
    return success();
  }
  if (key == kRange)
    return success();
  if (key == kValid) {
    auto valid = dyn_cast<DictionaryAttr>(attr.getValue());
    StringRef dims = argDims(fn, i);
    for (NamedAttribute entry : valid ? valid : DictionaryAttr::get(op->getContext())) {
      auto extent = dyn_cast<IntegerAttr>(entry.getValue());
      size_t dim = entry.getName().size() == 1 ? dims.find(entry.getName().getValue()) : StringRef::npos;
      if (!extent || !tensor || dim >= size_t(tensor.getRank()) || extent.getInt() < 1 ||
          extent.getInt() >= tensor.getDimSize(dim))
        return op->emitOpError("argument ")
               << i << " has no padded letter " << entry.getName() << " = " << entry.getValue();
    }
    return valid ? success() : LogicalResult(op->emitOpError("model.valid must be a dictionary"));
  }
  if (!llvm::is_contained({StringRef(kInput), StringRef(kParam), StringRef(kState), StringRef(kScalar)}, key))
    return op->emitOpError("argument ") << i << " has the unknown attribute '" << key << "'";
  for (StringRef other : {kInput, kParam, kState, kScalar})
    if (other != key && fn.getArgAttr(i, other))
      return op->emitOpError("argument ") << i << " has two roles, " << key << " and " << other;
  if (argName(fn, i).empty() || !fn.getArgAttr(i, kDims))
    return op->emitOpError("argument ") << i << " has a role and no model.name or model.dims";
  if (key == kInput && text.getValue() != "tokens" && text.getValue() != "labels")
    return op->emitOpError("model.input must be \"tokens\" or \"labels\", not \"") << text.getValue() << "\"";
  if (key == kScalar && !llvm::is_contained({"lr", "c1", "c2"}, text.getValue()))
    return op->emitOpError("model.scalar must be \"lr\", \"c1\" or \"c2\", not \"")
           << text.getValue() << "\"";
  auto dictionary = dyn_cast<DictionaryAttr>(attr.getValue());
  if ((key == kParam || key == kState) && !dictionary)
    return op->emitOpError() << key << " must be a dictionary";
  if (key == kParam)
    return verifyParam(op, dictionary, argDims(fn, i));
  if (key == kState) {
    auto of = dictionary.getAs<StringAttr>("of"), kind = dictionary.getAs<StringAttr>("kind");
    if (!of || !kind || (kind.getValue() != "m" && kind.getValue() != "v"))
      return op->emitOpError("model.state must have of = NAME and kind = \"m\" or \"v\"");
    for (unsigned j = 0; j < fn.getNumArguments(); ++j)
      if (argName(fn, j) == of.getValue() && fn.getArgAttr(j, kParam)) {
        if (fn.getArgument(j).getType() == fn.getArgument(i).getType() && argDims(fn, j) == argDims(fn, i))
          return success();
        return op->emitOpError("model.state of '") << of.getValue() << "' differs from it in type or dims";
      }
    return op->emitOpError("model.state is of '") << of.getValue() << "', which is no parameter";
  }
  return success();
}

LogicalResult ModelDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned i,
                                                     NamedAttribute attr) {
  auto fn = dyn_cast<FunctionOpInterface>(op);
  if (!fn || fn.isExternal())
    return success();
  return verifyArgument(fn, i, attr);
}

LogicalResult ModelDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned i,
                                                        NamedAttribute attr) {
  if (attr.getName() != kName || !isa<StringAttr>(attr.getValue()))
    return op->emitOpError("result ")
           << i << " has '" << attr.getName().getValue() << "'; results carry model.name only, a string";
  return success();
}

LogicalResult ModelDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  if (attr.getName() != kNames)
    return success();
  auto names = dyn_cast<ArrayAttr>(attr.getValue());
  auto isName = [](Attribute a) { return isa<StringAttr>(a) && !cast<StringAttr>(a).empty(); };
  if (!names || names.size() != op->getNumResults() || !llvm::all_of(names, isName))
    return op->emitOpError("model.names must hold one name per result");
  return success();
}
