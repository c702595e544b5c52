"""memory.py MODEL MESH TEXT: plans, trains a few steps, compares bytes."""
import json
import re
import subprocess
import sys

model, mesh, text = sys.argv[1:]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


plan = ["hocket", "plan", "--model", model, "--cluster", "laptop", "--sequence", "32", "--global-batch", "8",
        "--micro-batch", "2", "--strategy", mesh, "-o", "plan.hkt"]
verdict = run(*plan)
report = json.loads(run(*plan, "--json"))
ranks = report["ranks"]
arenas = {c["name"]: c["arena_bytes"] for c in report["classes"]}

# The verdict is the fullest class, and its terms are all of it.
printed = int(re.search(r"([\d,]+) bytes\n", verdict).group(1).replace(",", ""))
assert printed == max(arenas.values()), (printed, arenas)
for c in report["classes"]:
    assert sum(c["memory"].values()) == c["arena_bytes"], c

# What each rank's program needs, as the runtime reads it from the file.
total = 0
for rank in range(ranks):
    line = run("hocket", "run", "plan.hkt", "--dry-run", "--rank", str(rank))
    arena = int(re.search(r"arena[^\d]*([\d,]+) bytes", line).group(1).replace(",", ""))
    assert arena in arenas.values(), (rank, arena, arenas)
    total += arena

# What it allocated; that no step after the first allocates is hocket-run's exit code.
train = ["hocket", "run", "plan.hkt", "--data", text, "--steps", "4", "--count-allocations"]
said = run(*train)
allocated = int(re.search(r"arenas ([\d,]+) bytes on %d ranks" % ranks, said).group(1).replace(",", ""))
assert allocated == total, (allocated, total)
assert re.search(r"allocation\s+0 by our code in steps after the first", said), said
beside = re.search(r"([\d.]+) (B|KiB|MiB|GiB) resident beside arenas and data", said)
size = float(beside.group(1)) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[beside.group(2)]
assert 0 < size <= 64e6, said
