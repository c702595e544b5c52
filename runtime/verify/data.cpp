//===- data.cpp - Parameters, inputs, metrics, summaries --------------------===//

#include "runtime/verify/context.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace hocket::verify {

namespace {

/// Product of the sizes of `axes`; 0 if one does not exist or occurs twice.
uint64_t shards(const Plan &p, const std::vector<uint32_t> &axes) {
  std::set<uint32_t> seen;
  uint64_t n = 1; // a subset of the mesh's axes: at most kMaxRanks
  for (uint32_t a : axes) {
    if (a >= p.axes.size() || !seen.insert(a).second)
      return 0;
    n *= p.axes[a].size;
  }
  return n;
}

/// Why `count` cells of `bytes` at `o` (cell i at l or mb = i) are not inside the class's arena; empty if
/// they are.
std::string outside(const ClassProgram &c, const Operand &o, RegionKind kind, uint64_t bytes, uint64_t layers,
                    uint64_t micros) {
  if (o.kind != OperandKind::Region || o.index >= c.regions.size() || (o.flags & kSlotMask))
    return "is no address without slot in one of " + num(c.regions.size()) + " regions";
  const Region &r = c.regions[o.index];
  if (r.kind != kind)
    return std::string("lies in region ") + quote(r.name) + " of kind " + nameOf(r.kind);
  if ((layers > 1 && !(o.flags & kLayered)) || (micros > 1 && !(o.flags & kMicro)) || layers > r.layers ||
      micros > r.micros)
    return "has " + num(layers) + " layers and " + num(micros) + " micro-batches, region " + quote(r.name) +
           " " + num(r.layers) + " and " + num(r.micros) + ", operand flags are " + num(o.flags);
  uint64_t last = (layers - 1) * r.layerStride + (micros - 1) * r.microStride; // fits: program.cpp, regions()
  if (o.offset < 0 || uint64_t(o.offset) > r.bytes || last > r.bytes - uint64_t(o.offset) ||
      bytes > r.bytes - uint64_t(o.offset) - last)
    return "does not fit the " + num(r.bytes) + " bytes of region " + quote(r.name);
  return {};
}

/// Checks "(grd)h": each of the parameter's letters once, groups not nested.
/// Gives the number of dimensions, 0 if it is not well-formed.
uint32_t layoutDims(const std::string &layout, const std::vector<ParamDim> &dims) {
  std::string left;
  for (const ParamDim &d : dims)
    left += d.letter;
  uint32_t count = 0;
  bool open = false, empty = false;
  for (char ch : layout) {
    if (ch == '(' && !open) {
      open = empty = true;
      ++count;
    } else if (ch == ')' && open && !empty) {
      open = false;
    } else if (size_t at = left.find(ch);
               std::isalpha(static_cast<unsigned char>(ch)) && at != std::string::npos) {
      left.erase(at, 1);
      count += !open;
      empty = false;
    } else {
      return 0;
    }
  }
  return open || !left.empty() ? 0 : count;
}

void verifyParam(Context &cx, const Param &param) {
  const Plan &p = cx.plan;
  auto fail = [&](std::string problem, std::string legal) {
    cx.plainFinding("parameter " + quote(param.name) + " " + problem, std::move(legal));
  };
  if (param.classIndex >= p.classes.size())
    return fail("belongs to class " + num(param.classIndex), "a class below " + num(p.classes.size()));
  if (param.dtype != DType::F32 && param.dtype != DType::F64)
    fail(std::string("has element type ") + nameOf(param.dtype), "f32 or f64");
  if (param.name.empty() || (param.name.find("{l}") != std::string::npos) != param.stacked)
    fail(param.stacked ? "is stacked and has no {l}" : "has {l} and is not stacked, or no name",
         "{l} in the name of stacked parameters only");
  if (param.layerEnd <= param.layerBegin || (!param.stacked && param.layerEnd - param.layerBegin != 1))
    return fail("has layers [" + num(param.layerBegin) + ", " + num(param.layerEnd) + ")",
                "at least one layer; exactly one if not stacked");
  uint64_t bytes = sizeOf(param.dtype);
  for (const ParamDim &d : param.dims) {
    std::string letter = quote(std::string(1, d.letter));
    uint64_t n = shards(p, d.axes), padded;
    if (!std::isalpha(static_cast<unsigned char>(d.letter)))
      return fail("has letter " + letter, "letters");
    if (n == 0)
      return fail("shares letter " + letter + " over axes that do not exist or occur twice",
                  "axes of the mesh");
    if (d.local == 0 || d.global == 0 || __builtin_mul_overflow(d.local, n, &padded) || d.global > padded)
      return fail("has letter " + letter + " of local extent " + num(d.local) + " on " + num(n) +
                      " shards, true extent " + num(d.global),
                  "a true extent from 1 to local extent times shards");
    if (__builtin_mul_overflow(bytes, d.local, &bytes) || bytes > kMaxArenaBytes)
      return fail("is larger than 2^62 bytes", "less");
  }
  uint32_t dims = layoutDims(param.layout, param.dims);
  if (dims == 0 && !(param.dims.empty() && param.layout.empty()))
    fail("has checkpoint layout " + quote(param.layout), "each of its letters once, groups in parentheses");
  if (param.partCount == 0 || param.partIndex >= param.partCount ||
      (param.partCount > 1 && param.partDim >= dims))
    fail("is part " + num(param.partIndex) + " of " + num(param.partCount) + " along dimension " +
             num(param.partDim),
         "a part below the count, along one of " + num(dims) + " dimensions");

  const ClassProgram &c = p.classes[param.classIndex];
  uint64_t layers = param.layerEnd - param.layerBegin;
  auto place = [&](const char *what, const Operand &o, RegionKind kind) {
    if (std::string why = outside(c, o, kind, bytes, layers, 1); !why.empty())
      fail(std::string(what) + " of " + num(bytes) + " bytes a layer " + why,
           std::string("a place for all layers in a region of kind ") + nameOf(kind));
  };
  place("value", param.value, RegionKind::Parameter);
  if (!param.owner)
    return; // a tied copy has no state of its own
  place("gradient", param.gradient, RegionKind::Gradient);
  place("first moment", param.moment1, RegionKind::State);
  place("second moment", param.moment2, RegionKind::State);
}

void verifyInput(Context &cx, const Input &in) {
  const Plan &p = cx.plan;
  auto fail = [&](std::string problem, std::string legal) {
    cx.plainFinding(std::string("input ") + (in.kind == InputKind::Tokens ? "tokens " : "labels ") + problem,
                    std::move(legal));
  };
  if (in.kind > InputKind::Labels)
    fail("has kind " + num(uint64_t(in.kind)), "tokens (0) or labels (1)");
  if (in.classIndex >= p.classes.size())
    return fail("belongs to class " + num(in.classIndex), "a class below " + num(p.classes.size()));
  uint64_t n = shards(p, in.axes), rows;
  if (n == 0)
    return fail("is shared over axes that do not exist or occur twice", "axes of the mesh");
  if (in.rows == 0 || __builtin_mul_overflow(n * p.microBatches, uint64_t(in.rows), &rows) ||
      rows != p.globalBatch)
    return fail("has " + num(in.rows) + " rows on " + num(n) + " shards in " + num(p.microBatches) +
                    " micro-batches",
                "the global batch of " + num(p.globalBatch) + " rows in all");
  uint64_t bytes = uint64_t(in.rows) * p.sequence; // both below 2^32
  if (__builtin_mul_overflow(bytes, uint64_t(4), &bytes) || bytes > kMaxArenaBytes)
    return fail("is larger than 2^62 bytes", "less");
  const ClassProgram &c = p.classes[in.classIndex];
  if (std::string why = outside(c, in.at, RegionKind::Input, bytes, 1, p.microBatches); !why.empty())
    fail("of " + num(bytes) + " bytes a micro-batch " + why,
         "a place for all micro-batches in an input region");
  else if (uint64_t(in.at.offset) % 4 || c.regions[in.at.index].microStride % 4)
    fail("is not aligned to its 4-byte elements", "multiples of 4");
}

} // namespace

void verifyData(Context &cx) {
  const Plan &p = cx.plan;
  std::set<std::tuple<std::string, uint32_t, uint32_t>> names;
  for (const Param &param : p.params) {
    verifyParam(cx, param);
    if (!names.emplace(param.name, param.partIndex, param.classIndex).second)
      cx.plainFinding("parameter " + quote(param.name) + " occurs twice in class " + num(param.classIndex),
                      "each checkpoint tensor or part once in a class");
  }
  for (const Input &in : p.inputs)
    verifyInput(cx, in);
  for (const Metric &m : p.metrics)
    if (m.classIndex >= p.classes.size() || m.name.empty() ||
        (m.dtype != DType::F32 && m.dtype != DType::F64))
      cx.plainFinding("metric " + quote(m.name) + " of type " + nameOf(m.dtype) + " in class " +
                          num(m.classIndex),
                      "a named f32 or f64 of a class below " + num(p.classes.size()));
  if (p.summaries.size() != p.classes.size())
    return cx.plainFinding(num(p.summaries.size()) + " summaries", num(p.classes.size()) + ", one per class");
  for (uint32_t i = 0; i < p.summaries.size(); ++i) {
    const ClassSummary &s = p.summaries[i];
    uint64_t sum = 0;
    bool fits = true;
    for (const MemoryTerm &t : s.memory)
      fits = fits && !__builtin_add_overflow(sum, t.bytes, &sum);
    if (!fits || sum != p.classes[i].arenaBytes)
      cx.classFinding(i, "the terms of its memory verdict add up to " + num(sum) + " bytes",
                      "the arena's " + num(p.classes[i].arenaBytes));
    if (!(s.predictedStepSeconds >= 0 && std::isfinite(s.predictedStepSeconds)))
      cx.classFinding(i, "predicted step time negative or not finite", "a finite number from 0");
  }
}

} // namespace hocket::verify
