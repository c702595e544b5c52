#!/usr/bin/env bash
# tools/test.sh [--preset NAME]...: installs what is missing, builds everything
# and runs every test: lint, unit, lit, commands of the docs, end to end, fuzz.
#
#   --preset NAME       dev (clang; default) or gcc; given twice, both are tested and
#                       must write the same plan bytes
#   --fuzz-seconds N    time for each fuzz target (default 20; 0 leaves them out)
#
# The last line is "N passed, N failed". Exit: 0 all passed, 1 a test failed or
# none ran, 2 usage or packages out of reach, 4 apt failed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: tools/test.sh [--preset dev|gcc]... [--fuzz-seconds N]" >&2
  exit 2
}
presets=() fuzz_seconds=20
while [ $# -gt 0 ]; do
  case $1 in
    --preset=* | --fuzz-seconds=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
  esac
  [ $# -ge 2 ] || usage
  case $1 in
    --preset)
      case $2 in dev | gcc) presets+=("$2") ;; *) usage ;; esac
      ;;
    --fuzz-seconds)
      case $2 in '' | *[!0-9]*) usage ;; *) fuzz_seconds=$2 ;; esac
      ;;
    *) usage ;;
  esac
  shift 2
done
[ ${#presets[@]} -gt 0 ] || presets=(dev)

tools/setup.sh
. tools/build.sh
builds=()
for preset in "${presets[@]}"; do
  CONFIGURE_FLAGS=()
  # libFuzzer comes with clang.
  [ "$preset" != dev ] || CONFIGURE_FLAGS=(-DHOCKET_FUZZ=ON)
  build "$preset" || {
    echo "tools/test.sh: the $preset build failed" >&2
    echo "0 passed, 1 failed"
    exit 1
  }
  builds+=("build/$preset")
done
exec python3 test/run.py --fuzz-seconds "$fuzz_seconds" "${builds[@]}" </dev/null
