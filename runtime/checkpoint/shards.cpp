#include "runtime/checkpoint/shards.h"

#include "runtime/error.h"
#include "runtime/ranks.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace hocket::checkpoint {

using format::DType;
using format::Param;
using format::Plan;

namespace {

/// The checkpoint side of one parameter.
struct Layout {
  std::vector<uint64_t> shape;
  std::vector<uint64_t> stride; ///< per parameter dimension, in checkpoint elements
  uint64_t base = 0;
};

[[noreturn]] void contradiction(const Param &p, const std::string &what) {
  throw Error(kExitNo, "parameter '" + p.id + "' with layout '" + p.layout + "': " + what);
}

std::vector<std::string> groups(const Param &p) {
  std::vector<std::string> result;
  bool open = false;
  for (char c : p.layout) {
    if (c == '(' && !open) {
      open = true;
      result.emplace_back();
    } else if (c == ')' && open) {
      open = false;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      if (open)
        result.back() += c;
      else
        result.emplace_back(1, c);
    } else {
      contradiction(p, std::string("unexpected '") + c + "'");
    }
  }
  if (open)
    contradiction(p, "unclosed group");
  return result;
}

Layout layoutOf(const Param &p) {
  std::vector<std::string> parts = groups(p);
  std::map<char, size_t> dimension;
  for (size_t i = 0; i < p.dims.size(); ++i)
    if (!dimension.emplace(p.dims[i].letter, i).second)
      contradiction(p, std::string("letter ") + p.dims[i].letter + " occurs twice in the dimensions");
  size_t letters = 0;
  Layout result;
  result.stride.assign(p.dims.size(), 0);
  auto fits = [&](uint64_t a, uint64_t b) {
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product) || product > uint64_t(1) << 60)
      contradiction(p, "the tensor is too large");
    return product;
  };
  uint64_t stride = 1;
  for (size_t g = parts.size(); g-- > 0;) {
    uint64_t extent = 1;
    for (size_t i = parts[g].size(); i-- > 0;) {
      auto it = dimension.find(parts[g][i]);
      if (it == dimension.end() || result.stride[it->second])
        contradiction(p, std::string("letter ") + parts[g][i] + " is no dimension, or occurs twice");
      ++letters;
      result.stride[it->second] = fits(stride, extent);
      extent = fits(extent, p.dims[it->second].global);
    }
    if (p.partCount > 1 && p.partDim == g) {
      result.base = fits(fits(p.partIndex, extent), stride);
      extent = fits(extent, p.partCount);
    }
    result.shape.insert(result.shape.begin(), extent);
    stride = fits(stride, extent);
  }
  if (letters != p.dims.size())
    contradiction(p, "not every dimension occurs in the layout");
  if (p.partCount == 0 || p.partIndex >= p.partCount || (p.partCount > 1 && p.partDim >= parts.size()))
    contradiction(p, "part " + std::to_string(p.partIndex) + " of " + std::to_string(p.partCount) +
                         " is not possible");
  return result;
}

std::string nameOf(const Param &p, uint32_t layer) {
  std::string name = p.name;
  if (size_t at = name.find("{l}"); p.stacked && at != std::string::npos)
    name.replace(at, 3, std::to_string(layer));
  return name;
}

const format::Operand &operandOf(const Param &p, What what) {
  switch (what) {
  case What::Gradient:
    return p.gradient;
  case What::Moment1:
    return p.moment1;
  case What::Moment2:
    return p.moment2;
  default:
    return p.value;
  }
}

/// Calls visit(local element, checkpoint element or -1 for padding) over the shard
/// that the rank at `at` holds.
template <class Visit>
void walk(const Plan &plan, const Param &p, const Layout &layout, const std::vector<uint32_t> &at,
          Visit visit) {
  size_t n = p.dims.size();
  std::vector<uint64_t> first(n), index(n, 0);
  uint64_t count = 1;
  for (size_t d = 0; d < n; ++d) {
    first[d] = combined(plan, at, p.dims[d].axes) * p.dims[d].local;
    count *= p.dims[d].local;
  }
  for (uint64_t local = 0; local < count; ++local) {
    int64_t target = static_cast<int64_t>(layout.base);
    for (size_t d = 0; d < n; ++d) {
      uint64_t global = first[d] + index[d];
      if (global >= p.dims[d].global) {
        target = -1;
        break;
      }
      target += static_cast<int64_t>(global * layout.stride[d]);
    }
    visit(local, target);
    for (size_t d = n; d-- > 0;) {
      if (++index[d] < p.dims[d].local)
        break;
      index[d] = 0;
    }
  }
}

/// Calls visit(param, rank, offset of the shard in its arena, coordinates) for the shards of a tensor.
template <class Visit>
void forShards(const Plan &plan, const Tensor &tensor, What what, Visit visit) {
  for (const Tensor::Piece &piece : tensor.pieces) {
    const Param &p = plan.params[piece.param];
    const format::Operand &o = operandOf(p, what);
    const format::Region &region = plan.classes[p.classIndex].regions[o.index];
    uint64_t offset = region.offset + static_cast<uint64_t>(o.offset) +
                      (p.stacked ? (piece.layer - p.layerBegin) * region.layerStride : 0);
    for (uint32_t r = 0; r < plan.ranks(); ++r)
      if (classOf(plan, r) == p.classIndex)
        visit(p, r, offset, coordinates(plan, r));
  }
}

/// Bytes of a shard: it lies in one piece.
uint64_t shardBytes(const Param &p) {
  uint64_t bytes = format::sizeOf(p.dtype);
  for (const format::ParamDim &d : p.dims)
    bytes *= d.local;
  return bytes;
}

/// Among equal copies one is read: the one at the class's first coordinate on
/// every axis that does not shard the parameter.
bool isFirstCopy(const Plan &plan, const Param &p, const std::vector<uint32_t> &at) {
  const format::ClassProgram &program = plan.classes[p.classIndex];
  for (uint32_t a = 0; a < at.size(); ++a) {
    bool shards = false;
    for (const format::ParamDim &d : p.dims)
      shards |= std::find(d.axes.begin(), d.axes.end(), a) != d.axes.end();
    if (!shards && at[a] != program.first[a])
      return false;
  }
  return true;
}

} // namespace

std::vector<Tensor> tensorsOf(const Plan &plan) {
  std::map<std::string, Tensor> byName;
  for (uint32_t i = 0; i < plan.params.size(); ++i) {
    const Param &p = plan.params[i];
    Layout layout = layoutOf(p);
    for (uint32_t l = p.stacked ? p.layerBegin : 0; l < (p.stacked ? p.layerEnd : 1); ++l) {
      Tensor &t = byName[nameOf(p, l)];
      if (t.pieces.empty()) {
        t.name = nameOf(p, l);
        t.dtype = p.dtype;
        t.shape = layout.shape;
      } else if (t.shape != layout.shape || t.dtype != p.dtype) {
        contradiction(p, "another parameter gives '" + t.name + "' a different shape or type");
      }
      t.pieces.push_back({i, l});
    }
  }
  std::vector<Tensor> result;
  for (auto &[name, tensor] : byName)
    result.push_back(std::move(tensor));
  return result;
}

void gather(const Plan &plan, const Tensor &tensor, What what, const Arenas &arenas, std::span<uint8_t> out) {
  uint64_t size = format::sizeOf(tensor.dtype);
  std::vector<std::byte> shard;
  forShards(plan, tensor, what,
            [&](const Param &p, uint32_t rank, uint64_t offset, const std::vector<uint32_t> &at) {
              if (!p.owner || !isFirstCopy(plan, p, at))
                return;
              shard.resize(shardBytes(p));
              arenas.read(rank, offset, shard);
              walk(plan, p, layoutOf(p), at, [&](uint64_t local, int64_t target) {
                if (target >= 0)
                  std::memcpy(out.data() + static_cast<uint64_t>(target) * size, shard.data() + local * size,
                              size);
              });
            });
}

void scatter(const Plan &plan, const Tensor &tensor, What what, Arenas &arenas,
             std::span<const double> values) {
  std::vector<std::byte> shard;
  forShards(plan, tensor, what,
            [&](const Param &p, uint32_t rank, uint64_t offset, const std::vector<uint32_t> &at) {
              shard.resize(shardBytes(p));
              walk(plan, p, layoutOf(p), at, [&](uint64_t local, int64_t target) {
                double value = target < 0 ? 0 : values[static_cast<uint64_t>(target)];
                if (p.dtype == DType::F64)
                  std::memcpy(shard.data() + local * 8, &value, 8);
                else {
                  auto narrow = static_cast<float>(value);
                  std::memcpy(shard.data() + local * 4, &narrow, 4);
                }
              });
              arenas.write(rank, offset, shard);
            });
}

} // namespace hocket::checkpoint
