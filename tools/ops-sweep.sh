#!/bin/sh
# Every op by every letter on 2, 3 and 4 ranks, through all phases, against one
# rank (test/unit/ops); the tests that always run take one size of each.
#
#   tools/ops-sweep.sh [BUILD]     BUILD: a configured tree, build/dev by default
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/dev}
if [ ! -f "$build/build.ninja" ]; then
  echo "ops-sweep: $build is no configured build tree; run tools/build.sh first" >&2
  exit 2
fi
ninja -C "$build" ops_sweep
exec "$build/unit/ops_sweep" --gtest_brief=1
