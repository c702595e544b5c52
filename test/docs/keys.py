#!/usr/bin/env python3
"""Compares docs/cli.md with what the programs read and write: keys of the TOML files, fields of the metrics.

usage: test/docs/keys.py BUILD

Keys are those that the readers in compiler/input ask a table for; each must stand in code in the section of
its file. Fields are those of a run of two steps by BUILD's programs; the table of them must be exactly these.
Options need no such test: docs/reference/cli.md is made from --help. The last line is `N passed, N failed`,
one a key or field. Exit: 0, 1 something failed, 2 usage.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = "docs/cli.md"
FILES = {
    "cluster.toml": ["cluster.cpp", "cluster_fabric.cpp", "host_tables.cpp"],
    "job.toml": ["job.cpp"],
    "strategy.toml": ["strategy.cpp"],
}
# The ways in which a reader asks for a key (compiler/input/table_reader.h).
ASKED = re.compile(r"""(?:\b\w+\.(?:find|need|string|integer|number|boolean|quantity|array|subtable|word|missing)
                       |readOnlyEmpty)\(\s*(?:top,\s*)?"([a-z_0-9]+)\"""", re.X)
CODE = re.compile(r"`([^`]*)`")


def section(text, heading):
    """What stands under a heading, up to the next one of its level or above."""
    level = heading.split(" ")[0]
    found = re.search(rf"^{re.escape(heading)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def words(text):
    return {word for code in CODE.findall(text) for word in re.findall(r"[a-z_0-9]+", code)}


def metrics(build):
    """Fields of the lines of a run's metrics."""
    environment = {**os.environ, "PATH": os.path.join(build, "bin") + os.pathsep + os.environ["PATH"]}
    with tempfile.TemporaryDirectory(prefix="hocket-keys-") as folder:
        def run(*command):
            subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        run("hocket", "plan", os.path.join(SOURCE, "examples/job-gpt2-tiny.toml"), "--cluster", "laptop",
            "--strategy", "data=4", "-o", "x.hkt")
        run("hocket", "run", "x.hkt", "--data", os.path.join(SOURCE, "test/data/kjv-256k.txt"), "--steps", "2",
            "--metrics", "m.jsonl")
        with open(os.path.join(folder, "m.jsonl"), encoding="utf-8") as lines:
            return {field for line in lines for field in json.loads(line)}


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    with open(os.path.join(SOURCE, PAGE), encoding="utf-8") as f:
        page = f.read()
    passed, problems = 0, []

    def check(good, problem):
        nonlocal passed
        passed += good
        if not good:
            problems.append(problem)

    for name, sources in FILES.items():
        asked = set()
        for source in sources:
            with open(os.path.join(SOURCE, "compiler/input", source), encoding="utf-8") as f:
                asked |= set(ASKED.findall(f.read()))
        check(len(asked) >= 5, f"the readers of {name} ask for {len(asked)} keys: this test reads them wrongly")
        said = words(section(page, f"### {name}"))
        for key in sorted(asked):
            check(key in said, f"{PAGE}: the section {name} does not name the key `{key}`")
    table = re.search(r"^\| field \| \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.M)
    said = set(re.findall(r"^\| `(\w+)`", table[1], re.M)) if table else set()
    written = metrics(os.path.abspath(sys.argv[1]))
    for field in sorted(said | written):
        check(field in written, f"{PAGE}: no metrics have the field `{field}`")
        check(field in said, f"{PAGE}: the field `{field}` of the metrics is not in the table")
    for problem in problems:
        print(problem)
    print(f"{passed} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
