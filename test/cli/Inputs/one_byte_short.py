"""one_byte_short.py EXAMPLES: gpt2-tiny fits a device with as much memory as its arena, and not one with 64 bytes less."""
import json
import os
import re
import subprocess
import sys

examples = sys.argv[1]
with open(os.path.join(examples, "clusters", "single.toml")) as f:
    cluster = f.read()


def plan(memory):
    with open("short.toml", "w") as f:
        f.write(re.sub(r'^memory .*$', f'memory  = "{memory} B"', cluster, flags=re.M))
    return subprocess.run(["hocket", "plan", os.path.join(examples, "job-gpt2-tiny.toml"), "--cluster", "short.toml",
                           "--strategy", "data=1", "--micro-batch", "16", "--json", "-o", "short.hkt"],
                          capture_output=True, text=True)


roomy = plan(12 << 30)
assert roomy.returncode == 0, roomy.stderr
arena = json.loads(roomy.stdout)["classes"][0]["arena_bytes"]
os.remove("short.hkt")
exact = plan(arena)
assert exact.returncode == 0, exact.stderr
os.remove("short.hkt")
short = plan(arena - 64)
assert short.returncode == 1, short
assert f"s0 needs {arena:,} bytes" in short.stderr and "; 64 bytes (64 B) too many" in short.stderr, short.stderr
assert not os.path.exists("short.hkt")
