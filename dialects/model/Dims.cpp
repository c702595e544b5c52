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

std::string Dims::str() const { return llvm::join(operands, ",") + "->" + llvm::join(results, ","); }

Dims Dims::of(Operation *op, llvm::StringRef text) {
  Dims dims = parse(text);
  while (dims.operands.size() < op->getNumOperands())
    dims.operands.emplace_back();
  return dims;
}

std::string intersect(llvm::StringRef a, llvm::StringRef b) {
  std::string out;
  for (char c : a)
    if (b.contains(c))
      out += c;
  return out;
}

std::string minus(llvm::StringRef a, llvm::StringRef b) {
  std::string out;
  for (char c : a)
    if (!b.contains(c))
      out += c;
  return out;
}

std::string unite(llvm::StringRef a, llvm::StringRef b) { return a.str() + minus(b, a); }

bool sameLetters(llvm::StringRef a, llvm::StringRef b) { return minus(a, b).empty() && minus(b, a).empty(); }

std::string Dims::all() const {
  std::string set;
  for (const std::string &o : operands)
    set = unite(set, o);
  for (const std::string &r : results)
    set = unite(set, r);
  return set;
}

std::string Dims::reduced() const {
  std::string in, kept;
  for (const std::string &o : operands)
    in = unite(in, o);
  for (const std::string &r : results)
    kept = unite(kept, r);
  return minus(in, kept);
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
