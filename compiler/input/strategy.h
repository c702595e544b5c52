//===- strategy.h - All choices: strategy.toml or a mesh string -------------===//
//
// Takes TOML or 'data=2,tensor=2', gives the choices that this version can
// execute; every other key of the format is a located error.  `toToml` prints
// a strategy so that reading it back gives the same strategy and the same text.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/input/cluster.h"

namespace hocket {

enum class PipelineSchedule { GPipe, OneFOneB };
llvm::StringRef name(PipelineSchedule schedule);

/// "layer.wq layer.wk: g -> tensor": shard letter g of these over the axis.
struct Tile {
  std::vector<std::string> names;
  char letter = 0;
  std::string axis;
  Loc loc;
};

struct Strategy {
  int64_t pipeline = 1, data = 1, tensor = 1;
  bool dataGiven = false; ///< else resolveStrategy fills it
  Loc pipelineLoc, dataLoc, tensorLoc, meshLoc;
  /// Outermost first; always all of the executable axes.
  std::vector<std::string> order = {"pipeline", "data", "tensor"};
  int64_t microBatch = 0; ///< sequences per replica; 0: not given
  Loc microBatchLoc;
  bool tilesGiven = false; ///< absent: the importer's annotations for the family
  std::vector<Tile> tiles;
  PipelineSchedule schedule = PipelineSchedule::OneFOneB;
  std::vector<int64_t> layers; ///< per stage; empty: even
  Loc layersLoc;

  int64_t devices() const { return pipeline * data * tensor; }
  int64_t size(llvm::StringRef axis) const {
    return axis == "pipeline" ? pipeline : axis == "data" ? data : axis == "tensor" ? tensor : 1;
  }
  /// Where the size of an axis or of a micro-batch ("micro") was given, else the mesh.
  Loc loc(llvm::StringRef axis) const {
    Loc own = axis == "pipeline" ? pipelineLoc
              : axis == "data"   ? dataLoc
              : axis == "tensor" ? tensorLoc
                                 : microBatchLoc;
    return own.valid() ? own : meshLoc;
  }
};

/// Reads strategy.toml text.
std::optional<Strategy> readStrategy(int32_t source, Diagnostics &diags);
/// Reads the mesh string alone, the whole text of a source.
std::optional<Strategy> readMesh(int32_t source, Diagnostics &diags);

/// Fills `data` when it was left out and compares the product with the
/// cluster: larger is an error, smaller one without `allowIdle`.
bool resolveStrategy(Strategy &strategy, const Cluster &cluster, bool allowIdle, Diagnostics &diags);

std::string meshText(const Strategy &strategy);
std::string toToml(const Strategy &strategy);

/// Layers of each stage: the list, or even shares with the remainder on the
/// first stages (126 over 16: 14 x 8, 2 x 7).
std::vector<int64_t> stageLayers(const Strategy &strategy, int64_t layers);

} // namespace hocket
