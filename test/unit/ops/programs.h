//===- programs.h - Trainable programs around one op -------------------------===//
//
// Every op of `model` that a program may hold, in a layer or behind the layers
// of the smallest model that can be trained: an embedding, layers, a head and
// its cross-entropy. A letter means the same dimension throughout a program, so
// tiling it wherever arguments have it shards the op by it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hocket::test::ops {

using Extents = std::map<char, int64_t>;

/// b, s, h, g, r, d, t and p divide by 2, 3 and 4; f and v by none of them.
Extents extents();

struct Parameter {
  std::string name, dims;
};

/// "y,r = model.op(x, w) {dims = "bsh,h->bsh,bs"}": names without %, types by letters.
struct Line {
  std::string results, op, operands, dims, attributes, region;
};

struct Program {
  std::string name, letters;         ///< the letters to shard it by; l: by pipeline
  std::vector<Parameter> layer;      ///< of the layers: "layer.w" in the step
  std::vector<Line> body;            ///< from x, positions, keys and tokens to z, both bsh
  std::vector<Parameter> outer = {}; ///< of the loss
  std::vector<Line> front = {}; ///< from e (and positions) to x0, the first x; empty: the embedding e alone
  std::map<char, std::string> refused = {}; ///< letters that no strategy shards, with what the error must say
  int64_t layers = 2;
};

std::vector<Program> programs();

/// The module that import would leave.
std::string moduleText(const Program &program, const Extents &extents);

/// Names of the arguments of the loss that have `letter`.
std::vector<std::string> holders(const Program &program, char letter);

/// A program sharded by one of its letters.
struct Sharded {
  std::string name;
  char letter;
  int64_t size;
};

/// Every letter of every program on 2, 3 and 4 ranks; the sizes of one letter follow each other.
std::vector<Sharded> everything();
/// Those that the test at hand takes: slice.cpp or sweep.cpp.
std::vector<Sharded> cases();

} // namespace hocket::test::ops
