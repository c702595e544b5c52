#include "compiler/input/mlir_bridge.h"

#include "dialects/topo/Topo.h"

#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace hocket {

Location toLocation(Loc loc, const Diagnostics &diags, MLIRContext *context) {
  if (!loc.valid())
    return UnknownLoc::get(context);
  return FileLineColRange::get(StringAttr::get(context, diags.name(loc.file)), loc.line, loc.column,
                               loc.endLine, loc.endColumn);
}

namespace {

/// The first file location in a (possibly fused, named or called) location
/// that lies in a known text.
Loc findLoc(Location location, const Diagnostics &diags) {
  Loc found;
  location->walk([&](Location l) {
    if (auto range = dyn_cast<FileLineColRange>(l)) {
      if (int32_t file = diags.find(range.getFilename().getValue()); file >= 0) {
        found = {file, range.getStartLine(), range.getStartColumn(), range.getEndLine(),
                 range.getEndColumn()};
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return found;
}

/// A location in words, innermost name first: " at 'q' in 'gpt2-tiny'", " at gone.mlir:3:5"; or "".
std::string inWords(Location location) {
  std::string names, place;
  location->walk([&](Location l) {
    if (auto name = dyn_cast<NameLoc>(l))
      names += (names.empty() ? " at '" : " in '") + name.getName().str() + "'";
    else if (auto file = dyn_cast<FileLineColLoc>(l); file && place.empty())
      place = " at " + file.getFilename().str() + ":" + std::to_string(file.getLine()) + ":" +
              std::to_string(file.getColumn());
    return WalkResult::advance();
  });
  return names.empty() ? place : names;
}

} // namespace

MlirDiagnosticBridge::MlirDiagnosticBridge(MLIRContext *context, Diagnostics &diags, int exitCode,
                                           Loc fallback)
    : context(context) {
  // Users have locations; a dump of an operation says nothing to them.
  context->printOpOnDiagnostic(false);
  id = context->getDiagEngine().registerHandler([&diags, exitCode, fallback](Diagnostic &d) {
    auto text = [&](Diagnostic &d, Loc loc) {
      std::string words = loc.valid() ? "" : inWords(d.getLocation());
      return words.empty() ? d.str() : d.str() + "," + words;
    };
    Loc loc = findLoc(d.getLocation(), diags);
    if (d.getSeverity() == DiagnosticSeverity::Remark || d.getSeverity() == DiagnosticSeverity::Note)
      return success();
    std::string message = text(d, loc);
    if (!loc.valid())
      loc = fallback;
    Diagnostics::Builder b = d.getSeverity() == DiagnosticSeverity::Error
                                 ? diags.error(loc, message, exitCode)
                                 : diags.warning(loc, message);
    for (Diagnostic &note : d.getNotes()) {
      Loc noteLoc = findLoc(note.getLocation(), diags);
      b.note(noteLoc, text(note, noteLoc));
    }
    return success();
  });
}

MlirDiagnosticBridge::~MlirDiagnosticBridge() { context->getDiagEngine().eraseHandler(id); }

OwningOpRef<ModuleOp> buildTopo(const Cluster &c, const Diagnostics &diags, MLIRContext *context) {
  context->loadDialect<topo::TopoDialect>();
  OpBuilder b(context);
  auto at = [&](Loc loc) { return toLocation(loc, diags, context); };
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, at(c.loc));
  b.setInsertionPointToEnd(module->getBody());
  auto cluster = topo::ClusterOp::create(b, at(c.loc), c.name);
  b.setInsertionPointToEnd(&cluster.getBody().emplaceBlock());

  auto rate = [&](double r) { return r > 0 ? b.getF64FloatAttr(r) : FloatAttr(); };
  const DeviceKind &d = c.device;
  topo::DeviceOp::create(b, at(d.loc), d.name, d.isa, d.threads, d.memory, rate(d.rateF32), rate(d.rateF64),
                         llvm::APFloat(d.memoryRate));

  // Outermost island first; the host level is the leaf.
  for (size_t i = c.levels.size(); i-- > 0;) {
    const IslandLevel &level = c.levels[i];
    bool leaf = i == 0;
    // How many of this island the one around it holds.
    int64_t count = i + 1 == c.levels.size() ? 1 : c.levels[i + 1].count;
    auto island = topo::IslandOp::create(b, at(level.loc), level.name, count, level.kind,
                                         leaf ? FlatSymbolRefAttr::get(context, d.name) : FlatSymbolRefAttr(),
                                         leaf ? b.getI64IntegerAttr(level.count) : IntegerAttr(),
                                         llvm::APFloat(level.rate), llvm::APFloat(level.latency));
    b.setInsertionPointToEnd(&island.getBody().emplaceBlock());
  }
  return module;
}

namespace {

/// Offset of the first bracket that nests deeper than kMaxDepth, or npos.
/// MLIR's parser recurses; strings and comments do not count.
size_t findTooDeep(llvm::StringRef s) {
  size_t depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    char c = s[i];
    if (c == '"') {
      for (++i; i < s.size() && s[i] != '"' && s[i] != '\n'; ++i)
        if (s[i] == '\\')
          ++i;
    } else if (s.substr(i).starts_with("//")) {
      if (s.substr(i).starts_with("// -----"))
        depth = 0;
      while (i < s.size() && s[i] != '\n')
        ++i;
    } else if (llvm::StringRef("([{<").contains(c)) {
      if (++depth > kMaxDepth)
        return i;
    } else if (llvm::StringRef(")]}>").contains(c) && depth > 0 && !(c == '>' && s[i - 1] == '-')) {
      --depth;
    }
  }
  return llvm::StringRef::npos;
}

} // namespace

bool checkDepth(int32_t source, Diagnostics &diags) {
  size_t deep = findTooDeep(diags.text(source));
  if (deep == llvm::StringRef::npos)
    return true;
  diags.error(diags.at(source, deep, deep + 1),
              "nested too deep: the limit is " + llvm::Twine(kMaxDepth) + " levels");
  return false;
}

OwningOpRef<ModuleOp> parseModule(int32_t source, MLIRContext *context, Diagnostics &diags) {
  if (!checkDepth(source, diags))
    return {};
  OwningOpRef<ModuleOp> module;
  size_t before = diags.errors();
  MlirDiagnosticBridge bridge(context, diags, kExitBadInput);
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext crash;
  auto buffer = llvm::MemoryBuffer::getMemBuffer(diags.text(source), diags.name(source));
  bool ok = crash.RunSafelyOnThread(
      [&] {
        llvm::SourceMgr sources;
        sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
        module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
      },
      64u << 20);
  if (!ok) {
    // What the crashed thread left is not touched again.
    (void)module.release();
    diags.error("the MLIR text in '" + diags.name(source) + "' crashed the parser");
    return {};
  }
  if (!module && diags.errors() == before)
    diags.error("'" + diags.name(source) + "' holds no MLIR module");
  return module;
}

} // namespace hocket
