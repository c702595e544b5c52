//===- ranks.h - From a rank to its coordinates, class and peers ------------===//
//
// Pure arithmetic on the plan; nothing here depends on the number of ranks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/format/plan.h"

namespace hocket {

/// One coordinate per axis of the plan.
std::vector<uint32_t> coordinates(const format::Plan &plan, uint32_t rank);

/// The class that holds the rank; throws Error(1) when none does.
uint32_t classOf(const format::Plan &plan, uint32_t rank);

/// The rank at `delta` along the axis of pair communicator `communicator`;
/// throws Error(1) at the edge of the mesh.
uint32_t peer(const format::Plan &plan, uint32_t rank, uint32_t communicator, int32_t delta);

/// Coordinates on `axes` joined, major to minor.
uint64_t combined(const format::Plan &plan, const std::vector<uint32_t> &coordinates,
                  const std::vector<uint32_t> &axes);

/// Instructions that a list issues on one rank of the class: repeats unrolled,
/// Group and Repeat themselves not counted.
uint64_t unrolledCount(const format::ClassProgram &program, const std::vector<format::ListEntry> &list);

} // namespace hocket
