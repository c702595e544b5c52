//===- VerifyImport.cpp - What import promises ------------------------------===//
//
// What one attribute may hold is the dialect's; here is what all of them
// together must say.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Passes.h"
#include "dialects/model/Param.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace hocket::model;

namespace hocket {
#define GEN_PASS_DEF_VERIFYIMPORTPASS
#include "compiler/import/Passes.h.inc"

namespace {

constexpr StringLiteral kLetters = "bsthgrdfvpl";

/// Names, letters and extents.
LogicalResult verifyArguments(func::FuncOp fn) {
  std::map<char, int64_t> extents;
  for (unsigned i = 0; i < fn.getNumArguments(); ++i) {
    auto type = dyn_cast<RankedTensorType>(fn.getArgument(i).getType());
    if (!type || type.getEncoding())
      return fn.emitOpError("argument ")
             << i << " is no tensor on one device: " << fn.getArgument(i).getType();
    if (argName(fn, i).empty() || !fn.getArgAttr(i, kDims))
      return fn.emitOpError("argument ") << i << " has no model.name or no model.dims";
    for (auto [d, letter] : llvm::enumerate(argDims(fn, i))) {
      if (!kLetters.contains(letter))
        return fn.emitOpError("argument '")
               << argName(fn, i) << "' has the letter '" << Twine(letter) << "'; letters are " << kLetters;
      auto [it, fresh] = extents.emplace(letter, type.getDimSize(d));
      if (!fresh && it->second != type.getDimSize(d))
        return fn.emitOpError("argument '")
               << argName(fn, i) << "' has extent " << type.getDimSize(d) << " of '" << Twine(letter)
               << "', elsewhere it is " << it->second;
    }
  }
  return success();
}

/// Each part of a checkpoint's tensor is one parameter.
LogicalResult verifyParts(func::FuncOp loss) {
  std::map<std::string, std::pair<int64_t, std::set<int64_t>>> tensors; // name -> (count, parts)
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    std::optional<Param> param = Param::of(loss, i);
    if (!param)
      continue;
    auto &[count, parts] = tensors[param->name];
    if (!parts.empty() && count != param->count)
      return loss.emitOpError("has '")
             << param->name << "' in " << count << " and in " << param->count << " parts";
    count = param->count;
    if (!parts.insert(param->index).second)
      return loss.emitOpError("has part ") << param->index << " of '" << param->name << "' twice";
  }
  for (auto &[name, tensor] : tensors)
    if (int64_t(tensor.second.size()) != tensor.first)
      return loss.emitOpError("has ")
             << tensor.second.size() << " of the " << tensor.first << " parts of '" << name << "'";
  return success();
}

LogicalResult verifyLoss(func::FuncOp loss) {
  std::map<std::string, unsigned> inputs;
  for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
    for (StringRef later : {kState, kScalar})
      if (loss.getArgAttr(i, later))
        return loss.emitOpError("argument '")
               << argName(loss, i) << "' is a " << later << ", which differentiate adds";
    auto input = loss.getArgAttrOfType<StringAttr>(i, kInput);
    if (!input && !loss.getArgAttr(i, kParam))
      return loss.emitOpError("argument '") << argName(loss, i) << "' has no role";
    if (input && ++inputs[input.str()] > 1)
      return loss.emitOpError("takes ") << input << " twice";
  }
  for (StringRef input : {"tokens", "labels"})
    if (!inputs.count(input.str()))
      return loss.emitOpError("takes no ") << input;
  auto result = loss.getNumResults() == 1 ? dyn_cast<RankedTensorType>(loss.getResultTypes()[0]) : nullptr;
  if (!result || result.getRank() != 0)
    return loss.emitOpError("must give one scalar, the loss");
  return verifyParts(loss);
}

struct VerifyImportPass : impl::VerifyImportPassBase<VerifyImportPass> {
  void runOnOperation() override {
    if (failed(verify()))
      signalPassFailure();
  }

  LogicalResult verify() {
    ModuleOp module = getOperation();
    auto loss = module.lookupSymbol<func::FuncOp>("loss");
    if (!loss || loss.isExternal())
      return module.emitError("has no @loss");
    for (Operation &op : *module.getBody()) {
      auto fn = dyn_cast<func::FuncOp>(op);
      if (!fn || fn.isExternal())
        return op.emitOpError("is not a function with a body; import leaves nothing else");
      if (failed(verifyArguments(fn)))
        return failure();
      for (unsigned i = 0; fn != loss && i < fn.getNumArguments(); ++i)
        for (StringRef role : {kInput, kParam, kState, kScalar})
          if (fn.getArgAttr(i, role))
            return fn.emitOpError("argument '")
                   << argName(fn, i) << "' has the role " << role << "; only arguments of @loss have one";
    }
    return verifyLoss(loss);
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyImportPass() { return std::make_unique<VerifyImportPass>(); }

} // namespace hocket
