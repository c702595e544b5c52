#!/usr/bin/env bash
# tools/mutation.sh [BUILD]: mutates compiled plans (default build: build/dev): deletes every wait and
# every transfer, exchanges operations of each communicator, changes fields; prints who noticed.
# A few minutes; the test suite runs a part of it. Exit: 0 all noticed, 1 not, 2 usage.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -gt 1 ] || [[ ${1-} == -* ]]; then
  echo "usage: tools/mutation.sh [BUILD]" >&2
  exit 2
fi
build=${1-build/dev}
status=0
for name in e2e_mutation_test e2e_mutation_fields_test; do
  if [ ! -x "$build/unit/$name" ]; then
    echo "tools/mutation.sh: no $build/unit/$name" >&2
    echo "hint: ninja -C $build $name" >&2
    exit 2
  fi
  HOCKET_MUTATION=full "$build/unit/$name" || status=1
done
exit $status
