#!/usr/bin/env bash
# tools/scale.sh [BUILD]: plans llama-3.1-405b (tensor=8, pipeline=16, f32,
# sequence 8,192, micro-batch 1, 1F1B, stages of 14 x 8 and 2 x 7 layers) for 128 devices
# (data=1, batch 16) and for 16,384 (data=128, batch 2,048), verifies both and asks
# rank 9,999 for its instructions. Prints bytes, seconds (best of three) and the ratios.
#
#   BUILD   build folder (default build/dev)
#
# Exit: 0 all limits hold, 1 one does not, 2 usage or no build.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

if [ $# -gt 1 ] || [ "${1:-}" = --help ]; then
  sed -n '2,9s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
build=${1:-$root/build/dev}
hocket=$build/bin/hocket
if [ ! -x "$hocket" ]; then
  echo "tools/scale.sh: no $hocket; build with tools/test.sh or: cmake --preset dev && ninja -C build/dev" >&2
  exit 2
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

# Milliseconds of the fastest of three runs of "$@"; its output goes to $out/said.
best() {
  local least= begin took
  for _ in 1 2 3; do
    begin=$(date +%s%N)
    "$@" >"$out/said" 2>&1 || { cat "$out/said" >&2; exit 1; }
    took=$((($(date +%s%N) - begin) / 1000000))
    if [ -z "$least" ] || [ "$took" -lt "$least" ]; then least=$took; fi
  done
  echo "$least"
}

# limit WHAT VALUE MOST UNIT
limit() {
  local verdict=ok
  [ "$2" -le "$3" ] || { verdict="TOO MUCH" failed=1; }
  printf '  %-34s %12s %-6s at most %9s  %s\n' "$1" "$2" "$4" "$3" "$verdict"
}

job=$root/examples/job-llama-3.1-405b.toml
strategy=$root/examples/strategy-405b.toml # data: what the cluster leaves
small=(plan "$job" --cluster cpu-2048x8:16 --strategy "$strategy" -o "$out/small.hkt")
large=(plan "$job" --cluster cpu-2048x8 --strategy "$strategy" --global-batch 2048 -o "$out/large.hkt")

for size in small large; do
  if [ $size = small ]; then arguments=("${small[@]}"); else arguments=("${large[@]}"); fi
  plan_ms=$(best "$hocket" "${arguments[@]}")
  echo "hocket ${arguments[*]}" | sed "s|$root/||g; s|$out/||g"
  grep -E '^(llama|strategy|memory)' "$out/said"
  bytes=$(stat -c %s "$out/$size.hkt")
  verify_ms=$(best "$hocket" verify "$out/$size.hkt")
  limit "plan" "$plan_ms" 10000 ms
  limit "plan file" "$bytes" 1000000 bytes
  limit "hocket verify" "$verify_ms" 1000 ms
  declare "${size}_ms=$plan_ms" "${size}_bytes=$bytes"
done
echo "large over small, in thousandths"
limit "bytes" $((large_bytes * 1000 / small_bytes)) 1100 /1000
limit "time" $((large_ms * 1000 / small_ms)) 1500 /1000
echo "hocket run large.hkt --dry-run --rank 9999"
"$hocket" run "$out/large.hkt" --dry-run --rank 9999 | sed 's/^/  /'
exit $failed
