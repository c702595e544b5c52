#!/usr/bin/env bash
# tools/fuzz.sh [--seconds N] [BUILD]: runs every libFuzzer target of a build (default build/dev,
# configured with HOCKET_FUZZ=ON) for N seconds each (default 600) from the committed corpus
# test/fuzz/corpus/NAME. New inputs stay in BUILD/fuzz/NAME, findings in BUILD/fuzz/findings.
#
# The last line is "N passed, N failed", one a target. Exit: 0 nothing found, 1 a finding, 2 usage.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600 build=build/dev
while [ $# -gt 0 ]; do
  case $1 in
    --seconds)
      case ${2-} in '' | *[!0-9]* | 0) echo "tools/fuzz.sh: --seconds takes a number" >&2; exit 2 ;; esac
      seconds=$2
      shift 2
      ;;
    -*) echo "usage: tools/fuzz.sh [--seconds N] [BUILD]" >&2; exit 2 ;;
    *) build=$1; shift ;;
  esac
done

shopt -s nullglob
targets=("$build"/fuzz/*_fuzz)
if [ ${#targets[@]} -eq 0 ]; then
  echo "tools/fuzz.sh: no targets in $build/fuzz" >&2
  echo "hint: cmake --preset dev -DHOCKET_FUZZ=ON && ninja -C build/dev" >&2
  exit 2
fi
mkdir -p "$build/fuzz/findings"
passed=0 failed=0
for target in "${targets[@]}"; do
  name=$(basename "$target" _fuzz)
  mkdir -p "$build/fuzz/$name"
  log=$build/fuzz/$name.log
  # Every seed is parsed; 64 MiB of input would only measure the reader's patience.
  if "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/fuzz/findings/$name-" "$build/fuzz/$name" "test/fuzz/corpus/$name" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz $name: $runs runs in $seconds s, nothing found"
  else
    failed=$((failed + 1))
    echo "fuzz $name: FOUND; input in $build/fuzz/findings"
    tail -n 60 "$log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
