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

void Table::add(Slot slot, StringRef axis) {
  auto &dims = axes[slot.value];
  dims.resize(cast<RankedTensorType>(slot.value.getType()).getRank());
  dims[slot.dim].push_back(axis);
}

int64_t Table::find(Value value, StringRef axis) const {
  for (auto [dim, names] : llvm::enumerate(of(value)))
    if (llvm::is_contained(names, axis))
      return dim;
  return -1;
}

/// One pass over the relations for one axis; whether anything was added.
static bool spread(ArrayRef<Relation> relations, StringRef axis, Table &table, bool backwards) {
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
          table.add(slot, axis);
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
    return tile.emitOpError("axis \"") << tile.getAxis() << "\" is not in the mesh";
  auto function = module.lookupSymbol<func::FuncOp>(tile.getIn());
  if (!function || function.isExternal())
    return tile.emitOpError("function @") << tile.getIn() << " is not in the module";
  for (StringAttr name : tile.getValues().getAsRange<StringAttr>()) {
    BlockArgument argument = findArgument(function, name.getValue());
    if (!argument)
      return tile.emitOpError("@") << tile.getIn() << " has no argument called \"" << name.getValue() << "\"";
    auto dims = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "model.dims");
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    size_t dim = dims ? dims.getValue().find(tile.getLetter()) : StringRef::npos;
    if (!type || dim >= size_t(type.getRank()))
      return tile.emitOpError("\"") << name.getValue() << "\" has the letters \""
                                    << (dims ? dims.getValue() : "") << "\", not '" << tile.getLetter()
                                    << "'";
    int64_t taken = table.find(argument, tile.getAxis());
    if (taken == int64_t(dim))
      continue;
    if (taken >= 0)
      return tile.emitOpError("axis \"")
             << tile.getAxis() << "\" already shards letter '" << dims.getValue()[taken] << "' of \""
             << name.getValue() << "\" by an earlier tactic";
    table.add({argument, unsigned(dim)}, tile.getAxis());
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
      changed = spread(relations, tile.getAxis(), table, false);
      changed |= spread(relations, tile.getAxis(), table, true);
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

/// Two letters of one op on one axis.
static LogicalResult checkExclusive(const Relation &relation, const Table &table) {
  llvm::SmallMapVector<StringRef, std::pair<char, Slot>, 4> owner;
  for (const Group &group : relation.groups)
    for (Slot slot : group.slots)
      for (StringRef axis : table.at(slot)) {
        auto [it, fresh] = owner.try_emplace(axis, group.letter, slot);
        auto &[letter, other] = it->second;
        if (letter != group.letter)
          return relation.op->emitError("conflicting shardings: axis \"")
                 << axis << "\" shards letter '" << letter << "' (" << describe(relation.op, other.value)
                 << ") and letter '" << group.letter << "' (" << describe(relation.op, slot.value)
                 << "); a reshard of " << std::min(bytesOf(slot.value), bytesOf(other.value))
                 << " bytes is not executable yet";
      }
  return success();
}

static LogicalResult checkEqual(const Relation &relation, const Table &table) {
  for (const Group &group : relation.groups)
    for (Slot slot : group.slots) {
      Slot first = group.slots.front();
      if (table.at(slot) == table.at(first))
        continue;
      InFlightDiagnostic error = relation.op->emitError("conflicting shardings");
      if (group.letter)
        error << " of letter '" << group.letter << "'";
      return error << ": " << describe(relation.op, first.value) << " has dimension " << first.dim << " on "
                   << par::str(table.at(first)) << ", " << describe(relation.op, slot.value)
                   << " has dimension " << slot.dim << " on " << par::str(table.at(slot)) << "; a reshard of "
                   << std::min(bytesOf(first.value), bytesOf(slot.value)) << " bytes is not executable yet";
    }
  return success();
}

LogicalResult shard::checkAgreement(ArrayRef<Relation> relations, const Table &table) {
  bool ok = true;
  for (const Relation &relation : relations)
    ok &= (!relation.exclusive || succeeded(checkExclusive(relation, table))) &&
          succeeded(checkEqual(relation, table));
  return success(ok);
}
