#include "compiler/pipeline/tables.h"

#include <algorithm>
#include <array>

namespace hocket::pipeline {

namespace {

constexpr std::array<std::string_view, kSchedules> kNames = {
    "gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "v-half", "dualpipe-v"};

/// Counts passes of each kind and chunk as they are appended to one device's list.
struct Writer {
  std::vector<Pass> list;
  std::array<int32_t, 2> f{}, b{}, w{};

  void forward(uint8_t c) { list.push_back({PassKind::Forward, c, f[c]++}); }
  void backward(uint8_t c) { list.push_back({PassKind::Backward, c, b[c]++}); }
  void input(uint8_t c) { list.push_back({PassKind::Input, c, b[c]++}); }
  void weight(uint8_t c) { list.push_back({PassKind::Weight, c, w[c]++}); }
  void inputWeight(uint8_t c) { input(c), weight(c); }
};

/// 1F1B with `ahead` forward passes before the first backward pass; GPipe is
/// the same with all ahead.
std::vector<Pass> oneFOneB(int64_t ahead, int64_t micro) {
  Writer out;
  ahead = std::min(ahead, micro);
  for (int64_t k = 0; k < ahead; ++k)
    out.forward(0);
  for (int64_t k = ahead; k < micro; ++k)
    out.forward(0), out.backward(0);
  for (int64_t k = micro - ahead; k < micro; ++k)
    out.backward(0);
  return out.list;
}

/// Micro-batches go round the chunks in groups of one a device (Narayanan et
/// al., arXiv 2104.04473); `device` runs 2 (devices - 1 - device) + (chunks - 1)
/// devices forward passes ahead.
std::vector<Pass> interleaved(const Shape &s, int64_t device) {
  int64_t total = s.micro * s.chunks, round = s.devices * s.chunks;
  auto at = [&](PassKind kind, int64_t k) {
    int64_t chunk = k % round / s.devices, micro = k / round * s.devices + k % s.devices;
    return Pass{kind, int32_t(kind == PassKind::Forward ? chunk : s.chunks - 1 - chunk), int32_t(micro)};
  };
  int64_t ahead = std::min(total, 2 * (s.devices - 1 - device) + (s.chunks - 1) * s.devices);
  std::vector<Pass> list;
  for (int64_t k = 0; k < ahead; ++k)
    list.push_back(at(PassKind::Forward, k));
  for (int64_t k = 0; k < total; ++k) {
    if (ahead + k < total)
      list.push_back(at(PassKind::Forward, ahead + k));
    list.push_back(at(PassKind::Backward, k));
  }
  return list;
}

/// Zero-bubble schedules of one chunk (Qi et al., arXiv 2401.10241): device i
/// runs `factor` (p - 1 - i) forward passes ahead and keeps `factor` i weight
/// passes back, which fill the end.  H1 begins weight passes once forward
/// passes have none to spare; factor 2 is H2.
std::vector<Pass> zeroBubble(const Shape &s, int64_t device, int64_t factor) {
  Writer out;
  int64_t ahead = std::min(s.micro, factor * (s.devices - 1 - device)), back = factor * device;
  for (int64_t k = 0; k < ahead; ++k)
    out.forward(0);
  while (out.b[0] < s.micro) {
    if (out.f[0] < s.micro)
      out.forward(0);
    out.input(0);
    if (out.b[0] - 1 - back >= out.w[0])
      out.weight(0);
  }
  while (out.w[0] < s.micro)
    out.weight(0);
  return out.list;
}

/// ZB-V (Qi et al., arXiv 2405.15362; the phases as PyTorch's
/// ScheduleZBVZeroBubble has them), for at least 2 devices - 1 micro-batches.
std::vector<Pass> zbV(int64_t devices, int64_t rank, int64_t micro) {
  Writer out;
  for (int64_t k = 0; k < 2 * (devices - rank) - 1; ++k)
    out.forward(0);
  for (int64_t k = 0; k < rank; ++k)
    out.forward(1), out.forward(0);
  for (int64_t k = 0; k < devices - rank; ++k)
    out.forward(1), out.inputWeight(1);
  while (out.f[1] < out.f[0] || out.f[0] < micro) {
    if (out.f[0] < micro)
      out.forward(0);
    out.inputWeight(0);
    out.forward(1);
    out.inputWeight(1);
  }
  for (int64_t k = 0; k < rank; ++k)
    out.input(0), out.input(1);
  for (int64_t k = 0; k < devices - rank; ++k)
    out.input(0), out.weight(0);
  for (uint8_t c : {1, 0})
    while (out.w[c] < out.b[c])
      out.weight(c);
  return out.list;
}

/// One building block repeated every six units (arXiv 2405.15362, section 4):
/// passes of one micro-batch follow each other at 3/2 units a device on the
/// average, so that a device holds half of what 1F1B holds; each takes the
/// first unit that this device's block has free.
std::vector<std::vector<Pass>> vHalf(int64_t devices, int64_t micro) {
  std::vector<std::array<bool, 6>> taken(size_t(devices), std::array<bool, 6>{});
  struct Slot {
    int64_t time;
    Pass pass;
  };
  std::vector<std::vector<Slot>> block{size_t(devices)};
  auto place = [&](int64_t device, int64_t from, Pass pass) {
    while (taken[size_t(device)][size_t(from % 6)])
      ++from;
    taken[size_t(device)][size_t(from % 6)] = true;
    block[size_t(device)].push_back({from, pass});
    return from;
  };
  int64_t last = -1;
  for (int64_t k = 0; k < 4 * devices; ++k) {
    int64_t leg = k / devices, along = k % devices, device = leg % 2 ? devices - 1 - along : along;
    bool back = leg >= 2;
    int32_t chunk = leg == 1 || leg == 2;
    last = place(device, std::max(last + 1, (3 * k + 1) / 2),
                 {back ? PassKind::Input : PassKind::Forward, chunk, 0});
  }
  std::vector<std::vector<Pass>> lists;
  for (int64_t d = 0; d < devices; ++d) {
    for (size_t k : {2u, 3u}) { // Input of chunk 1, of chunk 0
      Slot input = block[size_t(d)][k];
      place(d, input.time + 1, {PassKind::Weight, input.pass.chunk, 0});
    }
    std::vector<Slot> all;
    for (int64_t m = 0; m < micro; ++m)
      for (Slot slot : block[size_t(d)]) {
        slot.time += 6 * m;
        slot.pass.micro = int32_t(m);
        all.push_back(slot);
      }
    std::sort(all.begin(), all.end(), [](const Slot &a, const Slot &b) { return a.time < b.time; });
    std::vector<Pass> list;
    for (const Slot &slot : all)
      list.push_back(slot.pass);
    lists.push_back(std::move(list));
  }
  return lists;
}

/// DualPipe cut in half (DeepSeek's DualPipeV): the two directions are the two
/// legs of a V.  The steps are named as there, for at least 2 devices micro-batches.
std::vector<Pass> dualPipeV(int64_t devices, int64_t rank, int64_t micro) {
  Writer out;
  std::vector<Pass> weights; // of Input passes, first in first out
  size_t nextWeight = 0;
  auto input = [&](uint8_t c) {
    out.input(c);
    weights.push_back({PassKind::Weight, c, out.list.back().micro});
  };
  auto weight = [&] { out.list.push_back(weights[nextWeight++]); };
  auto back = [&](uint8_t c, bool split) { split ? input(c) : out.backward(c); };
  auto pair = [&](uint8_t f, uint8_t b) {
    out.list.push_back({PassKind::Pair, f, out.f[f]++, b, out.b[b]++});
  };
  int64_t behind = devices - rank - 1;
  for (int64_t k = 0; k < 2 * behind; ++k) // 1: F0
    out.forward(0);
  for (int64_t k = 0; k <= rank; ++k) // 2: F0 F1
    out.forward(0), out.forward(1);
  for (int64_t k = 0; k < behind; ++k) // 3: I1 W1 F1
    input(1), weight(), out.forward(1);
  for (int64_t k = 0; k < micro - 2 * devices + rank + 1; ++k) { // 4: F0|B1 F1|B0
    if (k == 0 && rank == devices - 1)
      out.forward(0), out.backward(1);
    else
      pair(0, 1);
    pair(1, 0);
  }
  for (int64_t k = 0; k < behind; ++k) // 5: B1 F1|B0
    out.backward(1), pair(1, 0);
  bool split = false;
  for (int64_t k = 0; k <= rank; ++k) { // 6: B1 B0, the second half split
    split |= k == (rank + 1) / 2 && rank % 2 == 1;
    back(1, split);
    split |= k == (rank + 1) / 2 && rank % 2 == 0;
    back(0, split);
  }
  for (int64_t k = 0; k < behind; ++k) // 7: W I0
    weight(), input(0);
  while (nextWeight < weights.size()) // 8: W
    weight();
  return out.list;
}

/// The passes of micro-batches below `micro`: what is left of a longer run
/// keeps its order and waits for less.
std::vector<Pass> firstMicros(const std::vector<Pass> &list, int64_t micro) {
  std::vector<Pass> kept;
  for (Pass p : list) {
    bool front = p.micro < micro, back = p.kind == PassKind::Pair && p.backMicro < micro;
    if (p.kind == PassKind::Pair && front != back)
      p = front ? Pass{PassKind::Forward, p.chunk, p.micro}
                : Pass{PassKind::Backward, p.backChunk, p.backMicro};
    if (front || back)
      kept.push_back(p);
  }
  return kept;
}

} // namespace

std::string_view name(Schedule schedule) { return kNames[size_t(schedule)]; }

std::optional<Schedule> scheduleOf(std::string_view name) {
  for (size_t i = 0; i < kSchedules; ++i)
    if (kNames[i] == name)
      return Schedule(i);
  return std::nullopt;
}

bool isV(Schedule schedule) {
  return schedule == Schedule::ZbV || schedule == Schedule::VHalf || schedule == Schedule::DualPipeV;
}

bool splitsBackward(Schedule schedule) { return schedule >= Schedule::ZbH1; }

std::string illegal(const Shape &s) {
  auto is = [&](const std::string &what) { return std::string(name(s.schedule)) + " needs " + what; };
  if (s.devices < 1 || s.chunks < 1 || s.micro < 1)
    return is("at least one device, chunk and micro-batch");
  if (isV(s.schedule) && s.chunks != 2)
    return is("2 chunks, not " + std::to_string(s.chunks));
  if (s.schedule == Schedule::Interleaved) {
    if (s.chunks < 2)
      return is("2 chunks or more");
    if (s.micro % s.devices)
      return is("micro-batches in multiples of its " + std::to_string(s.devices) + " stages, not " +
                std::to_string(s.micro));
  } else if (!isV(s.schedule) && s.chunks != 1) {
    return is("1 chunk, not " + std::to_string(s.chunks));
  }
  return "";
}

Tables tables(const Shape &s) {
  if (s.schedule == Schedule::VHalf)
    return vHalf(s.devices, s.micro);
  Tables result;
  for (int64_t d = 0; d < s.devices; ++d) {
    switch (s.schedule) {
    case Schedule::GPipe:
      result.push_back(oneFOneB(s.micro, s.micro));
      break;
    case Schedule::OneFOneB:
      result.push_back(oneFOneB(s.devices - 1 - d, s.micro));
      break;
    case Schedule::Interleaved:
      result.push_back(interleaved(s, d));
      break;
    case Schedule::ZbH1:
    case Schedule::ZbH2:
      result.push_back(zeroBubble(s, d, s.schedule == Schedule::ZbH1 ? 1 : 2));
      break;
    case Schedule::ZbV:
      result.push_back(firstMicros(zbV(s.devices, d, std::max(s.micro, 2 * s.devices - 1)), s.micro));
      break;
    case Schedule::DualPipeV:
      result.push_back(firstMicros(dualPipeV(s.devices, d, std::max(s.micro, 2 * s.devices)), s.micro));
      break;
    case Schedule::VHalf:
      break;
    }
  }
  return result;
}

} // namespace hocket::pipeline
