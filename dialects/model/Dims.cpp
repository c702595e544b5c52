#include "dialects/model/Dims.h"
#include "dialects/model/Model.h"

using namespace mlir;

namespace hocket::model {

static void split(llvm::StringRef text, llvm::SmallVectorImpl<std::string> &out) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ',');
  for (llvm::StringRef part : parts)
    out.push_back(part.str());
}

Dims Dims::parse(llvm::StringRef text) {
  Dims dims;
  auto [left, right] = text.split("->");
  if (!left.empty())
    split(left, dims.operands);
  split(right, dims.results);
  return dims;
}

std::string Dims::str() const {
  return llvm::join(operands, ",") + "->" + llvm::join(results, ",");
}

static void addLetters(std::string &set, llvm::StringRef letters) {
  for (char c : letters)
    if (set.find(c) == std::string::npos)
      set += c;
}

std::string Dims::all() const {
  std::string set;
  for (const std::string &o : operands)
    addLetters(set, o);
  for (const std::string &r : results)
    addLetters(set, r);
  return set;
}

std::string Dims::reduced() const {
  std::string in, kept, out;
  for (const std::string &o : operands)
    addLetters(in, o);
  for (const std::string &r : results)
    addLetters(kept, r);
  for (char c : in)
    if (kept.find(c) == std::string::npos)
      out += c;
  return out;
}

std::map<char, int64_t> extents(Operation *op, const Dims &dims) {
  std::map<char, int64_t> result;
  auto read = [&](ValueRange values, llvm::ArrayRef<std::string> letters) {
    for (auto [value, name] : llvm::zip(values, letters))
      if (auto type = dyn_cast<RankedTensorType>(value.getType()))
        for (auto [c, n] : llvm::zip(name, type.getShape()))
          result.emplace(c, n);
  };
  read(op->getOperands(), dims.operands);
  read(op->getResults(), dims.results);
  return result;
}

double defaultFlops(Operation *op) {
  auto letters = dyn_cast<LetterOp>(op);
  if (!letters)
    return 0;
  Dims dims = letters.getLetters();
  double product = 1;
  for (auto [c, n] : extents(op, dims))
    product *= double(n);
  if (isa<DotOp>(op))
    return 2 * product;
  if (auto map = dyn_cast<MapOp>(op))
    return product * double(std::max<size_t>(1, map.getBody().front().getOperations().size() - 1));
  return product;
}

} // namespace hocket::model
