#!/usr/bin/env bash
# tools/bench/accuracy.sh [CSV] [--rows FAMILY | --memory-rows FAMILY | --constants]: replays published training
# steps through the cost model and prints how near its predicted times and peaks of memory are, by source.
# docs/cost-model.md explains the tables.
#
#   CSV                   the columns of test/data/published/measured_training.csv, which is the default
#   --rows FAMILY         instead each row of one family of sources, term by term
#   --memory-rows FAMILY  likewise its bytes, of rows that state a peak or ran out of memory
#   --constants           instead the constants fitted on all rows, as library/constants.toml
#
# Needs only a C++20 compiler where there is no build: CXX (default clang++-22).
# Exit: 0 printed, 2 usage, unreadable CSV or no compiler.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${1:-}" = --help ]; then
  sed -n '2,12s/^# \{0,1\}//p' "$0"
  exit 0
fi
csv=$root/test/data/published/measured_training.csv
if [ $# -gt 0 ] && [ "${1#--}" = "$1" ]; then
  csv=$1
  shift
fi
program=${BUILD:-$root/build/dev}/bin/accuracy
if [ ! -x "$program" ]; then
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  program=$out/accuracy
  # Sources of a library, as its CMakeLists.txt lists them.
  of() {
    local names
    names=$(tr '\n' ' ' <"$root/compiler/$1/CMakeLists.txt" | sed -n "s/.*add_library($2 STATIC \([^)]*\)).*/\1/p")
    printf "$root/compiler/$1/%s\n" $names
  }
  mapfile -t sources < <(of pipeline hocket_pipeline && of cost hocket_cost_model && of calibrate hocket_calibrate)
  "${CXX:-clang++-22}" -O2 -std=c++20 -fno-exceptions -I"$root" -o "$program" "${sources[@]}" \
    "$root"/compiler/calibrate/{memory_tables,accuracy}.cpp || exit 2
fi
"$program" "$csv" "$@"
