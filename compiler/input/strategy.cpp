#include "compiler/input/strategy.h"

#include "compiler/input/table_reader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace llvm;

namespace hocket {

StringRef name(PipelineSchedule schedule) { return schedule == PipelineSchedule::GPipe ? "gpipe" : "1f1b"; }

namespace {

constexpr StringRef kAxes[] = {"pipeline", "data", "context", "tensor"};

/// Parses "a=2, b=3" at [begin, end) of a source into the axis sizes.
class MeshParser {
public:
  MeshParser(int32_t source, size_t begin, size_t end, Strategy &s, Diagnostics &diags)
      : source(source), begin(begin), end(end), strategy(s), diags(diags) {}

  void parse() {
    StringRef text = diags.text(source).slice(begin, end);
    strategy.meshLoc = diags.at(source, begin, end);
    if (text.trim().empty()) {
      diags.error(strategy.meshLoc, "the mesh is empty: write sizes as in 'data=2,tensor=2'");
      return;
    }
    size_t offset = begin;
    while (true) {
      auto [piece, rest] = text.split(',');
      entry(piece, offset);
      offset += piece.size() + 1;
      if (piece.size() == text.size())
        break;
      text = rest;
    }
  }

private:
  void entry(StringRef piece, size_t offset) {
    size_t lead = piece.size() - piece.ltrim().size();
    StringRef trimmed = piece.trim();
    Loc whole = diags.at(source, offset + lead, offset + lead + trimmed.size());
    if (!trimmed.contains('=')) {
      diags.error(whole, "expected AXIS=SIZE, as in 'data=2,tensor=2'");
      return;
    }
    auto [left, right] = trimmed.split('=');
    StringRef axis = left.rtrim(), size = right.trim();
    Loc axisLoc = diags.at(source, offset + lead, offset + lead + axis.size());
    size_t sizeAt = static_cast<size_t>(size.data() - diags.text(source).data());
    Loc sizeLoc = size.empty() ? whole : diags.at(source, sizeAt, sizeAt + size.size());
    if (!is_contained(kAxes, axis)) {
      if (axis == "expert")
        diags.error(axisLoc, "'expert' is a factor of data, context and tensor, not a mesh axis");
      else
        diags.error(axisLoc, "unknown mesh axis '" + axis + "': axes are " + alternatives(kAxes) +
                                 didYouMean(axis, kAxes));
      return;
    }
    for (const auto &[name, loc] : seen)
      if (name == axis) {
        diags.error(axisLoc, "axis '" + axis + "' is given twice").note(loc, "it was given here first");
        return;
      }
    seen.emplace_back(axis, axisLoc);
    int64_t n = 0;
    if (size.getAsInteger(10, n) || n < 1 || n > kMaxRanks) {
      diags.error(sizeLoc,
                  "the size of axis '" + axis + "' must be an integer from 1 to " + Twine(kMaxRanks));
      return;
    }
    if (axis == "pipeline") {
      strategy.pipeline = n;
      strategy.pipelineLoc = whole;
    } else if (axis == "data") {
      strategy.data = n;
      strategy.dataGiven = true;
      strategy.dataLoc = whole;
    } else if (axis == "tensor") {
      strategy.tensor = n;
      strategy.tensorLoc = whole;
    } else if (n != 1) {
      diags.error(whole, "axis 'context' above 1 is not executable in this version");
    }
  }

  int32_t source;
  size_t begin, end;
  Strategy &strategy;
  Diagnostics &diags;
  std::vector<std::pair<StringRef, Loc>> seen;
};

bool isName(StringRef s) {
  return !s.empty() && all_of(s, [](char c) { return isAlnum(c) || c == '_' || c == '.'; });
}

std::optional<Tile> readTile(const Value &v, Diagnostics &diags) {
  constexpr StringRef form = "expected \"NAMES: LETTER -> AXIS\", as in \"layer.wq layer.wk: g -> tensor\"";
  if (v.kind != Value::Kind::String) {
    diags.error(v.loc, form + ", not " + kindName(v.kind));
    return std::nullopt;
  }
  auto [names, rest] = StringRef(v.string).split(':');
  auto [letter, axis] = rest.split("->");
  letter = letter.trim();
  axis = axis.trim();
  SmallVector<StringRef> parts;
  names.split(parts, ' ', -1, /*KeepEmpty=*/false);
  if (parts.empty() || !all_of(parts, isName) || letter.size() != 1 || !isLower(letter[0]) || axis.empty()) {
    diags.error(v.loc, form);
    return std::nullopt;
  }
  if (axis != "tensor") {
    if (is_contained(kAxes, axis))
      diags.error(v.loc, "tiling over '" + axis + "' is not executable in this version: write 'tensor'");
    else
      diags.error(v.loc, "unknown mesh axis '" + axis + "'" + didYouMean(axis, kAxes));
    return std::nullopt;
  }
  Tile tile;
  for (StringRef p : parts)
    tile.names.push_back(p.str());
  tile.letter = letter[0];
  tile.axis = axis.str();
  tile.loc = v.loc;
  return tile;
}

void readOrder(const Value &v, Strategy &s, Diagnostics &diags) {
  size_t before = diags.errors();
  std::vector<std::string> order;
  for (const Value &item : v.items) {
    auto axis = asWord(item, "order", kAxes, diags);
    if (!axis)
      return;
    if (is_contained(order, *axis))
      diags.error(item.loc, "axis '" + *axis + "' is given twice");
    order.push_back(*axis);
  }
  llvm::erase(order, "context"); // size 1: has no place
  for (StringRef axis : s.order)
    if (!is_contained(order, axis))
      diags.error(v.loc, "'order' must name every axis: '" + axis + "' is missing");
  if (diags.errors() == before)
    s.order = order;
}

void readPipeline(const Value &v, Strategy &s, Diagnostics &diags) {
  TableReader r(v, "'pipeline'", diags);
  if (const Value *kind = r.find("schedule")) {
    StringRef later[] = {"interleaved-1f1b", "zb-v", "zb-h1"};
    if (kind->kind == Value::Kind::String && is_contained(later, kind->string))
      diags.error(kind->loc, "schedule '" + kind->string +
                                 "' is not executable in this version: write 'gpipe' or '1f1b'");
    else if (auto word = asWord(*kind, "schedule", {"gpipe", "1f1b"}, diags))
      s.schedule = *word == "gpipe" ? PipelineSchedule::GPipe : PipelineSchedule::OneFOneB;
  }
  if (auto chunks = r.integer("chunks", 1, 1024); chunks && *chunks != 1)
    diags.error(r.find("chunks")->loc, "'chunks' above 1 is not executable in this version");
  if (const Value *layers = r.find("layers")) {
    s.layersLoc = layers->loc;
    if (layers->kind == Value::Kind::Array) {
      for (const Value &n : layers->items)
        s.layers.push_back(asInteger(n, "layers", 1, 1 << 20, diags).value_or(1));
      if (s.layers.empty())
        diags.error(layers->loc, "'layers' must hold one number for each stage");
    } else if (layers->kind != Value::Kind::String || layers->string != "even") {
      diags.error(layers->loc, "'layers' must be \"even\" or a list with one number for each stage");
    }
  }
  r.finish();
}

/// A key whose only executable value means "nothing": [], {} or {size = 1}.
void readOnlyEmpty(TableReader &top, StringRef key, StringRef what, Diagnostics &diags) {
  const Value *v = top.find(key);
  if (v && !(v->items.empty() && v->members.empty() &&
             (v->kind == Value::Kind::Array || v->kind == Value::Kind::Table)))
    diags.error(v->loc, "'" + key + "' is not executable in this version: " + what);
}

} // namespace

std::optional<Strategy> readMesh(int32_t source, Diagnostics &diags) {
  size_t before = diags.errors();
  Strategy s;
  MeshParser(source, 0, diags.text(source).size(), s, diags).parse();
  return diags.errors() == before ? std::optional(s) : std::nullopt;
}

std::optional<Strategy> readStrategy(int32_t source, Diagnostics &diags) {
  size_t before = diags.errors();
  std::optional<Value> root = parseToml(source, diags);
  if (!root)
    return std::nullopt;
  Strategy s;
  TableReader top(*root, "the strategy file", diags);
  top.format();
  if (const Value *mesh = top.need("mesh")) {
    if (mesh->kind != Value::Kind::String) {
      diags.error(mesh->loc,
                  "'mesh' must be a string as in \"data=2, tensor=2\", not " + kindName(mesh->kind));
    } else {
      // A plain one-line string lies in the file as it is: carets into it.  One
      // with escapes does not; it gets a source of its own.
      StringRef spelled = diags.spelling(mesh->loc);
      if (spelled.size() == mesh->string.size() + 2 &&
          spelled.substr(1, mesh->string.size()) == mesh->string) {
        size_t at = static_cast<size_t>(spelled.data() - diags.text(source).data()) + 1;
        MeshParser(source, at, at + mesh->string.size(), s, diags).parse();
      } else {
        int32_t own = diags.addSource(diags.name(source).str() + "(mesh)", mesh->string);
        MeshParser(own, 0, mesh->string.size(), s, diags).parse();
      }
    }
  }
  if (const Value *order = top.array("order"))
    readOrder(*order, s, diags);
  s.microBatch = top.integer("micro_batch", 1, 1 << 24).value_or(0);
  if (const Value *v = top.find("micro_batch"))
    s.microBatchLoc = v->loc;
  if (const Value *tile = top.array("tile")) {
    s.tilesGiven = true;
    for (const Value &v : tile->items)
      if (auto t = readTile(v, diags))
        s.tiles.push_back(std::move(*t));
  }
  if (const Value *v = top.subtable("pipeline"))
    readPipeline(*v, s, diags);
  if (const Value *v = top.subtable("expert")) {
    TableReader r(*v, "'expert'", diags);
    if (auto size = r.integer("size", 1, kMaxRanks); size && *size != 1)
      diags.error(r.find("size")->loc, "expert parallelism is not executable in this version");
    r.finish();
  }
  if (const Value *v = top.subtable("tensor")) {
    TableReader r(*v, "'tensor'", diags);
    if (r.boolean("sequence_parallel").value_or(false))
      diags.error(r.find("sequence_parallel")->loc, "sequence parallelism is not executable in this version");
    r.finish();
  }
  readOnlyEmpty(top, "shard", "optimizer state, gradients and parameters are replicated over data", diags);
  readOnlyEmpty(top, "recompute", "all residuals are kept", diags);
  readOnlyEmpty(top, "offload", "all state stays on the device", diags);
  readOnlyEmpty(top, "overlap", "gradients go in one bucket for each block", diags);
  top.finish();
  return diags.errors() == before ? std::optional(s) : std::nullopt;
}

bool resolveStrategy(Strategy &s, const Cluster &cluster, bool allowIdle, Diagnostics &diags) {
  int64_t ranks = cluster.ranks();
  // Each size is at most 2^20: three of them fit.
  int64_t fixed = s.pipeline * s.tensor;
  if (!s.dataGiven) {
    if (fixed > ranks) {
      diags.error(s.meshLoc, "the strategy needs " + withCommas(static_cast<uint64_t>(fixed)) +
                                 " devices; the cluster has " + withCommas(static_cast<uint64_t>(ranks)));
      return false;
    }
    if (ranks % fixed != 0 && !allowIdle) {
      diags
          .error(s.meshLoc, "pipeline x tensor = " + Twine(fixed) + " does not divide the cluster's " +
                                Twine(ranks) + " devices")
          .note("'data' fills the rest; write data=" + Twine(ranks / fixed) + " with --allow-idle to leave " +
                Twine(ranks % fixed) + " idle");
      return false;
    }
    s.data = ranks / fixed;
    s.dataGiven = true;
    return true;
  }
  int64_t used = s.devices();
  if (used > ranks) {
    diags.error(s.meshLoc, "the strategy needs " + withCommas(static_cast<uint64_t>(used)) +
                               " devices; the cluster has " + withCommas(static_cast<uint64_t>(ranks)));
    return false;
  }
  if (used < ranks && !allowIdle) {
    auto d = diags.error(s.meshLoc, "the strategy uses " + withCommas(static_cast<uint64_t>(used)) +
                                        " of the cluster's " + withCommas(static_cast<uint64_t>(ranks)) +
                                        " devices");
    if (ranks % fixed == 0)
      d.note("write data=" + Twine(ranks / fixed) + " to use all, or give --allow-idle");
    else
      d.note("give --allow-idle to leave " + Twine(ranks - used) + " idle");
    return false;
  }
  return true;
}

std::string meshText(const Strategy &s) {
  std::string out;
  for (StringRef axis : {StringRef("pipeline"), StringRef("data"), StringRef("tensor")}) {
    if (axis == "data" && !s.dataGiven)
      continue;
    out += (out.empty() ? "" : ", ") + axis.str() + "=" + std::to_string(s.size(axis));
  }
  return out;
}

std::string toToml(const Strategy &s) {
  std::string out = "format = 1\nmesh = \"" + meshText(s) + "\"\norder = [";
  for (size_t i = 0; i < s.order.size(); ++i)
    out += (i ? ", \"" : "\"") + s.order[i] + "\"";
  out += "]\n";
  if (s.microBatch)
    out += "micro_batch = " + std::to_string(s.microBatch) + "\n";
  if (s.tilesGiven) {
    out += "tile = [";
    for (size_t i = 0; i < s.tiles.size(); ++i) {
      out += i ? ", \"" : "\"";
      for (size_t k = 0; k < s.tiles[i].names.size(); ++k)
        out += (k ? " " : "") + s.tiles[i].names[k];
      out += std::string(": ") + s.tiles[i].letter + " -> " + s.tiles[i].axis + "\"";
    }
    out += "]\n";
  }
  out += "pipeline = { schedule = \"" + name(s.schedule).str() + "\", layers = ";
  if (s.layers.empty()) {
    out += "\"even\"";
  } else {
    for (size_t i = 0; i < s.layers.size(); ++i)
      out += (i ? ", " : "[") + std::to_string(s.layers[i]);
    out += "]";
  }
  return out + " }\n";
}

std::vector<int64_t> stageLayers(const Strategy &s, int64_t layers) {
  if (!s.layers.empty())
    return s.layers;
  std::vector<int64_t> out(static_cast<size_t>(s.pipeline), layers / s.pipeline);
  for (int64_t i = 0; i < layers % s.pipeline; ++i)
    ++out[static_cast<size_t>(i)];
  return out;
}

} // namespace hocket
