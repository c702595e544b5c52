//===- shards.h - Checkpoint tensors and the shards that hold them ----------===//
//
// A plan's parameters live as shards in the ranks' arenas, in the plan's own
// dimensions; a checkpoint holds whole tensors in its own layout.  Both are
// row-major, so each shard is an affine image: worked case, layout "h(grd)",
// part 1 of 3 along dimension 1, global h=4 g=2 r=1 d=3: the tensor is [4, 18],
// strides h 18, g 3, r 3, d 1, base 6.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

#include <cstddef>
#include <span>

namespace hocket::checkpoint {

enum class What { Value, Gradient, Moment1, Moment2 };

/// A checkpoint tensor and the parameters (with a layer) that make it up.
struct Tensor {
  struct Piece {
    uint32_t param = 0, layer = 0;
  };
  std::string name;
  format::DType dtype = format::DType::F32;
  std::vector<uint64_t> shape;
  std::vector<Piece> pieces;
  uint64_t elements() const {
    uint64_t n = 1;
    for (uint64_t d : shape)
      n *= d;
    return n;
  }
};

/// All checkpoint tensors of a plan, by name.  Throws Error(1) when a layout and
/// its parameter contradict each other.
std::vector<Tensor> tensorsOf(const format::Plan &plan);

/// All ranks' arenas, while nothing runs on them.
class Arenas {
public:
  virtual void read(uint32_t rank, uint64_t offset, std::span<std::byte> to) const = 0;
  virtual void write(uint32_t rank, uint64_t offset, std::span<const std::byte> from) = 0;

protected:
  ~Arenas() = default;
};

/// Fills `out` (elements of the tensor's dtype) from the owners' shards; padding is dropped.
void gather(const format::Plan &plan, const Tensor &tensor, What what, const Arenas &arenas,
            std::span<uint8_t> out);

/// Writes the tensor into every shard of it, tied copies included; padding becomes 0.
void scatter(const format::Plan &plan, const Tensor &tensor, What what, Arenas &arenas,
             std::span<const double> values);

} // namespace hocket::checkpoint
