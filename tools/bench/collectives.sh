#!/usr/bin/env bash
# Predicted beside published times of collectives: coverage, the error of every
# table with constants from every fourth of its sizes and from other tables of
# its fabric, and rows against the cut bound. docs/collectives.md explains it.
#
# usage: tools/bench/collectives.sh [CSV]   (default test/data/published/measured_collectives.csv)
#   BUILD   directory of the program `collectives` (default build/dev/bin)
# Exit: 0, 2 usage or something missing or a bad file, 4 unreadable.
set -euo pipefail
here=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -le 1 ] || {
  sed -n '6,8s/^# //p' "$0" >&2
  exit 2
}
program=${BUILD:-$here/build/dev/bin}/collectives
[ -x "$program" ] || {
  echo "collectives.sh: no program '$program': ninja collectives" >&2
  exit 2
}
exec "$program" "${1:-$here/test/data/published/measured_collectives.csv}"
