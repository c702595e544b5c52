#!/usr/bin/env bash
# Trains gpt2-tiny on the King James Bible for 400 steps with 'data=2,tensor=2' and compares the validation
# loss with PyTorch's run of the same model (test/golden/text_curve.csv): exit 1 if they differ by more
# than 0.1. With PYTHON naming an interpreter that has test/golden/requirements.txt, the saved weights are
# also loaded into transformers, which must give the same loss.
#
# usage: tools/real-text.sh [OUT]     BUILD: folder of the programs (default build/dev/bin)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-out/real-text}
bin=${BUILD:-build/dev/bin}
mkdir -p "$out"
[ -s "$out/kjv.txt" ] || tools/kjv.sh "$out/kjv.txt"
"$bin/hocket" plan examples/job-gpt2-tiny.toml --cluster examples/clusters/laptop.toml --strategy data=2,tensor=2 -o "$out/plan.hkt"
"$bin/hocket" run "$out/plan.hkt" --data "$out/kjv.txt" --steps 400 --seed 1 --metrics "$out/metrics.jsonl" --save "$out/weights"
awk -F, '
  FNR == NR { if ($3 != "") theirs = $3; next }
  match($0, /"eval":[0-9.]+/) { split(substr($0, RSTART, RLENGTH), part, ":"); ours = part[2] }
  END {
    if (ours == "" || theirs == "") { print "no validation loss found"; exit 1 }
    difference = ours - theirs; if (difference < 0) difference = -difference
    printf "validation loss after 400 steps: Hocket %.4f, PyTorch %.4f, difference %.4f (at most 0.1)\n", ours, theirs, difference
    exit difference > 0.1
  }' test/golden/text_curve.csv "$out/metrics.jsonl"
if [ -n "${PYTHON:-}" ]; then
  loss=$(grep -oE '"eval":[0-9.]+' "$out/metrics.jsonl" | tail -1 | cut -d: -f2)
  "$PYTHON" test/golden/check_saved.py "$out/weights" "$out/kjv.txt" --sequence 128 --expect "$loss"
fi
