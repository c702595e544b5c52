#!/usr/bin/env bash
# tools/quickstart.sh: from a fresh Debian 12 to a trained model. Installs what
# is missing, builds, plans a GPT-2 of 875,264 parameters for 4 ranks
# (data=2,tensor=2), trains it 100 steps on the King James Bible, and leaves
# plan, metrics, trace and weights in out/. Safe to repeat.
#
# Exit: 0 trained, else the code of the step that failed (2 packages out of
# reach, 4 cannot write, 130 interrupted, ...).
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 0 ] || {
  echo "usage: tools/quickstart.sh (no arguments)" >&2
  exit 2
}
say() { printf '\n== %s\n' "$*" >&2; }

say "set-up"
tools/setup.sh

say "build"
. tools/build.sh
CONFIGURE_FLAGS=()
build dev hocket hocket-run hocket-opt
PATH=$PWD/build/dev/bin:$PATH

say "text"
mkdir -p out
[ -s out/kjv.txt ] || tools/kjv.sh out/kjv.txt
echo "out/kjv.txt: $(wc -c <out/kjv.txt) bytes" >&2

say "plan"
hocket plan examples/job-gpt2-tiny.toml --model examples/gpt2-tiny --cluster examples/clusters/laptop.toml \
  --strategy data=2,tensor=2 -o out/gpt2-tiny.hkt >out/plan.txt
cat out/plan.txt >&2

say "train"
hocket run out/gpt2-tiny.hkt --data out/kjv.txt --steps 100 --metrics out/metrics.jsonl --trace out/trace.json \
  --save out/weights >out/run.txt

say "done"
cat out/plan.txt out/run.txt
cat <<'END'

out/gpt2-tiny.hkt    the plan                        hocket verify out/gpt2-tiny.hkt
out/metrics.jsonl    loss and seconds of every step
out/trace.json       steps 2 to 11, by stream        open in ui.perfetto.dev or chrome://tracing
out/weights/         model.safetensors, config.json  under Hugging Face names
END
