#include "compiler/kernels/recipe.h"

namespace hocket::kernels {

std::map<char, int64_t> stridesOf(llvm::StringRef letters, llvm::ArrayRef<int64_t> shape) {
  std::map<char, int64_t> result;
  int64_t stride = 1;
  for (size_t d = letters.size(); d-- > 0;) {
    result[letters[d]] += stride;
    stride *= shape[d];
  }
  return result;
}

std::vector<Dim> coalesce(llvm::StringRef order, const std::map<char, int64_t> &extents,
                          llvm::ArrayRef<std::map<char, int64_t>> strides) {
  std::vector<Dim> dims;
  for (char letter : order) {
    Dim dim;
    dim.extent = extents.at(letter);
    if (dim.extent == 1)
      continue;
    for (const auto &operand : strides) {
      auto it = operand.find(letter);
      dim.strides.push_back(it == operand.end() ? 0 : it->second);
    }
    bool merges = !dims.empty();
    for (size_t o = 0; merges && o < strides.size(); ++o)
      merges = dims.back().strides[o] == dim.strides[o] * dim.extent;
    if (merges) {
      dims.back().extent *= dim.extent;
      dims.back().strides = dim.strides;
    } else {
      dims.push_back(dim);
    }
  }
  return dims;
}

X offsetAt(Code &c, llvm::ArrayRef<Dim> dims, llvm::ArrayRef<X> indices, unsigned o) {
  X offset = c.index(0);
  for (auto [dim, i] : llvm::zip(dims, indices))
    if (dim.strides[o])
      offset = offset + i * dim.strides[o];
  return offset;
}

Xs delinearize(Code &c, X linear, llvm::ArrayRef<Dim> dims) {
  Xs indices(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    if (d == 0) {
      indices[0] = linear;
      break;
    }
    indices[d] = linear % dims[d].extent;
    linear = linear / dims[d].extent;
  }
  return indices;
}

} // namespace hocket::kernels
