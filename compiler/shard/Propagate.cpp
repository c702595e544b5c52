//===- Propagate.cpp - Tactics to axes of every dimension -------------------===//
#include "compiler/shard/Propagate.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace hocket;
using namespace hocket::shard;

static const par::Axes &none() {
  static const par::Axes empty;
  return empty;
}

const par::Axes &Table::at(Slot slot) const {
  auto it = axes.find(slot.value);
  return it == axes.end() ? none() : it->second[slot.dim];
}

void Table::add(Slot slot, StringRef axis, par::TileOp tile) {
  auto &dims = axes[slot.value];
  dims.resize(cast<RankedTensorType>(slot.value.getType()).getRank());
  dims[slot.dim].push_back(axis);
  if (tile)
    tactics[{slot.value, axis}] = tile;
}

int64_t Table::find(Value value, StringRef axis) const {
  for (auto [dim, names] : llvm::enumerate(of(value)))
    if (llvm::is_contained(names, axis))
      return dim;
  return -1;
}

/// One pass over the relations for the axis of one tactic; whether anything was added.
static bool spread(ArrayRef<Relation> relations, par::TileOp tile, Table &table, bool backwards) {
  StringRef axis = tile.getAxis();
  bool changed = false;
  auto visit = [&](const Relation &relation) {
    // The letters that have the axis already; of an exclusive relation's only one may.
    SmallVector<const Group *, 2> sources;
    for (const Group &group : relation.groups)
      if (llvm::any_of(group.slots, [&](Slot s) { return llvm::is_contained(table.at(s), axis); }))
        sources.push_back(&group);
    if (relation.exclusive && sources.size() > 1)
      return;
    for (const Group *group : sources) {
      const Slot *source =
          llvm::find_if(group->slots, [&](Slot s) { return llvm::is_contained(table.at(s), axis); });
      par::Axes wanted = table.at(*source), before = wanted;
      // Propagation is per tactic, so the axis is the last one of its source.
      before.pop_back();
      for (Slot slot : group->slots)
        if (table.find(slot.value, axis) < 0 && table.at(slot) == before) {
          table.add(slot, axis, tile);
          changed = true;
        }
    }
  };
  if (backwards)
    for (const Relation &relation : llvm::reverse(relations))
      visit(relation);
  else
    for (const Relation &relation : relations)
      visit(relation);
  return changed;
}

/// The argument called `name`, or null.
static BlockArgument findArgument(func::FuncOp function, StringRef name) {
  for (BlockArgument argument : function.getArguments())
    if (auto attr = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "model.name"))
      if (attr.getValue() == name)
        return argument;
  return {};
}

static LogicalResult seed(par::TileOp tile, ModuleOp module, par::MeshOp mesh, Table &table) {
  if (par::axisSize(mesh, tile.getAxis()) == 0)
    return tile.emitError("axis \"") << tile.getAxis() << "\" is not in the mesh";
  auto function = module.lookupSymbol<func::FuncOp>(tile.getIn());
  if (!function || function.isExternal())
    return tile.emitError("function @") << tile.getIn() << " is not in the module";
  for (StringAttr name : tile.getValues().getAsRange<StringAttr>()) {
    BlockArgument argument = findArgument(function, name.getValue());
    if (!argument)
      return tile.emitError("@") << tile.getIn() << " has no argument called \"" << name.getValue() << "\"";
    auto dims = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "model.dims");
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    size_t dim = dims ? dims.getValue().find(tile.getLetter()) : StringRef::npos;
    if (!type || dim >= size_t(type.getRank()))
      return tile.emitError("\"") << name.getValue() << "\" has the letters \""
                                  << (dims ? dims.getValue() : "") << "\", not '" << tile.getLetter() << "'";
    int64_t taken = table.find(argument, tile.getAxis());
    if (taken == int64_t(dim))
      continue;
    if (taken >= 0) {
      InFlightDiagnostic error = tile.emitError("axis \"")
                                 << tile.getAxis() << "\" already shards letter '" << dims.getValue()[taken]
                                 << "' of \"" << name.getValue() << "\" by an earlier tactic";
      error.attachNote(table.tactic(argument, tile.getAxis()).getLoc()) << "the earlier tactic";
      return error;
    }
    table.add({argument, unsigned(dim)}, tile.getAxis(), tile);
  }
  return success();
}

FailureOr<Table> shard::propagate(ModuleOp module, par::MeshOp mesh, par::StrategyOp strategy,
                                  ArrayRef<Relation> relations) {
  Table table;
  for (auto tile : strategy.getBody().front().getOps<par::TileOp>()) {
    if (failed(seed(tile, module, mesh, table)))
      return failure();
    // Each round adds an axis to at least one of finitely many dimensions.
    bool changed = true;
    while (changed) {
      changed = spread(relations, tile, table, false);
      changed |= spread(relations, tile, table, true);
    }
  }
  return table;
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * int64_t(type.getElementTypeBitWidth()) / 8;
}

Location shard::placeOf(Location wanted, Operation *op) {
  return isa<UnknownLoc>(wanted) ? op->getLoc() : wanted;
}

namespace {
/// Reports of conflicts, one for each pair of tactics that are at odds: the rest follows from it.
class Conflicts {
public:
  explicit Conflicts(const Table &table) : table(table) {}
  bool any = false;

  /// False if two letters of the op meet on one axis.
  bool checkExclusive(const Relation &relation);
  void checkEqual(const Relation &relation);

private:
  void report(Operation *op, par::TileOp a, par::TileOp b, const Twine &text);
  std::pair<par::TileOp, par::TileOp> differing(Slot a, Slot b);

  const Table &table;
  SmallVector<std::pair<par::TileOp, par::TileOp>> seen;
};
} // namespace

/// An error at the later of two tactics, with notes at the other one and at the op where what
/// they ask for meets. Where the tactics have no place, at the op.
void Conflicts::report(Operation *op, par::TileOp a, par::TileOp b, const Twine &text) {
  any = true;
  if (a && b && b->isBeforeInBlock(a))
    std::swap(a, b);
  par::TileOp late = b ? b : a, early = a == late ? par::TileOp() : a;
  if (!late || isa<UnknownLoc>(late.getLoc())) {
    op->emitError("conflicting shardings") << text;
    return;
  }
  if (llvm::is_contained(seen, std::pair(early, late)))
    return;
  seen.emplace_back(early, late);
  InFlightDiagnostic error = late.emitError("conflicting shardings") << text;
  if (early)
    error.attachNote(early.getLoc()) << "the other demand comes from letter '" << early.getLetter()
                                     << "' over \"" << early.getAxis() << "\" here";
  error.attachNote(op->getLoc()) << "they meet at a " << op->getName();
}

bool Conflicts::checkExclusive(const Relation &relation) {
  llvm::SmallMapVector<StringRef, std::pair<char, Slot>, 4> owner;
  for (const Group &group : relation.groups)
    for (Slot slot : group.slots)
      for (StringRef axis : table.at(slot)) {
        auto [it, fresh] = owner.try_emplace(axis, group.letter, slot);
        auto &[letter, other] = it->second;
        if (letter != group.letter) {
          report(relation.op, table.tactic(other.value, axis), table.tactic(slot.value, axis),
                 ": axis \"" + axis + "\" shards letter '" + Twine(letter) + "' (" +
                     describe(relation.op, other.value) + ") and letter '" + Twine(group.letter) + "' (" +
                     describe(relation.op, slot.value) + ") of one operation; a reshard of " +
                     Twine(std::min(bytesOf(slot.value), bytesOf(other.value))) +
                     " bytes is not executable yet");
          return false;
        }
      }
  return true;
}

/// The tactics that made two dimensions of one letter differ: the one whose axis the other lacks,
/// and the one that kept it from there.
std::pair<par::TileOp, par::TileOp> Conflicts::differing(Slot a, Slot b) {
  for (auto [has, lacks] : {std::pair(a, b), std::pair(b, a)})
    for (StringRef axis : table.at(has)) {
      if (llvm::is_contained(table.at(lacks), axis))
        continue;
      par::TileOp before = table.tactic(lacks.value, axis);
      if (!before && !table.at(lacks).empty())
        before = table.tactic(lacks.value, table.at(lacks).back());
      return {table.tactic(has.value, axis), before};
    }
  return {table.tactic(a.value, table.at(a).back()), table.tactic(b.value, table.at(b).back())};
}

void Conflicts::checkEqual(const Relation &relation) {
  for (const Group &group : relation.groups)
    for (Slot slot : group.slots) {
      Slot first = group.slots.front();
      if (table.at(slot) == table.at(first))
        continue;
      std::string of = group.letter ? std::string(" of letter '") + group.letter + "'" : "";
      auto [has, before] = differing(first, slot);
      return report(relation.op, has, before,
                    of + ": " + describe(relation.op, first.value) + " has dimension " + Twine(first.dim) +
                        " on " + par::str(table.at(first)) + ", " + describe(relation.op, slot.value) +
                        " has dimension " + Twine(slot.dim) + " on " + par::str(table.at(slot)) +
                        "; a reshard of " + Twine(std::min(bytesOf(first.value), bytesOf(slot.value))) +
                        " bytes is not executable yet");
    }
}

LogicalResult shard::checkAgreement(ArrayRef<Relation> relations, const Table &table) {
  Conflicts conflicts(table);
  for (const Relation &relation : relations)
    if (!relation.exclusive || conflicts.checkExclusive(relation))
      conflicts.checkEqual(relation);
  return success(!conflicts.any);
}
