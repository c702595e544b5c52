#!/usr/bin/env bash
# Training speed against PyTorch on this machine's CPU: tokens/s of both on the
# same model, data, batch and number of cores, alternating, with the ratio.
#
# usage: tools/bench/train.sh [--runs N] [--models "gpt2-tiny gpt2-25m"] [--modes "eager compile"]
#                             [--out DIR] [--torch-only]
#   BUILD   directory of hocket and hocket-run      (default build/dev/bin)
#   PYTHON  a Python with test/golden/requirements.txt (default python3)
#   MICRO_BATCH  sequences per micro-batch and replica (default: all of a replica's, one micro-batch)
#
# PyTorch runs with all cores, eager and under torch.compile; Hocket as one rank
# with all cores, and as data=2 with half of them each. The best of each side
# counts. The PyPI wheel's BLAS, MKL, takes AVX2 kernels on an AMD CPU that has
# AVX-512, at half the rate; there it is told that the CPU is Intel's, so that
# the peer runs at its best. Every run's result stays in DIR (default out/bench/train).
# Exit: 0 measured (whatever the ratio), 2 usage or something missing, else the failing run's code.
set -euo pipefail
cd "$(dirname "$0")/../.."

runs=5 models="gpt2-tiny gpt2-25m" modes="eager compile" out=out/bench/train torch_only=0
usage() {
  sed -n '5,6s/^# //p' "$0" >&2
  exit 2
}
while [ $# -gt 0 ]; do
  case $1 in
    --torch-only) torch_only=1; shift; continue ;;
    --runs | --models | --modes | --out) [ $# -ge 2 ] || usage ;;
    *) usage ;;
  esac
  case $1 in
    --runs) runs=$2 ;;
    --models) models=$2 ;;
    --modes) modes=$2 ;;
    --out) out=$2 ;;
  esac
  shift 2
done
case $runs in '' | *[!0-9]* | 0) usage ;; esac

build=${BUILD:-build/dev/bin}
python=${PYTHON:-python3}
cores=$(nproc)
missing() {
  echo "tools/bench/train.sh: $1" >&2
  echo "hint: $2" >&2
  exit 2
}
"$python" -c 'import torch' 2>/dev/null ||
  missing "$python cannot import torch" "pip install -r test/golden/requirements.txt, and set PYTHON"
if [ $torch_only = 0 ]; then
  [ -x "$build/hocket" ] || missing "no $build/hocket" "build it, or set BUILD"
  [ "$cores" -ge 2 ] || missing "data=2 needs two cores" "run on a machine with more"
fi

mkdir -p "$out"
# Bytes of text as tokens for both models; the validation tail stays short.
head -c 65536 test/data/kjv-256k.txt >"$out/data.txt"

isa=x86-64-v3
torch_preload=
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
if [[ $flags == *" avx512f "* && $flags == *" avx512bw "* && $flags == *" avx512dq "* && $flags == *" avx512vl "* ]]; then
  isa=x86-64-v4
  if grep -q AuthenticAMD /proc/cpuinfo; then
    torch_preload=$(cd "$out" && pwd)/mkl_as_intel.so
    echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' | "${CC:-cc}" -x c -shared -fPIC -o "$torch_preload" - ||
      missing "no C compiler for MKL's switch" "install gcc, or set CC"
  fi
fi

# cluster FILE DEVICES THREADS; the rates only steer estimates, the strategy is given.
cluster() {
  cat >"$1" <<EOF
format = 1
pool = [{ host = "bench", hosts = 1 }]
[host.bench]
device  = "core"
devices = $2
link    = { kind = "memory", rate = "10 GB/s", latency = "1 us" }
[device.core]
kind    = "cpu"
isa     = "$isa"
threads = $3
memory  = "4 GiB"
rate    = { f32 = "60 GFLOP/s", f64 = "30 GFLOP/s" }
memory_rate = "10 GB/s"
EOF
}

# setting MODEL: its directory, sequence, batch, measured steps, warm-up steps.
setting() {
  case $1 in
    gpt2-tiny) dir=examples/gpt2-tiny sequence=128 batch=16 steps=40 warmup=10 ;;
    gpt2-25m) dir=tools/bench/gpt2-25m sequence=256 batch=4 steps=10 warmup=2 ;;
    *) missing "unknown model $1" "gpt2-tiny or gpt2-25m" ;;
  esac
}

# compile_plan NAME DEVICES: plans `dir` for DEVICES ranks that share the cores.
compile_plan() {
  cluster "$out/$1.toml" "$2" $((cores / $2))
  cat >"$out/$1.job.toml" <<EOF
format = 1
model  = "$PWD/$dir/config.json"
train  = { sequence = $sequence, global_batch = $batch }
dtype  = { compute = "f32" }
optimizer = { name = "adamw", lr = 1e-3, betas = [0.9, 0.95], eps = 1e-8, decay = 0.1, clip = 1.0, schedule = "constant" }
EOF
  "$build/hocket" plan "$out/$1.job.toml" --cluster "$out/$1.toml" --strategy "data=$2" \
    --micro-batch "${MICRO_BATCH:-$((batch / $2))}" -o "$out/$1.hkt" >"$out/$1.plan.log"
}

# run_hocket NAME RUN: median tokens/s of the steps after the warm-up, as one JSON line.
run_hocket() {
  local metrics=$out/$1.$2.jsonl
  "$build/hocket" run "$out/$1.hkt" --data "$out/data.txt" --steps $((steps + warmup)) --seed 1 \
    --metrics "$metrics" >"$out/$1.$2.log" 2>&1 || { local code=$?; tail -n 20 "$out/$1.$2.log" >&2; exit $code; }
  python3 - "$metrics" "$warmup" "$steps" <<'EOF'
import json, statistics, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
rates = [line["tokens_per_s"] for line in lines if "step" in line and "tokens_per_s" in line]
warmup, steps = int(sys.argv[2]), int(sys.argv[3])
if len(rates) < warmup + steps:
    sys.exit(f"{sys.argv[1]}: {len(rates)} steps with tokens_per_s, expected {warmup + steps}")
print(json.dumps({"tokens_per_s": statistics.median(rates[warmup:])}))
EOF
}

# OPENBLAS_* are unset since some machines set a slow kernel there for old builds.
run_torch() {
  env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ${torch_preload:+LD_PRELOAD="$torch_preload"} "$python" tools/bench/train_torch.py "$dir" --data "$out/data.txt" \
    --batch "$batch" --sequence "$sequence" --steps "$steps" --warmup "$warmup" --threads "$cores" --mode "$1"
}

for model in $models; do
  setting "$model"
  results=$out/$model.results.jsonl
  : >"$results"
  if [ $torch_only = 0 ]; then
    compile_plan "$model.one" 1
    compile_plan "$model.data2" 2
  fi
  for run in $(seq "$runs"); do
    for mode in $modes; do
      line=$(run_torch "$mode")
      echo "{\"who\": \"torch $mode\", \"result\": $line}" >>"$results"
    done
    if [ $torch_only = 0 ]; then
      for kind in one data2; do
        line=$(run_hocket "$model.$kind" "$run")
        echo "{\"who\": \"hocket $kind\", \"result\": $line}" >>"$results"
      done
    fi
    echo "$model: run $run of $runs done" >&2
  done
  python3 - "$results" "$model" "$cores" <<'EOF'
import json, statistics, sys
runs = {}
for line in map(json.loads, open(sys.argv[1])):
    runs.setdefault(line["who"], []).append(line["result"]["tokens_per_s"])
print(f"{sys.argv[2]}, f32, {sys.argv[3]} cores     tokens/s: median (least - most) of {len(next(iter(runs.values())))}")
best = {}
for who, rates in runs.items():
    median = statistics.median(rates)
    print(f"  {who:15} {median:12,.0f}  ({min(rates):,.0f} - {max(rates):,.0f})")
    side = who.split()[0]
    best[side] = max(best.get(side, 0), median)
if "hocket" in best:
    print(f"  ratio {best['hocket'] / best['torch']:.3f}  (best of hocket / best of torch)")
EOF
done
