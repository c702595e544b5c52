//===- collectives.cpp - Replay published measurements of collectives -------===//
//
// usage: collectives CSV.  Coverage, errors of every table with constants from
// every fourth of its sizes and from another table of its fabric, and rows
// against the cut bound.  Exit: 0, 2 usage or bad file, 4 unreadable.
//
//===----------------------------------------------------------------------===//
#include "compiler/calibrate/collective_fit.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

using namespace hocket;
using namespace hocket::calibrate;

namespace {

using Rows = std::vector<const CollectiveRow *>;

void print(const char *kind, const CollectiveError &e, bool smallCounts) {
  bool missed = e.meanAbove > 0.15 || (smallCounts && e.meanBelow > 0.25);
  std::printf("  %-9s %3d %6.1f %6.1f   %3d %6.1f %6.1f  %s\n", kind, e.above, 100 * e.meanAbove,
              100 * e.worstAbove, e.below, 100 * e.meanBelow, 100 * e.worstBelow, missed ? "MISSED" : "ok");
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: collectives CSV\n");
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "error: cannot read '%s'\n", argv[1]);
    return 4;
  }
  std::string text((std::istreambuf_iterator<char>(file)), {});
  CollectiveRows read = readCollectives(text);
  if (!read.error.empty()) {
    std::fprintf(stderr, "error: %s: %s\n", argv[1], read.error.c_str());
    return 2;
  }

  std::map<std::string, Rows> tables;
  std::map<std::string, std::vector<size_t>> left;
  int counted = 0, mapped = 0;
  for (const CollectiveRow &row : read.rows) {
    bool counts = row.knownGpu && row.measured;
    counted += counts;
    mapped += counts && row.unmapped.empty();
    if (row.unmapped.empty())
      tables[row.table].push_back(&row);
    else
      left[row.unmapped].push_back(row.line);
  }
  std::printf("rows %zu; with a known GPU and a time or bus rate %d; mapped %d (%.1f %%)\n", read.rows.size(),
              counted, mapped, counted ? 100.0 * mapped / counted : 0);
  std::printf("left out:\n");
  for (auto &[reason, lines] : left) {
    std::printf("  %3zu  %s: lines", lines.size(), reason.c_str());
    for (size_t line : lines)
      std::printf(" %zu", line);
    std::printf("\n");
  }

  std::printf("\ntables of eight rows or more: mean and worst |predicted / measured - 1| in %%, from 1 MiB | "
              "below\n");
  std::printf("`sizes`: fitted on every fourth size, tested on the others; `other`: fitted on the other "
              "tables of the\n"
              "fabric; limits on means: 15 from 1 MiB, 25 below (`sizes` only)\n");
  int all = 0, met = 0, others = 0, metOthers = 0;
  for (auto &[name, rows] : tables) {
    if (rows.size() < 8)
      continue;
    Rows fitted, tested, other;
    splitSizes(rows, fitted, tested);
    cost::FabricConstants c = fitFabric(fitted);
    std::printf("%s (%zu rows; fabric: %s)\n", name.c_str(), rows.size(), rows[0]->fabric.c_str());
    std::printf("  startup %.2f us, hop %.2f us, inner %.3f, outer %.3f, ramp %.2f us, low %.3f\n",
                c.startup * 1e6, c.hop * 1e6, c.inner, c.outer, c.ramp * 1e6, c.low);
    CollectiveError e = errorOf(tested, c);
    print("sizes", e, true);
    ++all;
    met += e.meanAbove <= 0.15 && e.meanBelow <= 0.25;
    for (auto &[otherName, otherRows] : tables)
      if (otherName != name && otherRows[0]->fabric == rows[0]->fabric)
        other.insert(other.end(), otherRows.begin(), otherRows.end());
    if (other.empty()) {
      std::printf("  other     no other table of this fabric\n");
      continue;
    }
    e = errorOf(rows, fitFabric(other));
    print("other", e, false);
    ++others;
    metOthers += e.meanAbove <= 0.15;
  }
  std::printf("\n`sizes`: %d of %d tables within the limits; `other`: %d of %d\n", met, all, metOthers,
              others);

  Rows every;
  std::printf("\ntables of fewer rows, with the defaults that no measurement made (mean and worst, from 1 "
              "MiB | below)\n");
  for (auto &[name, rows] : tables) {
    every.insert(every.end(), rows.begin(), rows.end());
    if (rows.size() >= 8)
      continue;
    CollectiveError e = errorOf(rows, {});
    std::printf("%s\n  defaults  %3d %6.1f %6.1f   %3d %6.1f %6.1f\n", name.c_str(), e.above,
                100 * e.meanAbove, 100 * e.worstAbove, e.below, 100 * e.meanBelow, 100 * e.worstBelow);
  }
  CollectiveError unfitted = errorOf(every, {});
  std::printf("all mapped rows with the defaults: %d rows %.1f | %d rows %.1f\n", unfitted.above,
              100 * unfitted.meanAbove, unfitted.below, 100 * unfitted.meanBelow);

  int below = 0, at = 0, tooFast = 0;
  std::printf("\nmeasured faster than the cut bound of the assumed topology:\n");
  for (auto &[name, rows] : tables) {
    cost::FabricConstants c = fitFabric(rows);
    for (const CollectiveRow *row : rows) {
      double bound = cost::cutBound(row->op, row->bytes, row->group);
      below += predict(*row, c) < bound;
      at += predict(*row, c) == bound;
      if (row->seconds < bound) {
        ++tooFast;
        std::printf("  line %zu, %s: %.0f %% of the bound\n", row->line, name.c_str(),
                    100 * row->seconds / bound);
      }
    }
  }
  std::printf("  %d rows\npredicted below the cut bound: %d rows; set by it: %d\n", tooFast, below, at);
  return 0;
}
