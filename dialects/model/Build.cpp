#include "dialects/model/Build.h"

using namespace mlir;

namespace hocket::model {

int64_t Term::extent(char letter) const {
  return cast<RankedTensorType>(value.getType()).getDimSize(letters.find(letter));
}

Term Term::renamed(char from, char to) const {
  Term term = *this;
  std::replace(term.letters.begin(), term.letters.end(), from, to);
  return term;
}

Term operandTerm(Operation *op, unsigned i) {
  return {op->getOperand(i), cast<LetterOp>(op).getLetters().operands[i]};
}
Term resultTerm(Operation *op, unsigned i) {
  return {op->getResult(i), cast<LetterOp>(op).getLetters().results[i]};
}

static Extents extentsOf(ArrayRef<Term> terms, const Extents &extra = {}) {
  Extents extents = extra;
  for (const Term &term : terms)
    for (char c : term.letters)
      extents[c] = term.extent(c);
  return extents;
}

static std::string dimsOf(ArrayRef<Term> operands, StringRef results) {
  std::string text;
  for (auto [i, term] : llvm::enumerate(operands))
    text += (i ? "," : "") + term.letters;
  return text + "->" + results.str();
}

RankedTensorType Build::type(StringRef letters, Type element, const Extents &extents) {
  SmallVector<int64_t> shape;
  for (char c : letters)
    shape.push_back(extents.at(c));
  return RankedTensorType::get(shape, element);
}

Term Build::dot(const Term &x, const Term &y, StringRef result) {
  Type t = type(result, x.element(), extentsOf({x, y}));
  return {DotOp::create(b, t, x.value, y.value, dimsOf({x, y}, result)), result.str()};
}

Term Build::reduce(const Term &input, StringRef result, StringRef kind) {
  Type t = type(result, input.element(), extentsOf(input));
  return {ReduceOp::create(b, t, input.value, dimsOf(input, result), kind), result.str()};
}

SmallVector<Term, 2> Build::mapN(ArrayRef<Term> inputs, StringRef result, ScalarFn body,
                                 const Extents &extra) {
  SmallVector<Type> elements;
  SmallVector<Location> locations;
  SmallVector<Value> values;
  for (const Term &input : inputs) {
    elements.push_back(input.element());
    locations.push_back(b.getLoc());
    values.push_back(input.value);
  }
  Region region;
  Block &block = region.emplaceBlock();
  block.addArguments(elements, locations);
  Scalars out;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    out = body(b, block.getArguments());
    YieldOp::create(b, out);
  }
  Extents extents = extentsOf(inputs, extra);
  SmallVector<Type> types;
  std::string letters;
  for (auto [i, value] : llvm::enumerate(out)) {
    types.push_back(type(result, value.getType(), extents));
    letters += (i ? "," : "") + result.str();
  }
  auto map = MapOp::create(b, types, values, dimsOf(inputs, letters));
  map.getBody().takeBody(region);
  SmallVector<Term, 2> terms;
  for (Value value : map.getResults())
    terms.push_back({value, result.str()});
  return terms;
}

Term Build::map(ArrayRef<Term> inputs, StringRef result, ScalarFn body, const Extents &extra) {
  return mapN(inputs, result, body, extra)[0];
}

Term Build::add(const Term &x, const Term &y) {
  return map({x, y}, unite(x.letters, y.letters), [](ImplicitLocOpBuilder &b, ValueRange a) -> Scalars {
    return {arith::AddFOp::create(b, a[0], a[1])};
  });
}

MapOp sum(OpBuilder &b, Location loc, StringRef letters, ValueRange terms) {
  Dims dims;
  dims.operands.assign(terms.size(), letters.str());
  dims.results = {letters.str()};
  auto map = MapOp::create(b, loc, terms[0].getType(), terms, dims.str());
  OpBuilder::InsertionGuard guard(b);
  Type element = getElementTypeOrSelf(terms[0]);
  Block *body = b.createBlock(&map.getBody());
  Value total;
  for (size_t i = 0; i < terms.size(); ++i) {
    Value a = body->addArgument(element, loc);
    if (!total)
      total = a;
    else if (isa<FloatType>(element))
      total = arith::AddFOp::create(b, loc, total, a);
    else
      total = arith::AddIOp::create(b, loc, total, a);
  }
  YieldOp::create(b, loc, total);
  return map;
}

Term Build::gather(const Term &table, const Term &indices, StringRef result) {
  Type t = type(result, table.element(), extentsOf({table, indices}));
  return {GatherOp::create(b, t, table.value, indices.value, Value(), dimsOf({table, indices}, result)),
          result.str()};
}

Term Build::scatterAdd(const Term &updates, const Term &indices, StringRef result, int64_t extent) {
  Extents extents = extentsOf({updates, indices});
  for (char c : minus(result, updates.letters))
    extents[c] = extent;
  Type t = type(result, updates.element(), extents);
  return {
      ScatterAddOp::create(b, t, updates.value, indices.value, Value(), dimsOf({updates, indices}, result)),
      result.str()};
}

Term Build::iota(char letter, int64_t extent) {
  Type t = RankedTensorType::get({extent}, b.getI32Type());
  std::string letters(1, letter);
  return {IotaOp::create(b, t, Value(), "->" + letters), letters};
}

Term Build::constant(TypedAttr value, StringRef result, const Extents &extents) {
  Type t = type(result, value.getType(), extents);
  return {ConstantOp::create(b, t, value, ("->" + result).str()), result.str()};
}

Value scalar(ImplicitLocOpBuilder &b, Type type, double value) {
  if (isa<FloatType>(type))
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, int64_t(value)));
}

} // namespace hocket::model
