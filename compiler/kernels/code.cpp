#include "compiler/kernels/code.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace hocket::kernels {

/// Not `fast`: masks are infinities, and non-finite values must be seen.
static constexpr arith::FastMathFlags kFlags = arith::FastMathFlags::reassoc | arith::FastMathFlags::nsz |
                                               arith::FastMathFlags::arcp | arith::FastMathFlags::contract |
                                               arith::FastMathFlags::afn;

int64_t X::width() const {
  auto vector = dyn_cast<VectorType>(type());
  return vector ? vector.getNumElements() : 1;
}

/// Equal widths, by broadcast of the narrower.
static void meet(X &a, X &b) {
  if (a.width() < b.width())
    a = a.c->splat(a, b.width());
  else if (b.width() < a.width())
    b = b.c->splat(b, a.width());
}

template <typename F, typename I>
static X binary(X a, X b) {
  meet(a, b);
  Code &c = *a.c;
  if (a.isFloat())
    return c.wrap(F::create(c.b, c.loc, a.v, b.v, kFlags));
  return c.wrap(I::create(c.b, c.loc, a.v, b.v));
}
template <typename I>
static X integer(X a, X b) {
  meet(a, b);
  return a.c->wrap(I::create(a.c->b, a.c->loc, a.v, b.v));
}

X operator+(X a, X b) { return binary<arith::AddFOp, arith::AddIOp>(a, b); }
X operator-(X a, X b) { return binary<arith::SubFOp, arith::SubIOp>(a, b); }
X operator*(X a, X b) { return binary<arith::MulFOp, arith::MulIOp>(a, b); }
X operator/(X a, X b) { return binary<arith::DivFOp, arith::DivUIOp>(a, b); }
X operator%(X a, X b) { return integer<arith::RemUIOp>(a, b); }
X operator&(X a, X b) { return integer<arith::AndIOp>(a, b); }
X operator^(X a, X b) { return integer<arith::XOrIOp>(a, b); }
X operator>>(X a, X b) { return integer<arith::ShRUIOp>(a, b); }
X operator-(X a) { return a.c->wrap(arith::NegFOp::create(a.c->b, a.c->loc, a.v, kFlags)); }

static X compare(X a, X b, arith::CmpFPredicate f, arith::CmpIPredicate i) {
  meet(a, b);
  Code &c = *a.c;
  if (a.isFloat())
    return c.wrap(arith::CmpFOp::create(c.b, c.loc, f, a.v, b.v));
  return c.wrap(arith::CmpIOp::create(c.b, c.loc, i, a.v, b.v));
}
X operator<(X a, X b) { return compare(a, b, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt); }
X operator<=(X a, X b) { return compare(a, b, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle); }
X operator>(X a, X b) { return compare(a, b, arith::CmpFPredicate::OGT, arith::CmpIPredicate::sgt); }
X operator>=(X a, X b) { return compare(a, b, arith::CmpFPredicate::OGE, arith::CmpIPredicate::sge); }
X equal(X a, X b) { return compare(a, b, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq); }

X constantLike(X like, double v) {
  Type t = like.element();
  return isa<FloatType>(t) ? like.c->real(v, t) : like.c->integer(int64_t(v), t);
}
X constantLike(X like, int64_t v) {
  Type t = like.element();
  return isa<FloatType>(t) ? like.c->real(double(v), t) : like.c->integer(v, t);
}

X select(X condition, X a, X b) {
  meet(a, b);
  if (condition.width() < a.width())
    condition = a.c->splat(condition, a.width());
  else if (condition.width() > a.width()) {
    a = a.c->splat(a, condition.width());
    b = b.c->splat(b, condition.width());
  }
  return a.c->wrap(arith::SelectOp::create(a.c->b, a.c->loc, condition.v, a.v, b.v));
}

X fma(X a, X b, X c) {
  meet(a, b);
  meet(a, c);
  meet(b, c);
  return a.c->wrap(math::FmaOp::create(a.c->b, a.c->loc, a.v, b.v, c.v));
}

X larger(X a, X b) { return select(a > b, a, b); }

template <typename Op>
static X unary(X a) {
  return a.c->wrap(Op::create(a.c->b, a.c->loc, a.v, kFlags));
}
X exp(X a) { return unary<math::ExpOp>(a); }
X log(X a) { return unary<math::LogOp>(a); }
X sqrt(X a) { return unary<math::SqrtOp>(a); }
X cos(X a) { return unary<math::CosOp>(a); }

//===----------------------------------------------------------------------===//
// Values and memory
//===----------------------------------------------------------------------===//

Code::Code(func::FuncOp fn, Type type)
    : b(fn.getContext()), loc(fn.getLoc()), type(type), entry(&fn.getBody().front()) {
  b.setInsertionPointToEnd(entry);
}

int64_t Code::lanesOf(Type element) {
  return element.isIndex() ? 8 : 64 * 8 / std::max(32u, element.getIntOrFloatBitWidth());
}

X Code::index(int64_t v) { return wrap(arith::ConstantIndexOp::create(b, loc, v)); }
X Code::real(double v, Type t) { return wrap(arith::ConstantOp::create(b, loc, b.getFloatAttr(t, v))); }
X Code::integer(int64_t v, Type t) { return wrap(arith::ConstantOp::create(b, loc, b.getIntegerAttr(t, v))); }

X Code::splat(X x, int64_t w) {
  if (w == 1 || x.width() == w)
    return x;
  return wrap(vector::BroadcastOp::create(b, loc, VectorType::get({w}, x.type()), x.v));
}

X Code::load(Value mem, X offset, int64_t w) {
  if (w == 1)
    return wrap(memref::LoadOp::create(b, loc, mem, ValueRange{offset.v}));
  auto element = mlir::cast<MemRefType>(mem.getType()).getElementType();
  return wrap(vector::LoadOp::create(b, loc, VectorType::get({w}, element), mem, ValueRange{offset.v}));
}

X Code::loadStrided(Value mem, X offset, int64_t stride, int64_t w) {
  if (stride == 1)
    return load(mem, offset, w);
  if (stride == 0 || w == 1)
    return load(mem, offset, 1);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < w; ++i)
    parts.push_back(load(mem, offset + i * stride).v);
  auto element = mlir::cast<MemRefType>(mem.getType()).getElementType();
  return wrap(vector::FromElementsOp::create(b, loc, VectorType::get({w}, element), parts));
}

void Code::store(X x, Value mem, X offset, int64_t w) {
  x = splat(x, w);
  if (x.width() == 1 && !isa<VectorType>(x.type()))
    memref::StoreOp::create(b, loc, x.v, mem, ValueRange{offset.v});
  else
    vector::StoreOp::create(b, loc, x.v, mem, ValueRange{offset.v});
}

Value Code::stack(int64_t elements, Type t) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return memref::AllocaOp::create(b, loc, MemRefType::get({elements}, t), b.getI64IntegerAttr(64));
}

X Code::toIndex(X x) {
  return x.type().isIndex() ? x : wrap(arith::IndexCastOp::create(b, loc, b.getIndexType(), x.v));
}

X Code::cast(X x, Type t) {
  Type from = x.element(), to = t;
  if (from == to)
    return x;
  Type result = isa<VectorType>(x.type()) ? Type(VectorType::get({x.width()}, t)) : t;
  if (from.isIndex() || to.isIndex())
    return wrap(arith::IndexCastOp::create(b, loc, result, x.v));
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return wrap(arith::ExtFOp::create(b, loc, result, x.v));
    return wrap(arith::TruncFOp::create(b, loc, result, x.v));
  }
  if (isa<FloatType>(to))
    return wrap(arith::SIToFPOp::create(b, loc, result, x.v));
  if (isa<FloatType>(from))
    return wrap(arith::FPToSIOp::create(b, loc, result, x.v));
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return wrap(arith::ExtSIOp::create(b, loc, result, x.v));
  return wrap(arith::TruncIOp::create(b, loc, result, x.v));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Xs Code::loop(X lo, X hi, int64_t step, ArrayRef<X> init, function_ref<Xs(X, ArrayRef<X>)> body) {
  SmallVector<Value> inits;
  for (X x : init)
    inits.push_back(x.v);
  X stride = index(step);
  auto loop = scf::ForOp::create(b, loc, lo.v, hi.v, stride.v, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (init.empty())
    b.setInsertionPoint(block->getTerminator());
  else
    b.setInsertionPointToEnd(block);
  Xs args;
  for (Value v : loop.getRegionIterArgs())
    args.push_back(wrap(v));
  Xs next = body(wrap(loop.getInductionVar()), args);
  if (!init.empty()) {
    SmallVector<Value> values;
    for (X x : next)
      values.push_back(x.v);
    scf::YieldOp::create(b, loc, values);
  }
  Xs results;
  for (Value v : loop.getResults())
    results.push_back(wrap(v));
  return results;
}

void Code::loop(X lo, X hi, int64_t step, function_ref<void(X)> body) {
  loop(lo, hi, step, {}, [&](X i, ArrayRef<X>) {
    body(i);
    return Xs();
  });
}

Xs Code::nest(ArrayRef<int64_t> extents, ArrayRef<X> init, function_ref<Xs(ArrayRef<X>, ArrayRef<X>)> body) {
  Xs indices;
  std::function<Xs(size_t, ArrayRef<X>)> level = [&](size_t d, ArrayRef<X> acc) -> Xs {
    if (d == extents.size())
      return body(indices, acc);
    X lo = index(0);
    X hi = index(extents[d]);
    return loop(lo, hi, 1, acc, [&](X i, ArrayRef<X> inner) {
      indices.push_back(i);
      Xs next = level(d + 1, inner);
      indices.pop_back();
      return next;
    });
  };
  return level(0, init);
}

void Code::nest(ArrayRef<int64_t> extents, function_ref<void(ArrayRef<X>)> body) {
  nest(extents, {}, [&](ArrayRef<X> indices, ArrayRef<X>) {
    body(indices);
    return Xs();
  });
}

void Code::when(X condition, function_ref<void()> then, function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(b, loc, condition.v, bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(op.elseBlock()->getTerminator());
    otherwise();
  }
}

X Code::choose(X condition, function_ref<X()> then, function_ref<X()> otherwise) {
  Type t;
  // The result type is known once a branch is built: build them in detached blocks.
  Region scratch;
  Block *first = new Block, *second = new Block;
  scratch.push_back(first);
  scratch.push_back(second);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(first);
    X x = then();
    t = x.type();
    scf::YieldOp::create(b, loc, x.v);
    b.setInsertionPointToEnd(second);
    X y = otherwise();
    scf::YieldOp::create(b, loc, y.v);
  }
  auto built = scf::IfOp::create(b, loc, TypeRange{t}, condition.v, true);
  auto move = [](Block *from, Region &to) {
    if (to.empty())
      to.push_back(new Block);
    Block &into = to.front();
    into.clear();
    into.getOperations().splice(into.end(), from->getOperations());
  };
  move(first, built.getThenRegion());
  move(second, built.getElseRegion());
  return wrap(built.getResult(0));
}

void Code::lanes(int64_t n, function_ref<void(X, int64_t)> body) {
  int64_t w = lanesOf(), main = n / w * w;
  if (main == w) {
    body(index(0), w);
  } else if (main) {
    X lo = index(0);
    X hi = index(main);
    loop(lo, hi, w, [&](X i) { body(i, w); });
  }
  if (n > main)
    body(index(main), n - main);
}

void Code::lanes(X lo, X hi, int64_t n, function_ref<void(X, int64_t)> body) {
  int64_t w = lanesOf(), main = n / w * w;
  X limit = index(main);
  X end = select(hi < limit, hi, limit);
  if (main)
    loop(lo, end, w, [&](X i) { body(i, w); });
  if (n > main)
    when(equal(hi, index(n)), [&] { body(index(main), n - main); });
}

X Code::neutral(Fold kind) { return kind == Sum ? real(0) : real(-std::numeric_limits<double>::infinity()); }
X Code::combine(X a, X b, Fold kind) { return kind == Sum ? a + b : larger(a, b); }
X Code::reduce(X x, Fold kind) {
  if (!isa<VectorType>(x.type()))
    return x;
  auto how = kind == Sum ? vector::CombiningKind::ADD : vector::CombiningKind::MAXNUMF;
  return wrap(vector::ReductionOp::create(b, loc, how, x.v, kFlags));
}

Xs Code::fold(int64_t n, ArrayRef<Fold> kinds, function_ref<Xs(X, int64_t)> body) {
  int64_t w = lanesOf(), main = n / w * w;
  Xs total;
  if (main) {
    Xs init;
    for (Fold k : kinds)
      init.push_back(splat(neutral(k), w));
    X lo = index(0);
    X hi = index(main);
    Xs acc = loop(lo, hi, w, init, [&](X i, ArrayRef<X> acc) {
      Xs next = body(i, w);
      for (auto [a, x, k] : llvm::zip(acc, next, kinds))
        x = combine(a, splat(x, w), k);
      return next;
    });
    for (auto [a, k] : llvm::zip(acc, kinds))
      total.push_back(reduce(a, k));
  }
  if (n > main) {
    Xs rest = body(index(main), n - main);
    for (auto [j, k] : llvm::enumerate(kinds)) {
      X r = reduce(splat(rest[j], n - main), k);
      if (main)
        total[j] = combine(total[j], r, k);
      else
        total.push_back(r);
    }
  }
  return total;
}

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

/// Accumulators that fit AVX2's sixteen registers and hide most of an FMA's latency.
static constexpr int64_t kRows = 6;

static void multiplyBlock(Code &c, int64_t rows, int64_t w, int64_t k, Matrix a, Matrix b, Matrix out, X i,
                          X j, bool accumulate) {
  Xs outAt, aAt, init;
  for (int64_t r = 0; r < rows; ++r) {
    X row = i + r;
    aAt.push_back(a.base + row * a.rows);
    outAt.push_back(out.base + row * out.rows + j);
    init.push_back(accumulate ? c.load(out.mem, outAt.back(), w) : c.splat(c.real(0), w));
  }
  X bAt = b.base + j;
  X lo = c.index(0);
  X hi = c.index(k);
  Xs sums = c.loop(lo, hi, 1, init, [&](X p, ArrayRef<X> acc) {
    X line = c.load(b.mem, bAt + p * b.rows, w);
    X step = p * a.columns;
    Xs next;
    for (int64_t r = 0; r < rows; ++r) {
      X x = c.load(a.mem, aAt[r] + step);
      next.push_back(x * line + acc[r]);
    }
    return next;
  });
  for (int64_t r = 0; r < rows; ++r)
    c.store(sums[r], out.mem, outAt[r]);
}

void multiply(Code &c, int64_t m, int64_t n, int64_t k, Matrix a, Matrix b, Matrix out, bool accumulate) {
  int64_t main = m / kRows * kRows;
  c.lanes(n, [&](X j, int64_t w) {
    if (main) {
      X lo = c.index(0);
      X hi = c.index(main);
      c.loop(lo, hi, kRows, [&](X i) { multiplyBlock(c, kRows, w, k, a, b, out, i, j, accumulate); });
    }
    if (m > main)
      multiplyBlock(c, m - main, w, k, a, b, out, c.index(main), j, accumulate);
  });
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static bool mayMove(Operation &op) {
  return !op.hasTrait<OpTrait::IsTerminator>() && op.getNumRegions() == 0 &&
         (isPure(&op) || isa<memref::LoadOp, vector::LoadOp>(op));
}

static void number(Operation *user, Block *block, llvm::DenseMap<Operation *, unsigned> &order) {
  // Operands first, left to right; then what nested ops use, in their order.
  auto visit = [&](Value v, auto &visit) -> void {
    Operation *def = v.getDefiningOp();
    if (!def || def->getBlock() != block || !mayMove(*def) || order.count(def))
      return;
    for (Value operand : def->getOperands())
      visit(operand, visit);
    order.try_emplace(def, order.size());
  };
  user->walk<WalkOrder::PreOrder>([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      visit(operand, visit);
  });
}

static void normalizeBlock(Block &block) {
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        normalizeBlock(inner);
  llvm::DenseMap<Operation *, unsigned> order;
  for (Operation &op : block)
    if (!mayMove(op))
      number(&op, &block, order);
  SmallVector<Operation *> segment, dead;
  auto flush = [&](Operation *before) {
    llvm::sort(segment, [&](Operation *a, Operation *b) { return order[a] < order[b]; });
    for (Operation *op : segment)
      op->moveBefore(before);
    segment.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!mayMove(op))
      flush(&op);
    else if (order.count(&op))
      segment.push_back(&op);
    else
      dead.push_back(&op);
  }
  for (Operation *op : llvm::reverse(dead))
    op->erase();
}

void normalizeOrder(func::FuncOp fn) {
  for (Block &block : fn.getBody())
    normalizeBlock(block);
}

} // namespace hocket::kernels
