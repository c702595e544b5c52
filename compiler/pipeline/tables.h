//===- tables.h - Who goes when: the order tables of pipeline schedules -----===//
//
// Takes a schedule, a number of devices, chunks and micro-batches; gives each
// device's list of passes.  A schedule *is* its table: what simulates it, what
// prices it and what compiles it read the same lists.  Plain C++, no MLIR.
//
// A device holds `chunks` virtual stages.  Virtual stages are numbered in the
// order of the layers; chunk c of device d is stage c * devices + d, or, in the
// V-shaped schedules (two chunks), d and 2 * devices - 1 - d.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::pipeline {

enum class Schedule : uint8_t { GPipe, OneFOneB, Interleaved, ZbH1, ZbH2, ZbV, VHalf, DualPipeV };
inline constexpr size_t kSchedules = 8;

/// "gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "v-half", "dualpipe-v".
std::string_view name(Schedule schedule);
std::optional<Schedule> scheduleOf(std::string_view name);

/// Whether chunks lie in a V: the last device holds both middle stages.
bool isV(Schedule schedule);
/// Whether weight gradients are passes of their own.
bool splitsBackward(Schedule schedule);

enum class PassKind : uint8_t {
  Forward,
  Backward, ///< gradients of inputs and of weights
  Input,    ///< gradients of inputs only
  Weight,   ///< gradients of weights, of a micro-batch whose Input pass is done
  Pair,     ///< Forward of one micro-batch beside Backward of another chunk's
};

struct Pass {
  PassKind kind;
  int32_t chunk = 0, micro = 0;
  int32_t backChunk = 0, backMicro = 0; ///< of Pair
  bool operator==(const Pass &) const = default;
};

/// What each device runs, in order.
using Tables = std::vector<std::vector<Pass>>;

struct Shape {
  Schedule schedule = Schedule::OneFOneB;
  int64_t devices = 1, chunks = 1, micro = 1;
};

/// Why a schedule cannot have this shape, with the legal values; "" if it can.
std::string illegal(const Shape &shape);

/// Of a legal shape.  Backward and Input passes of a chunk go in micro-batch
/// order, Weight passes too, so that sums over micro-batches are the same bits
/// under every schedule.
Tables tables(const Shape &shape);

/// Virtual stage of a device's chunk.
inline int64_t stageOf(const Shape &shape, int64_t device, int64_t chunk) {
  if (isV(shape.schedule) && chunk == 1)
    return 2 * shape.devices - 1 - device;
  return chunk * shape.devices + device;
}

} // namespace hocket::pipeline
