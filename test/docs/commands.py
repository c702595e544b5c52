#!/usr/bin/env python3
"""Runs the commands that the pages show: every ```sh block of README.md, CONTRIBUTING.md and docs/ with a
`hocket` command in it.

usage: test/docs/commands.py BUILD [PAGE...]

A page is a shell session: its blocks run in order in one scratch folder that looks like the root of the
repository, with BUILD's programs first in PATH; a block fails when its last command does, unless the page
says `<!-- exit N -->` above it. A ```text block directly below a ```sh block is the output: it must
equal the real one, standard output and error together, up to numbers. A line `...` in it stands for any lines.
The last line is `N passed, N failed`, one a block. Exit: 0, 1 something failed, 2 usage.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?:<!-- exit (\d+) -->\n)?```sh\n(.*?)```\n(?:\n?```text\n(.*?)```\n)?", re.S)
COMMAND = re.compile(r"^\s*(?:\S+=\S+\s+)*hocket(?:-run|-opt)?\s", re.M)
# A number and its unit. Counts may be of another magnitude on another machine, and so may the unit.
NUMBER = re.compile(r"\d[\d,.]*(?:e[-+]?\d+)?(?: ?(?:ms|s|B|KiB|MiB|GiB|TiB)\b)?")


def pages():
    found = [os.path.join(SOURCE, p) for p in ("README.md", "CONTRIBUTING.md")]
    for folder, folders, files in os.walk(os.path.join(SOURCE, "docs")):
        folders[:] = sorted(f for f in folders if f != "reference")
        found += [os.path.join(folder, f) for f in sorted(files) if f.endswith(".md")]
    return found


def shape(line):
    return NUMBER.sub("N", line.rstrip())


def same(expected, got):
    """Whether two outputs agree up to numbers; `...` matches any lines."""
    parts = re.split(r"^\.\.\.\n", expected, flags=re.M)
    pattern = "(?:.*\n)*?".join(re.escape("".join(shape(l) + "\n" for l in p.splitlines())) for p in parts)
    return re.fullmatch(pattern, "".join(shape(l) + "\n" for l in got.splitlines())) is not None


def scratch_root(folder):
    """Read-only parts of the repository as links; `out/` is the page's own."""
    for name in ("examples", "test", "tools", "docs", "dialects", "compiler"):
        os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
    os.mkdir(os.path.join(folder, "out"))


def check(page, build):
    passed = failed = 0
    with open(page, encoding="utf-8") as f:
        text = f.read()
    blocks = [m for m in BLOCK.finditer(text) if COMMAND.search(m[2])]
    if not blocks:
        return 0, 0
    root = tempfile.mkdtemp(prefix="hocket-docs-")
    try:
        scratch_root(root)
        path = os.pathsep.join([os.path.join(build, "bin"), "/usr/lib/llvm-22/bin", os.environ["PATH"]])
        env = {**os.environ, "PATH": path, "TERM": "dumb", "LC_ALL": "C.UTF-8"}
        for block in blocks:
            where = f"{os.path.relpath(page, SOURCE)}:{text.count(chr(10), 0, block.start(2))}"
            try:
                done = subprocess.run(["bash", "-o", "pipefail", "-c", block[2]], cwd=root, env=env, timeout=300,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                code, output = done.returncode, done.stdout.decode(errors="replace")
            except subprocess.TimeoutExpired as e:
                code, output = 124, (e.stdout or b"").decode(errors="replace")
            problem = None
            if code != int(block[1] or 0):
                problem = f"exit code {code}, the page says {block[1] or 0}"
            elif block[3] is not None and not same(block[3], output):
                problem = "the output is another than the page's"
            if problem is None:
                passed += 1
            else:
                failed += 1
                print(f"{where}: {problem}\n{block[2]}--- it printed\n{output}---")
    finally:
        shutil.rmtree(root)
    return passed, failed


def main():
    if len(sys.argv) < 2 or not os.path.isdir(sys.argv[1]):
        print(__doc__, file=sys.stderr)
        return 2
    build = os.path.abspath(sys.argv[1])
    passed = failed = 0
    for page in [os.path.abspath(p) for p in sys.argv[2:]] or pages():
        p, f = check(page, build)
        print(f"docs {os.path.relpath(page, SOURCE)}: {p} passed, {f} failed", flush=True)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
