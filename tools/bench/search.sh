#!/usr/bin/env bash
# tools/bench/search.sh: how long the planner's search takes for published sizes and for one job from 64 to
# 16,384 devices, how much of the space its bounds leave out, and how many strategies a second it evaluates.
# Times hold only while nothing else runs. docs/planner.md shows them.
#
# BUILD (default build/dev) is a build with the target search_bench.
# Exit: 0 printed, 1 a job has no plan, 2 usage or no program.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
if [ "${1:-}" = --help ]; then
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 0
fi
program=${BUILD:-$root/build/dev}/bin/search_bench
if [ $# -gt 0 ]; then
  echo "search.sh takes no arguments; --help says what it prints" >&2
  exit 2
fi
if [ ! -x "$program" ]; then
  echo "$program is missing; build the target search_bench" >&2
  exit 2
fi
exec "$program" "$root/library"
