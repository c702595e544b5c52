#!/bin/sh
# Every op by every letter on 2, 3 and 4 ranks, through all phases, against one
# rank (test/unit/ops); the tests that always run take one size of each.
#
#   tools/ops-sweep.sh [BUILD]     BUILD: a built tree, build/dev by default
set -eu
cd "$(dirname "$0")/.."
test=${1:-build/dev}/unit/ops_test
if [ ! -x "$test" ]; then
  echo "ops-sweep: $test is not there; build target ops_test" >&2
  exit 2
fi
exec "$test" --gtest_also_run_disabled_tests --gtest_brief=1 --gtest_filter='*Sweep*'
