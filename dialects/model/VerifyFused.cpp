//===- VerifyFused.cpp - What each fused op asks for ------------------------===//
#include "dialects/model/Verify.h"

#include <cmath>

using namespace mlir;
using namespace hocket::model;

static LogicalResult verifyPositive(Operation *op, StringRef what, double value) {
  if (std::isfinite(value) && value > 0)
    return success();
  return op->emitOpError(what) << " must be finite and greater than 0";
}

/// The one letter of `letters`, which must be in `of`.
static LogicalResult verifyOneOf(Operation *op, StringRef what, StringRef letters, StringRef of) {
  if (letters.size() == 1 && of.contains(letters[0]))
    return success();
  return op->emitOpError(what) << " must have one letter, out of \"" << of << "\"; it has \"" << letters
                               << "\"";
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  if (failed(verifyFloats(*this, {0, 1})) || failed(verifyPositive(*this, "eps", getEps().convertToDouble())))
    return failure();
  Dims dims = getLetters();
  StringRef x = dims.operands[0], w = dims.operands[1];
  return failure(failed(verifyOneOf(*this, "w", w, x)) ||
                 failed(verifySame(*this, "y", dims.results[0], x)) ||
                 failed(verifySame(*this, "r", dims.results[1], minus(x, w))));
}

LogicalResult RmsNormGradOp::verify() {
  if (failed(verifyFloats(*this, {0, 1, 2, 3})))
    return failure();
  Dims dims = getLetters();
  StringRef x = dims.operands[1], w = dims.operands[3];
  return failure(failed(verifyOneOf(*this, "w", w, x)) ||
                 failed(verifySame(*this, "dy", dims.operands[0], x)) ||
                 failed(verifySame(*this, "r", dims.operands[2], minus(x, w))) ||
                 failed(verifySame(*this, "dx", dims.results[0], x)) ||
                 failed(verifySame(*this, "dw", dims.results[1], w)));
}

LogicalResult LayerNormOp::verify() {
  if (failed(verifyFloats(*this, {0, 1, 2})) ||
      failed(verifyPositive(*this, "eps", getEps().convertToDouble())))
    return failure();
  Dims dims = getLetters();
  StringRef x = dims.operands[0], w = dims.operands[1];
  std::string rows = minus(x, w);
  return failure(failed(verifyOneOf(*this, "w", w, x)) ||
                 failed(verifySame(*this, "b", dims.operands[2], w)) ||
                 failed(verifySame(*this, "y", dims.results[0], x)) ||
                 failed(verifySame(*this, "mean", dims.results[1], rows)) ||
                 failed(verifySame(*this, "r", dims.results[2], rows)));
}

LogicalResult LayerNormGradOp::verify() {
  if (failed(verifyFloats(*this, {0, 1, 2, 3, 4})))
    return failure();
  Dims dims = getLetters();
  StringRef x = dims.operands[1], w = dims.operands[4];
  std::string rows = minus(x, w);
  return failure(failed(verifyOneOf(*this, "w", w, x)) ||
                 failed(verifySame(*this, "dy", dims.operands[0], x)) ||
                 failed(verifySame(*this, "mean", dims.operands[2], rows)) ||
                 failed(verifySame(*this, "r", dims.operands[3], rows)) ||
                 failed(verifySame(*this, "dx", dims.results[0], x)) ||
                 failed(verifySame(*this, "dw", dims.results[1], w)) ||
                 failed(verifySame(*this, "db", dims.results[2], w)));
}

//===----------------------------------------------------------------------===//
// Rope
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  if (failed(verifyFloats(*this, {0})) || failed(verifyIntegers(*this, getPositions(), "positions")) ||
      failed(verifyPositive(*this, "theta", getTheta().convertToDouble())))
    return failure();
  Dims dims = getLetters();
  StringRef x = dims.operands[0];
  if (x.empty() || cast<RankedTensorType>(getX().getType()).getShape().back() % 2)
    return emitOpError("rotates halves: the last letter must have an even extent");
  if (failed(verifyOneOf(*this, "positions", dims.operands[1], x.drop_back())) ||
      failed(verifySame(*this, "result", dims.results[0], x)))
    return failure();
  if (auto scaling = getScaling()) {
    if (scaling->size() != 4)
      return emitOpError("scaling must be [factor, low, high, original]");
    for (double value : *scaling)
      if (failed(verifyPositive(*this, "scaling", value)))
        return failure();
    if ((*scaling)[1] >= (*scaling)[2])
      return emitOpError("scaling must have low < high");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// q "bsgrd", k "btgd", e "bsgr", positions "s" and "t".
static LogicalResult verifyAttention(Operation *op, StringRef q, StringRef k, StringRef v, StringRef e,
                                     StringRef qpos, StringRef kpos, StringRef mask, double scale) {
  if (mask != "causal" && mask != "none")
    return op->emitOpError("mask must be \"causal\" or \"none\", not \"") << mask << "\"";
  if (failed(verifyPositive(op, "scale", scale)) || failed(verifyOneOf(op, "query positions", qpos, q)) ||
      failed(verifyOneOf(op, "key positions", kpos, minus(k, q))) || failed(verifySame(op, "v", v, k)))
    return failure();
  std::string d = minus(q, e);
  if (d.size() != 1 || !k.contains(d[0]))
    return op->emitOpError("q and e must differ in one letter, which k has; they differ in \"") << d << "\"";
  if (failed(verifySame(op, "e", e, minus(q, d))))
    return failure();
  if (k.contains(qpos[0]))
    return op->emitOpError("k has the letter '") << qpos[0] << "' of the query positions";
  if (std::string extra = minus(minus(k, kpos), q); !extra.empty())
    return op->emitOpError("letter '") << extra[0] << "' of k is not in q";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyFloats(*this, {0, 1, 2})) || failed(verifyIntegers(*this, getQpos(), "query positions")) ||
      failed(verifyIntegers(*this, getKpos(), "key positions")))
    return failure();
  Dims d = getLetters();
  if (failed(verifyAttention(*this, d.operands[0], d.operands[1], d.operands[2], d.results[1], d.operands[3],
                             d.operands[4], getMask(), getScale().convertToDouble())))
    return failure();
  return verifySame(*this, "o", d.results[0], d.operands[0]);
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyFloats(*this, {0, 1, 2, 3, 4, 5})) ||
      failed(verifyIntegers(*this, getQpos(), "query positions")) ||
      failed(verifyIntegers(*this, getKpos(), "key positions")))
    return failure();
  Dims d = getLetters();
  StringRef q = d.operands[1], k = d.operands[2];
  if (failed(verifyAttention(*this, q, k, d.operands[3], d.operands[5], d.operands[6], d.operands[7],
                             getMask(), getScale().convertToDouble())))
    return failure();
  return failure(
      failed(verifySame(*this, "dout", d.operands[0], q)) ||
      failed(verifySame(*this, "o", d.operands[4], q)) || failed(verifySame(*this, "dq", d.results[0], q)) ||
      failed(verifySame(*this, "dk", d.results[1], k)) || failed(verifySame(*this, "dv", d.results[2], k)));
}

//===----------------------------------------------------------------------===//
// Cross-entropy
//===----------------------------------------------------------------------===//

static LogicalResult verifyXent(Operation *op, StringRef logits, StringRef labels, StringRef lse,
                                double scale, std::optional<uint64_t> valid) {
  if (failed(verifyPositive(op, "scale", scale)))
    return failure();
  std::string v = minus(logits, labels);
  if (v.size() != 1)
    return op->emitOpError("logits must have one letter that the labels lack, not \"") << v << "\"";
  if (failed(verifySame(op, "labels", labels, minus(logits, v))) ||
      failed(verifySame(op, "lse", lse, labels)))
    return failure();
  int64_t classes = cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(logits.find(v[0]));
  if (valid && (int64_t(*valid) < 1 || int64_t(*valid) > classes))
    return op->emitOpError("valid must be in [1, ") << classes << "], the classes";
  return success();
}

LogicalResult XentOp::verify() {
  if (failed(verifyFloats(*this, {0})) || failed(verifyIntegers(*this, getLabels(), "labels")))
    return failure();
  Dims d = getLetters();
  if (failed(verifyXent(*this, d.operands[0], d.operands[1], d.results[1], getScale().convertToDouble(),
                        getValid())))
    return failure();
  return verifySame(*this, "loss", d.results[0], "");
}

LogicalResult XentGradOp::verify() {
  if (failed(verifyFloats(*this, {0, 2})) || failed(verifyIntegers(*this, getLabels(), "labels")))
    return failure();
  Dims d = getLetters();
  if (failed(verifyXent(*this, d.operands[0], d.operands[1], d.operands[2], getScale().convertToDouble(),
                        getValid())))
    return failure();
  return verifySame(*this, "result", d.results[0], d.operands[0]);
}
