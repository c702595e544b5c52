# sh phases.sh MODEL CLUSTER MESH: stops after every phase, resumes, compares the plans.
set -eu
inputs="--cluster $2"
made="--strategy $3 --micro-batch 2"
hocket plan job.toml --model $1 $inputs $made -q -o direct.hkt
before=
for phase in import differentiate search shard place partition schedule allocate emit; do
  if [ -n "$before" ]; then
    # The text holds the model. Up to search the strategy is the command's, from then on the module's.
    case $before in import | differentiate) flags=$made ;; *) flags= ;; esac
    hocket plan $before.mlir --start-from=$phase $inputs $flags -q -o resumed.hkt
    cmp direct.hkt resumed.hkt
    rm resumed.hkt
  fi
  before=$phase
  [ $phase = emit ] && break
  hocket plan job.toml --model $1 $inputs $made --stop-after=$phase -o $phase.mlir
  hocket-opt --verify-roundtrip $phase.mlir -o /dev/null
done
# A phase alone is the phase in the direct compile.
hocket plan place.mlir --start-from=partition --stop-after=partition $inputs -o alone.mlir
cmp partition.mlir alone.mlir
