#!/usr/bin/env bash
# tools/format.sh [--check]: formats every tracked C and C++ file in place; with --check only says
# which are not formatted and exits 1.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1-} in
  '') flags=(-i) jobs=$(nproc) ;;
  --check) flags=(--dry-run -Werror) jobs=1 ;; # together their messages would mix
  *) echo "usage: tools/format.sh [--check]" >&2; exit 2 ;;
esac
git ls-files -z '*.cpp' '*.h' '*.c' | xargs -0 -r -n 32 -P "$jobs" clang-format-22 "${flags[@]}"
