//===- attention.cpp - Tiled attention and its gradient ---------------------===//
//
// A tile of query rows meets blocks of keys; no more than one tile x block of
// scores exists, in the frame. Scores are kept transposed, keys by rows, so that
// k and v are read as they lie, the softmax runs lane by lane over query rows
// (running maximum and sum, as in FlashAttention), and only the tile of q (and
// do) is transposed. Blocks that the mask hides from every row are skipped.
//
// Work of the forward kernel: (b, g, r, tile). Work of the gradient: (b, g); the
// query heads of a group and the tiles add into dk and dv in order.
//
//===----------------------------------------------------------------------===//
#include "compiler/kernels/recipe.h"

using namespace mlir;

namespace hocket::kernels {

namespace {

/// Stands for minus infinity in scores: differences of two stay finite.
constexpr double kHidden = -1e30;
constexpr int64_t kMaxHead = 512;

struct Shape {
  int64_t b, s, g, r, d, t;
  bool causal;
  double scale;
  int64_t tile() const { return std::min<int64_t>(s, d <= 128 ? 64 : 32); }
  int64_t block() const { return std::min<int64_t>(t, 64); }
  int64_t tiles() const { return ceilDiv(s, tile()); }
  /// Elements from one row to the next.
  int64_t queryRow() const { return g * r * d; }
  int64_t keyRow() const { return g * d; }
};

/// The part of a row tile that one vector covers.
struct Lane {
  int64_t at, width;
};
llvm::SmallVector<Lane> lanesOfTile(Code &c, int64_t rows) {
  llvm::SmallVector<Lane> lanes;
  for (int64_t i = 0; i < rows; i += c.lanesOf())
    lanes.push_back({i, std::min(c.lanesOf(), rows - i)});
  return lanes;
}

/// body(start, extent) for full steps and the rest.
void steps(Code &c, int64_t n, int64_t step, llvm::function_ref<void(X, int64_t)> body) {
  int64_t main = n / step * step;
  if (main == step) {
    body(c.index(0), step);
  } else if (main) {
    X lo = c.index(0);
    X hi = c.index(main);
    c.loop(lo, hi, step, [&](X i) { body(i, step); });
  }
  if (n > main)
    body(c.index(main), n - main);
}

/// Smallest and largest of n positions.
std::pair<X, X> positionRange(Code &c, Value positions, X from, int64_t n) {
  X first = c.load(positions, from);
  X lo = c.index(1);
  X hi = c.index(n);
  Xs range = c.loop(lo, hi, 1, {first, first}, [&](X i, ArrayRef<X> acc) {
    X p = c.load(positions, from + i);
    X low = select(p < acc[0], p, acc[0]);
    X high = select(p > acc[1], p, acc[1]);
    return Xs{low, high};
  });
  return {range[0], range[1]};
}

/// to[j * rows + i] = from[base + i * stride + j] * scale.
void transposeTile(Code &c, Value from, X base, int64_t stride, int64_t rows, int64_t d, double scale,
                   Value to) {
  c.loop(d, [&](X j) {
    X at = base + j;
    X line = j * rows;
    for (Lane lane : lanesOfTile(c, rows)) {
      X x = c.loadStrided(from, at + lane.at * stride, stride, lane.width);
      if (scale != 1)
        x = x * scale;
      c.store(x, to, line + lane.at, lane.width);
    }
  });
}

/// Rows of one head, densely: their own stride is often a multiple of 2 KiB,
/// which maps them to few sets of the first-level cache.
void packTile(Code &c, Value from, X base, int64_t stride, int64_t rows, int64_t d, Value to) {
  c.loop(rows, [&](X i) {
    X source = base + i * stride;
    X target = i * d;
    c.lanes(d, [&](X j, int64_t w) { c.store(c.load(from, source + j, w), to, target + j, w); });
  });
}

/// Runs `body` unless no row of the tile sees a key of the block; scores of
/// hidden pairs become kHidden first. `scores` fills them.
void maskedBlock(Code &c, const Shape &shape, Value qpos, Value kpos, X q0, int64_t rows, X k0, int64_t keys,
                 std::pair<X, X> queries, Value scores, llvm::function_ref<void()> fill,
                 llvm::function_ref<void()> body) {
  if (!shape.causal) {
    fill();
    body();
    return;
  }
  auto [first, last] = positionRange(c, kpos, k0, keys);
  c.when(first <= queries.second, [&] {
    fill();
    c.when(last > queries.first, [&] {
      c.loop(keys, [&](X j) {
        X key = c.load(kpos, k0 + j);
        X line = j * rows;
        for (Lane lane : lanesOfTile(c, rows)) {
          X query = c.load(qpos, q0 + lane.at, lane.width);
          X s = c.load(scores, line + lane.at, lane.width);
          c.store(select(query >= key, s, c.real(kHidden)), scores, line + lane.at, lane.width);
        }
      });
    });
    body();
  });
}

FailureOr<Shape> shapeOfAttention(Operation *op, Value q, Value k, StringRef mask, double scale,
                                  StringRef expected) {
  // Letters may be named otherwise: compare after renaming in order of appearance.
  auto canonical = [](StringRef text) {
    std::map<char, char> names;
    std::string out;
    for (char l : text)
      out +=
          l == ',' || l == '-' || l == '>' ? l : names.try_emplace(l, char('a' + names.size())).first->second;
    return out;
  };
  std::string dims = cast<model::LetterOp>(op).getLetters().str();
  if (canonical(dims) != canonical(expected))
    return op->emitError("the kernel takes letters as in \"") << expected << "\", not \"" << dims << "\"";
  auto qs = shapeOf(q), ks = shapeOf(k);
  if (qs[4] > kMaxHead)
    return op->emitError("head size ") << qs[4] << " is above the kernel's limit of " << kMaxHead;
  return Shape{qs[0], qs[1], qs[2], qs[3], qs[4], ks[1], mask == "causal", scale};
}

} // namespace

FailureOr<Recipe> attentionRecipe(model::AttentionOp op) {
  auto checked = shapeOfAttention(op, op.getQ(), op.getK(), op.getMask(), op.getScale().convertToDouble(),
                                  "bsgrd,btgd,btgd,s,t->bsgrd,bsgr");
  if (failed(checked))
    return failure();
  Shape shape = *checked;
  Recipe recipe;
  recipe.type = elementOf(op.getQ());
  recipe.work = shape.b * shape.g * shape.r * shape.tiles();
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value q = args[0], k = args[1], v = args[2], qpos = args[3], kpos = args[4], o = args[5], e = args[6];
    int64_t d = shape.d, most = shape.tile();
    Value turned = c.stack(d * most), scores = c.stack(shape.block() * most), sums = c.stack(most * d);
    Value packed = c.stack(shape.block() * d);
    Value top = c.stack(most), total = c.stack(most), shrink = c.stack(most);

    auto tile = [&](X b, X g, X r, X q0, int64_t rows) {
      auto lanes = lanesOfTile(c, rows);
      X head = (b * shape.s + q0) * shape.queryRow() + (g * shape.r + r) * d;
      X zero = c.index(0);
      packTile(c, q, head, shape.queryRow(), rows, d, sums);
      transposeTile(c, sums, zero, d, rows, d, shape.scale, turned);
      for (Lane lane : lanes) {
        X at = c.index(lane.at);
        c.store(c.real(kHidden), top, at, lane.width);
        c.store(c.real(0), total, at, lane.width);
      }
      c.lanes(rows * d, [&](X i, int64_t w) { c.store(c.real(0), sums, i, w); });
      auto queries = shape.causal ? positionRange(c, qpos, q0, rows) : std::pair<X, X>();
      steps(c, shape.t, shape.block(), [&](X k0, int64_t keys) {
        X line = (b * shape.t + k0) * shape.keyRow() + g * d;
        auto fill = [&] {
          packTile(c, k, line, shape.keyRow(), keys, d, packed);
          multiply(c, keys, rows, d, {packed, zero, d, 1}, {turned, zero, rows, 1}, {scores, zero, rows, 1},
                   false);
        };
        maskedBlock(c, shape, qpos, kpos, q0, rows, k0, keys, queries, scores, fill, [&] {
          Xs old;
          for (Lane lane : lanes)
            old.push_back(c.load(top, c.index(lane.at), lane.width));
          X lo = c.index(0);
          X hi = c.index(keys);
          Xs now = c.loop(lo, hi, 1, old, [&](X j, ArrayRef<X> acc) {
            X at = j * rows;
            Xs next;
            for (auto [lane, m] : llvm::zip(lanes, acc))
              next.push_back(larger(m, c.load(scores, at + lane.at, lane.width)));
            return next;
          });
          Xs init;
          for (auto [lane, before, m] : llvm::zip(lanes, old, now)) {
            X at = c.index(lane.at);
            X factor = exp(before - m);
            c.store(factor, shrink, at, lane.width);
            c.store(m, top, at, lane.width);
            init.push_back(c.load(total, at, lane.width) * factor);
          }
          Xs left = c.loop(lo, hi, 1, init, [&](X j, ArrayRef<X> acc) {
            X at = j * rows;
            Xs next;
            for (auto [lane, m, sum] : llvm::zip(lanes, now, acc)) {
              X s = c.load(scores, at + lane.at, lane.width);
              X p = select(s <= kHidden / 2, c.real(0), exp(s - m)); // NaN stays
              c.store(p, scores, at + lane.at, lane.width);
              next.push_back(sum + p);
            }
            return next;
          });
          for (auto [lane, sum] : llvm::zip(lanes, left))
            c.store(sum, total, c.index(lane.at), lane.width);
          c.loop(rows, [&](X i) {
            X factor = c.load(shrink, i);
            X at = i * d;
            c.lanes(d, [&](X j, int64_t w) { c.store(c.load(sums, at + j, w) * factor, sums, at + j, w); });
          });
          packTile(c, v, line, shape.keyRow(), keys, d, packed);
          multiply(c, rows, d, keys, {scores, zero, 1, rows}, {packed, zero, d, 1}, {sums, zero, d, 1}, true);
        });
      });
      // A row that sees no key: o = 0, e = -inf.
      c.loop(rows, [&](X i) {
        X sum = c.load(total, i);
        X empty = equal(sum, c.real(0));
        X factor = select(empty, c.real(0), 1.0 / sum);
        X lse = c.load(top, i) + log(sum);
        lse = select(empty, c.neutral(Code::Max), lse);
        X row = b * shape.s + q0 + i;
        c.store(lse, e, row * (shape.g * shape.r) + g * shape.r + r);
        X from = i * d;
        X to = head + i * shape.queryRow();
        c.lanes(d, [&](X j, int64_t w) { c.store(c.load(sums, from + j, w) * factor, o, to + j, w); });
      });
    };

    c.loop(begin, end, 1, [&](X item) {
      X number = item % shape.tiles();
      X head = item / shape.tiles();
      X r = head % shape.r;
      head = head / shape.r;
      X g = head % shape.g;
      X b = head / shape.g;
      X q0 = number * most;
      int64_t rest = shape.s % most;
      if (!rest)
        tile(b, g, r, q0, most);
      else
        c.when(
            equal(number, c.index(shape.tiles() - 1)), [&] { tile(b, g, r, q0, rest); },
            [&] { tile(b, g, r, q0, most); });
    });
  };
  return recipe;
}

FailureOr<Recipe> attentionGradRecipe(model::AttentionGradOp op) {
  auto checked = shapeOfAttention(op, op.getQ(), op.getK(), op.getMask(), op.getScale().convertToDouble(),
                                  "bsgrd,bsgrd,btgd,btgd,bsgrd,bsgr,s,t->bsgrd,btgd,btgd");
  if (failed(checked))
    return failure();
  Shape shape = *checked;
  Recipe recipe;
  recipe.type = elementOf(op.getQ());
  recipe.work = shape.b * shape.g;
  recipe.emit = [=](Code &c, ArrayRef<Value> args, X begin, X end) {
    Value dout = args[0], q = args[1], k = args[2], v = args[3], o = args[4], e = args[5];
    Value qpos = args[6], kpos = args[7], dq = args[8], dk = args[9], dv = args[10];
    int64_t d = shape.d, most = shape.tile();
    Value turnedQ = c.stack(d * most), turnedO = c.stack(d * most), sums = c.stack(most * d);
    Value rowsQ = c.stack(most * d), rowsO = c.stack(most * d), rowsK = c.stack(shape.block() * d);
    Value scores = c.stack(shape.block() * most), slopes = c.stack(shape.block() * most);
    Value lse = c.stack(most), along = c.stack(most);

    auto tile = [&](X b, X g, X r, X q0, int64_t rows) {
      auto lanes = lanesOfTile(c, rows);
      X head = (b * shape.s + q0) * shape.queryRow() + (g * shape.r + r) * d;
      X zero = c.index(0);
      packTile(c, q, head, shape.queryRow(), rows, d, rowsQ);
      packTile(c, dout, head, shape.queryRow(), rows, d, rowsO);
      transposeTile(c, rowsQ, zero, d, rows, d, shape.scale, turnedQ);
      transposeTile(c, rowsO, zero, d, rows, d, 1, turnedO);
      // along = sum_d do o; a row that saw no key has e = -inf and p = exp(s + kHidden) = 0.
      c.loop(rows, [&](X i) {
        X at = head + i * shape.queryRow();
        X dot = c.fold(d, {Code::Sum}, [&](X j, int64_t w) {
          X x = c.load(dout, at + j, w);
          return Xs{x * c.load(o, at + j, w)};
        })[0];
        c.store(dot, along, i);
        X row = b * shape.s + q0 + i;
        X value = c.load(e, row * (shape.g * shape.r) + g * shape.r + r);
        c.store(select(value <= kHidden, c.real(-kHidden), value), lse, i);
      });
      c.lanes(rows * d, [&](X i, int64_t w) { c.store(c.real(0), sums, i, w); });
      auto queries = shape.causal ? positionRange(c, qpos, q0, rows) : std::pair<X, X>();
      steps(c, shape.t, shape.block(), [&](X k0, int64_t keys) {
        X line = (b * shape.t + k0) * shape.keyRow() + g * d;
        Matrix keyRows{rowsK, zero, d, 1}, valueRows{v, line, shape.keyRow(), 1};
        auto fill = [&] {
          packTile(c, k, line, shape.keyRow(), keys, d, rowsK);
          multiply(c, keys, rows, d, keyRows, {turnedQ, zero, rows, 1}, {scores, zero, rows, 1}, false);
        };
        maskedBlock(c, shape, qpos, kpos, q0, rows, k0, keys, queries, scores, fill, [&] {
          multiply(c, keys, rows, d, valueRows, {turnedO, zero, rows, 1}, {slopes, zero, rows, 1}, false);
          Xs log, sum;
          for (Lane lane : lanes) {
            X at = c.index(lane.at);
            log.push_back(c.load(lse, at, lane.width));
            sum.push_back(c.load(along, at, lane.width));
          }
          c.loop(keys, [&](X j) {
            X at = j * rows;
            for (auto [lane, l, a] : llvm::zip(lanes, log, sum)) {
              X s = c.load(scores, at + lane.at, lane.width);
              X p = select(s <= kHidden / 2, c.real(0), exp(s - l));
              X slope = (c.load(slopes, at + lane.at, lane.width) - a) * p * shape.scale;
              c.store(p, scores, at + lane.at, lane.width);
              c.store(slope, slopes, at + lane.at, lane.width);
            }
          });
          multiply(c, rows, d, keys, {slopes, zero, 1, rows}, keyRows, {sums, zero, d, 1}, true);
          multiply(c, keys, d, rows, {slopes, zero, rows, 1}, {rowsQ, zero, d, 1},
                   {dk, line, shape.keyRow(), 1}, true);
          multiply(c, keys, d, rows, {scores, zero, rows, 1}, {rowsO, zero, d, 1},
                   {dv, line, shape.keyRow(), 1}, true);
        });
      });
      c.loop(rows, [&](X i) {
        X from = i * d;
        X to = head + i * shape.queryRow();
        c.lanes(d, [&](X j, int64_t w) { c.store(c.load(sums, from + j, w), dq, to + j, w); });
      });
    };

    c.loop(begin, end, 1, [&](X item) {
      X g = item % shape.g;
      X b = item / shape.g;
      c.loop(shape.t, [&](X j) {
        X at = (b * shape.t + j) * shape.keyRow() + g * d;
        c.lanes(d, [&](X i, int64_t w) {
          c.store(c.real(0), dk, at + i, w);
          c.store(c.real(0), dv, at + i, w);
        });
      });
      c.loop(shape.r,
             [&](X r) { steps(c, shape.s, most, [&](X q0, int64_t rows) { tile(b, g, r, q0, rows); }); });
    });
  };
  return recipe;
}

} // namespace hocket::kernels
