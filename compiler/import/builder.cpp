#include "compiler/import/builder.h"

#include <cmath>

using namespace mlir;
using namespace hocket::model;

namespace hocket::importer {
using mlir::Value; // not the one of the readers

//===----------------------------------------------------------------------===//
// Body
//===----------------------------------------------------------------------===//

const Term &Body::operator[](StringRef name) const {
  auto it = named.find(name.str());
  if (it == named.end())
    llvm::report_fatal_error("import: no argument named '" + name + "'");
  return it->second;
}

Location Body::at(StringRef name) { return NameLoc::get(builder.getStringAttr(name), loc); }

void Body::setNames(Operation *op, ArrayRef<StringRef> names) {
  op->setAttr(kNames, builder.getStrArrayAttr(names));
}

Term Body::dot(StringRef name, const Term &a, const Term &b, StringRef result) {
  Term term = Build(builder, at(name)).dot(a, b, result);
  setNames(term.value.getDefiningOp(), name);
  return term;
}

Term Body::map(StringRef name, ArrayRef<Term> inputs, StringRef result, ScalarFn body) {
  Term term = Build(builder, at(name)).map(inputs, result, body);
  setNames(term.value.getDefiningOp(), name);
  return term;
}

Term Body::add(StringRef name, ArrayRef<Term> inputs) {
  return map(name, inputs, inputs[0].letters, [](ImplicitLocOpBuilder &b, ValueRange a) -> Scalars {
    Value sum = a[0];
    for (Value value : a.drop_front())
      sum = arith::AddFOp::create(b, sum, value);
    return {sum};
  });
}

Term Body::gather(StringRef name, const Term &table, const Term &indices, StringRef result) {
  Term term = Build(builder, at(name)).gather(table, indices, result);
  setNames(term.value.getDefiningOp(), name);
  return term;
}

/// The type of `like` without letter `letter`.
static Type without(const Term &like, char letter) {
  SmallVector<int64_t> shape;
  for (char c : like.letters)
    if (c != letter)
      shape.push_back(like.extent(c));
  return RankedTensorType::get(shape, like.element());
}

Terms Body::rmsnorm(ArrayRef<StringRef> names, const Term &x, const Term &w, double eps) {
  std::string rows = minus(x.letters, w.letters);
  auto op =
      RmsNormOp::create(builder, at(names[0]), x.value.getType(), without(x, w.letters[0]), x.value, w.value,
                        x.letters + "," + w.letters + "->" + x.letters + "," + rows, llvm::APFloat(eps));
  setNames(op, names);
  return {resultTerm(op, 0), resultTerm(op, 1)};
}

Terms Body::layernorm(ArrayRef<StringRef> names, const Term &x, const Term &w, const Term &b, double eps) {
  std::string rows = minus(x.letters, w.letters);
  Type row = without(x, w.letters[0]);
  auto op = LayerNormOp::create(builder, at(names[0]), x.value.getType(), row, row, x.value, w.value, b.value,
                                x.letters + "," + w.letters + "," + b.letters + "->" + x.letters + "," +
                                    rows + "," + rows,
                                llvm::APFloat(eps));
  setNames(op, names);
  return {resultTerm(op, 0), resultTerm(op, 1), resultTerm(op, 2)};
}

Term Body::rope(StringRef name, const Term &x, const Term &positions, double theta,
                const std::optional<RopeScaling> &scaling) {
  DenseF64ArrayAttr attr;
  if (scaling)
    attr = builder.getDenseF64ArrayAttr({scaling->factor, scaling->lowFreqFactor, scaling->highFreqFactor,
                                         double(scaling->originalMaxPositions)});
  auto op = RopeOp::create(builder, at(name), x.value.getType(), x.value, positions.value,
                           builder.getStringAttr(x.letters + "," + positions.letters + "->" + x.letters),
                           builder.getF64FloatAttr(theta), attr, UnitAttr());
  setNames(op, name);
  return resultTerm(op, 0);
}

Term Body::attention(ArrayRef<StringRef> names, const Term &q, const Term &k, const Term &v,
                     const Term &positions, double scale) {
  Term keys = k.renamed('s', 't'), values = v.renamed('s', 't');
  std::string rows = minus(q.letters, "d");
  std::string dims =
      q.letters + "," + keys.letters + "," + values.letters + ",s,t->" + q.letters + "," + rows;
  auto op =
      AttentionOp::create(builder, at(names[0]), q.value.getType(), without(q, 'd'), q.value, k.value,
                          v.value, positions.value, positions.value, dims, "causal", llvm::APFloat(scale));
  setNames(op, names);
  return resultTerm(op, 0);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static Parameter normal(std::string name, std::string dims, std::string checkpoint, std::string layout,
                        double std) {
  Parameter p{std::move(name), std::move(dims), {}};
  p.param.name = std::move(checkpoint);
  p.param.layout = std::move(layout);
  p.param.init = std > 0 ? "normal" : "zero";
  p.param.std = std;
  p.param.decay = true;
  return p;
}

Parameter FamilyBuilder::matrix(std::string name, std::string dims, std::string checkpoint,
                                std::string layout) const {
  return normal(name, dims, checkpoint, layout, config.initializerRange);
}

Parameter FamilyBuilder::residual(std::string name, std::string dims, std::string checkpoint,
                                  std::string layout) const {
  return normal(name, dims, checkpoint, layout,
                config.initializerRange / std::sqrt(2.0 * double(config.layers)));
}

Parameter FamilyBuilder::vector(std::string name, std::string dims, std::string checkpoint,
                                std::string layout, std::string init) const {
  Parameter p = normal(name, dims, checkpoint, layout, 0);
  p.param.init = init;
  p.param.decay = false;
  return p;
}

double FamilyBuilder::attentionScale() const {
  return config.scaleAttention ? 1 / std::sqrt(double(config.headDim)) : 1.0;
}

} // namespace hocket::importer
