#include "runtime/exec/issue.h"

#include "runtime/error.h"
#include "runtime/ranks.h"

#include <algorithm>
#include <bit>

namespace hocket::exec {

using format::Instr;
using format::Op;
using format::Operand;
using format::OperandKind;

Issuer::Issuer(const format::Plan &p, uint32_t r, device::Device &d, comm::Communicator &c, device::Fault &f,
               const uint64_t *s, uint64_t *const *m)
    : plan(p), program(p.classes[classOf(p, r)]), rank(r), device(d), communicator(c), fault(f), scalars(s),
      metrics(m) {
  std::vector<uint32_t> at = coordinates(plan, rank);
  for (const format::Affine &a : plan.affines) {
    int64_t base = a.constant;
    for (size_t i = 0; i < a.coordinate.size(); ++i)
      base += a.coordinate[i] * at[i];
    affineBase.push_back(base);
  }
  recorded.assign(program.events, 0);
  for (uint32_t e : program.firstUse)
    recorded[e] = 1;
  size_t most = 0;
  for (const Instr &i : program.instrs)
    most = std::max<size_t>(most, i.operandCount);
  arguments.resize(most);
}

void Issuer::run(const std::vector<format::ListEntry> &list) {
  for (const format::ListEntry &entry : list) {
    const format::Template &t = program.templates[entry.templateIndex];
    range(t.first, t.count, {&entry, 0});
    if (fault.raised())
      return;
  }
}

void Issuer::range(uint32_t first, uint32_t count, At at) {
  for (uint32_t i = first; i < first + count; ++i) {
    const Instr &instr = program.instrs[i];
    auto body = static_cast<uint32_t>(instr.arg);
    if (instr.op == Op::Repeat) {
      for (int64_t l = instr.from; l != instr.to && !fault.raised(); l += instr.step)
        range(i + 1, body, {at.entry, l});
      i += body;
    } else if (instr.op == Op::Group) {
      group(i + 1, body, at);
      i += body;
    } else {
      instruction(instr, at);
    }
  }
}

std::byte *Issuer::address(const Operand &o, At at) const {
  const format::Region &region = program.regions[o.index];
  uint64_t offset = region.offset + static_cast<uint64_t>(o.offset);
  if (unsigned slot = o.flags & format::kSlotMask)
    offset += at.entry->slot[slot - 1] * region.slotStride;
  if (o.flags & format::kLayered)
    offset += static_cast<uint64_t>(at.layer) * region.layerStride;
  if (o.flags & format::kMicro)
    offset += at.entry->micro * region.microStride;
  return device.arena() + offset;
}

device::Argument Issuer::argument(const Operand &o, At at) const {
  switch (o.kind) {
  case OperandKind::Region:
    return {address(o, at), 0, false};
  case OperandKind::Constant:
    return {nullptr, o.offset, true};
  case OperandKind::Affine: {
    const format::Affine &a = plan.affines[o.index];
    return {nullptr, affineBase[o.index] + a.layer * at.layer + a.micro * int64_t(at.entry->micro), true};
  }
  case OperandKind::Scalar:
    return {nullptr, std::bit_cast<int64_t>(scalars[o.index]), true};
  }
  return {};
}

comm::Transfer Issuer::transfer(const Instr &i, At at) const {
  return {i.op == Op::Send, i.index, i.arg, address(program.operands[i.firstOperand], at), i.bytes, i.name};
}

uint32_t Issuer::event(const Instr &i, At at) const {
  return i.index + (i.flags ? at.entry->slot[i.flags - 1] : 0);
}

void Issuer::group(uint32_t first, uint32_t count, At at) {
  comm::Transfer transfers[comm::kMaxGroup];
  for (uint32_t i = 0; i < count; ++i)
    transfers[i] = transfer(program.instrs[first + i], at);
  if (count)
    communicator.exchange(device.stream(program.instrs[first].stream), {transfers, count});
}

void Issuer::instruction(const Instr &i, At at) {
  device::Stream &stream = device.stream(i.stream);
  const Operand *operands = program.operands.data() + i.firstOperand;
  switch (i.op) {
  case Op::Launch:
    for (uint32_t k = 0; k < i.operandCount; ++k)
      arguments[k] = argument(operands[k], at);
    stream.launch(i.index, {arguments.data(), i.operandCount}, i.name);
    break;
  case Op::Gemm:
    stream.gemm(i.index, address(operands[0], at), address(operands[1], at), address(operands[2], at),
                i.operandCount > 3 ? address(operands[3], at) : nullptr, i.name);
    break;
  case Op::Collective:
    communicator.collective(stream, i.index, static_cast<format::CollectiveKind>(i.arg),
                            static_cast<format::DType>(i.flags), address(operands[0], at), i.bytes, i.name);
    break;
  case Op::Send:
  case Op::Recv: {
    comm::Transfer t = transfer(i, at);
    communicator.exchange(stream, {&t, 1});
    break;
  }
  case Op::Copy:
    stream.copy(address(operands[0], at), address(operands[1], at), i.bytes, i.name);
    break;
  case Op::Fill:
    stream.fill(address(operands[0], at), i.bytes, i.name);
    break;
  case Op::Record:
    recorded[event(i, at)] = 1;
    stream.record(event(i, at));
    break;
  case Op::Wait:
    if (!recorded[event(i, at)])
      fault.raise(kExitNo, "rank " + std::to_string(rank) + " waits for event " +
                               std::to_string(event(i, at)) +
                               ", which has no earlier record and is no declared first use");
    else
      stream.wait(event(i, at));
    break;
  case Op::Mark:
    stream.mark(i.name, i.flags == 0);
    break;
  case Op::Metric:
    if (uint64_t *to = metrics[i.index])
      stream.copy(address(operands[0], at), to, format::sizeOf(plan.metrics[i.index].dtype), i.name);
    break;
  case Op::Group:
  case Op::Repeat:
    break;
  }
}

} // namespace hocket::exec
