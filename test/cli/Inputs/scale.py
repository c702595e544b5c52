"""scale.py SMALL.hkt LARGE.hkt LARGE.json: both plans are under 1 MB, the large one is at most 1.1 times
the small one, and of every class the memory lines add up to the arena that a dry run of its first rank prints."""
import json
import os
import subprocess
import sys

small, large, summary = sys.argv[1:]
bytes_small, bytes_large = os.path.getsize(small), os.path.getsize(large)
print(f"{bytes_small} and {bytes_large} bytes, ratio {bytes_large / bytes_small:.3f}")
assert 0 < bytes_small <= 1_000_000 and bytes_large <= 1_000_000
assert bytes_large * 10 <= bytes_small * 11

with open(summary) as f:
    plan = json.load(f)
assert plan["file_bytes"] == bytes_large
assert plan["ranks"] == 16384 and len(plan["classes"]) == 16
fullest = 0
for stage, c in enumerate(plan["classes"]):
    rank = stage * 128 * 8
    said = subprocess.run(["hocket", "run", large, "--dry-run", "--rank", str(rank), "--json"], check=True,
                          capture_output=True, text=True)
    run = json.loads(said.stdout)
    print(c["name"], c["arena_bytes"], run["step_instructions"])
    assert run["rank"] == rank and run["coordinates"] == {"pipeline": stage, "data": 0, "tensor": 0}
    assert run["arena_bytes"] == c["arena_bytes"] == sum(c["memory"].values())
    assert run["step_instructions"] > 1000
    fullest = max(fullest, c["arena_bytes"])
# All parameters in f32 exceed 4 GiB on every rank: no address is cut to 32 bits.
assert all(c["memory"]["parameters"] > 2**32 for c in plan["classes"])
assert fullest <= plan["usable_bytes"]
