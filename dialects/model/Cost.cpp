//===- Cost.cpp - Letters needed whole, and operations counted --------------===//
//
// Operations are counted on the extents of the op's own types, so the same rule
// serves global and local programs.  exp, tanh, a division count as one.
//
//===----------------------------------------------------------------------===//
#include "dialects/model/Model.h"

using namespace mlir;
using namespace hocket::model;

static double product(Operation *op, StringRef letters) {
  auto extent = extents(op, cast<LetterOp>(op).getLetters());
  double n = 1;
  for (char c : letters)
    n *= double(extent[c]);
  return n;
}

/// Share of the (query, key) pairs that a mask leaves: t + 1 of 2t for causal
/// with as many keys as queries.
static double pairs(Operation *op, StringRef mask, StringRef qpos, StringRef kpos) {
  double queries = product(op, qpos), keys = product(op, kpos);
  return mask == "causal" && queries == keys ? (keys + 1) / (2 * keys) : 1.0;
}

//===----------------------------------------------------------------------===//
// Norms: square, add, scale by r and w, and the mean's part
//===----------------------------------------------------------------------===//

std::string RmsNormOp::getWholeLetters() { return getLetters().operands[1]; }
double RmsNormOp::getFlops() { return 4 * product(*this, getLetters().operands[0]); }
std::string RmsNormGradOp::getWholeLetters() { return getLetters().operands[3]; }
double RmsNormGradOp::getFlops() { return 11 * product(*this, getLetters().operands[1]); }
std::string LayerNormOp::getWholeLetters() { return getLetters().operands[1]; }
double LayerNormOp::getFlops() { return 8 * product(*this, getLetters().operands[0]); }
std::string LayerNormGradOp::getWholeLetters() { return getLetters().operands[4]; }
double LayerNormGradOp::getFlops() { return 14 * product(*this, getLetters().operands[1]); }

//===----------------------------------------------------------------------===//
// Rope, attention, cross-entropy
//===----------------------------------------------------------------------===//

std::string RopeOp::getWholeLetters() {
  return getLetters().operands[0].substr(getLetters().operands[0].size() - 1);
}
double RopeOp::getFlops() { return 3 * product(*this, getLetters().operands[0]); }

std::string AttentionOp::getWholeLetters() {
  Dims d = getLetters();
  return d.operands[3] + d.operands[4] + minus(d.operands[0], d.results[1]);
}

/// Two products of d, and of each score: scale, subtract, exp, add, maximum.
double AttentionOp::getFlops() {
  Dims d = getLetters();
  double scores = product(*this, unite(d.results[1], d.operands[4])) *
                  pairs(*this, getMask(), d.operands[3], d.operands[4]);
  return scores * (4 * product(*this, minus(d.operands[0], d.results[1])) + 5);
}

std::string AttentionGradOp::getWholeLetters() {
  Dims d = getLetters();
  return d.operands[6] + d.operands[7] + minus(d.operands[1], d.operands[5]);
}

/// Five products of d: scores again, dp, dq, dk, dv.
double AttentionGradOp::getFlops() {
  Dims d = getLetters();
  double scores = product(*this, unite(d.operands[5], d.operands[7])) *
                  pairs(*this, getMask(), d.operands[6], d.operands[7]);
  return scores * (10 * product(*this, minus(d.operands[1], d.operands[5])) + 6) +
         2 * product(*this, d.operands[1]);
}

std::string XentOp::getWholeLetters() { return minus(getLetters().operands[0], getLetters().operands[1]); }
double XentOp::getFlops() { return 4 * product(*this, getLetters().operands[0]); }
std::string XentGradOp::getWholeLetters() {
  return minus(getLetters().operands[0], getLetters().operands[1]);
}
double XentGradOp::getFlops() { return 4 * product(*this, getLetters().operands[0]); }
