"""json_errors.py EXAMPLES: what `--json` prints where there is no answer, of every verb that has it."""
import json
import os
import subprocess
import sys

examples = sys.argv[1]
JOB = os.path.join(examples, "job-gpt2-tiny.toml")
PLAN = ["plan", JOB, "--cluster", "laptop"]


def run(*args):
    return subprocess.run(["hocket", *args], capture_output=True, text=True)


def failure(code, *args, where="stdout"):
    """The messages of the one document that a failing command prints; standard error says the same."""
    done = run(*args)
    assert done.returncode == code, (args, done)
    document = json.loads(getattr(done, where))  # one document, nothing before or behind it
    assert document["format_version"] == "1.0" and document["error"]["code"] == code, document
    messages = document["error"]["messages"]
    for m in messages:
        assert m["severity"] in ("error", "warning", "note") and m["message"] and isinstance(m["notes"], list), m
        if where == "stdout":
            assert f"{m['severity']}: {m['message']}" in done.stderr, (m, done.stderr)
    if where == "stderr":
        assert done.stdout == "", done
    return messages


# A located error with located notes.
first, *rest = failure(2, *PLAN, "--model", os.path.join(examples, "llama-tiny"), "--strategy", "mesh.toml", "-o",
                       "x.hkt", "--json")
assert not rest and first["message"].startswith("conflicting shardings"), first
assert (first["file"], first["line"], first["column"], first["end_line"], first["end_column"]) == (
    "mesh.toml", 4, 9, 4, 32), first
assert [(n["severity"], n.get("line")) for n in first["notes"]] == [("note", 3), ("note", None)], first

# Every error is there, up to the limit, and how many are not.
messages = failure(2, *PLAN, "--strategy", "far.toml", "-o", "x.hkt", "--json")
assert len(messages) == 21 and messages[-1]["message"] == "2 more errors not shown (limit 20)", messages

# The answer "no", and a file that cannot be written, with their own codes.
assert "does not fit" in failure(1, "plan", "--model", os.path.join(examples, "llama-3.1-405b"), "--sequence", "8192",
                                 "--global-batch", "4", "--cluster", "laptop", "-o", "x.hkt", "--json")[0]["message"]
assert "cannot write" in failure(4, *PLAN, "-o", "absent/x.hkt", "--json")[0]["message"]

# Usage, found by us and by the parser of options.
first, = failure(2, "plan", JOB, "--json", "--what-if", "-o", "x.hkt")
assert first["message"].startswith("--what-if compiles nothing"), first
first, = failure(2, "plan", "--json", "--modl", "x")
assert first["message"] == "unknown option '--modl'; did you mean '--model'?", first
failure(2, "plan", "--json", "--sequence", "many")
failure(2, "plan", "--json", "--stop-after=toppo")
failure(2, "verify", "--json")
first, = failure(2, "devices", "--json", "H1OO")
assert first["help"] == "hocket devices lists them", first
failure(2, "devices", "--json", "laptop")

# With `-o -` standard output is the plan's: the document is on standard error, alone.
failure(2, *PLAN, "--strategy", "data=3,tensor=2", "-o", "-", "--json", where="stderr")

# --stop-after: the IR in a file, the document says where; both on standard output are refused.
failure(2, *PLAN, "--stop-after=shard", "--json")
done = run(*PLAN, "--stop-after=shard", "--strategy", "data=2,tensor=2", "-o", "shard.mlir", "--json")
assert done.returncode == 0, done
assert json.loads(done.stdout) == {"format_version": "1.0", "phase": "shard", "path": "shard.mlir",
                                   "file_bytes": os.path.getsize("shard.mlir")}, done.stdout
failure(2, *PLAN, "--stop-after=shard", "--strategy", "data=3,tensor=2", "-o", "y.mlir", "--json")

# verify: an error is of the same form; a plan that was read and is not sound has findings instead.
done = run("verify", "--json", "mesh.toml")
document = json.loads(done.stdout)
assert done.returncode == 2 and document["error"]["code"] == 2 and not document["sound"], done
assert document["error"]["messages"][0]["message"].startswith("mesh.toml"), document

# hocket run: usage, a file that is no plan, an unsound plan and a failing run.
first, = failure(2, "run", "x", "--jsn", "--json")
assert "did you mean '--json'?" in first["message"] and first["help"].startswith("hocket-run --help"), first
assert "mesh.toml" in failure(2, "run", "mesh.toml", "--dry-run", "--json")[0]["message"]
assert run(*PLAN, "--strategy", "data=2,tensor=2", "-q", "-o", "run.hkt").returncode == 0
assert "absent.txt" in failure(2, "run", "run.hkt", "--data", "absent.txt", "--steps", "1", "--json")[0]["message"]
assert "ranks 0 to 3" in failure(2, "run", "run.hkt", "--dry-run", "--rank", "9", "--json")[0]["message"]
os.remove("run.hkt")
