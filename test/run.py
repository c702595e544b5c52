#!/usr/bin/env python3
"""Runs every test of one or more builds and prints `N passed, N failed` over all as its last line.

usage: test/run.py [--fuzz-seconds N] [--only SUITE]... BUILD...

Suites: lint, unit, lit, reference, docs, quickstart, fuzz, bytes. What does not depend on the compiler
(lint, reference, docs) runs with the first build only; quickstart, the user's first command, with build/dev;
fuzz where a build has the targets; bytes compares the plans of two builds.

A script of tests (tools/lint.sh, test/docs/commands.py) takes the build folder as its argument, ends with the line
`N passed, N failed`, and exits 0 only if none failed. No such line, no tests at all, a crash or a
skipped test count as a failure. Exit: 0, 1 when something failed, 2 usage.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIT = "/usr/lib/llvm-22/bin/lit"
# A hang is a failure. Generous: several times what the slowest takes on two cores.
TIMEOUT = 900
COUNTS = re.compile(r"(\d+) passed, (\d+) failed")

Result = collections.namedtuple("Result", "passed failed")


def run(command, env=None, timeout=TIMEOUT):
    """Exit code (124 at the time limit) and merged output of a command run in the source folder."""
    try:
        done = subprocess.run(command, cwd=SOURCE, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as e:
        return 124, (e.stdout or b"").decode(errors="replace") + f"\nstill running after {timeout} s: {command}\n"
    except OSError as e:
        return 127, f"cannot start {command[0]}: {e}\n"


def show(title, output, lines=200):
    print(f"---- {title}")
    kept = output.rstrip("\n").split("\n")
    if len(kept) > lines:
        print(f"({len(kept) - lines} lines left out)")
    print("\n".join(kept[-lines:]))
    print("----", flush=True)


def script(command, timeout=TIMEOUT):
    """A program that prints its own counts as its last line."""
    code, output = run(command, timeout=timeout)
    last = output.rstrip("\n").split("\n")[-1]
    counts = COUNTS.fullmatch(last.strip())
    passed, failed = (int(counts[1]), int(counts[2])) if counts else (0, 0)
    if not counts or (code != 0 and failed == 0) or passed + failed == 0:
        failed += 1
    if failed:
        show(f"{' '.join(command)} (exit code {code})", output)
    return Result(passed, failed)


def unit(build):
    """GoogleTest programs; the list is written by CMake, so a stale or missing one does not count as passed."""
    passed = failed = 0
    with open(os.path.join(build, "unit-tests.txt")) as f:
        names = f.read().split()
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "report.json")
            code, output = run([os.path.join(build, "unit", name), f"--gtest_output=json:{report}", "--gtest_brief=1"])
            try:
                with open(report) as f:
                    r = json.load(f)
                bad = r["failures"] + r["errors"]
                skipped = sum(t.get("result") == "SKIPPED" for s in r["testsuites"] for t in s["testsuite"])
                good = r["tests"] - bad - skipped - r["disabled"]
                bad += skipped + r["disabled"]
            except (OSError, ValueError, KeyError):
                good, bad = 0, 1
            if code != 0 and bad == 0 or good + bad == 0:
                bad += 1
            if bad:
                show(f"{name} (exit code {code})", output)
            passed, failed = passed + good, failed + bad
    return Result(passed, failed)


def lit(build):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report.json")
        code, output = run([LIT, "-v", "--no-progress-bar", "--order=lexical", "-o", report, os.path.join(build, "test")])
        try:
            with open(report) as f:
                tests = json.load(f)["tests"]
        except (OSError, ValueError, KeyError):
            tests = []
    passed = sum(t["code"] in ("PASS", "XFAIL", "FLAKYPASS") for t in tests)
    failed = len(tests) - passed
    for t in tests:
        if t["code"] == "UNSUPPORTED":
            print(f"skipped: {t['name']}: {t.get('output', '').strip()}")
    if code != 0 and failed == 0 or not tests:
        failed += 1
    if failed:
        show(f"lit (exit code {code})", output, lines=600)
    return Result(passed, failed)


def quickstart():
    """The user's first command, from a built tree: it learns and leaves its files."""
    began = time.monotonic()
    code, output = run(["tools/quickstart.sh"])
    seconds = time.monotonic() - began
    loss = re.search(r"^loss +([\d.]+) -> ([\d.]+)", output, re.M)
    checks = {
        f"exit code {code}": code == 0,
        f"under a minute, not {seconds:.0f} s": seconds < 60,
        "the loss falls by more than 1": loss is not None and float(loss[1]) - float(loss[2]) > 1,
        "strategy, memory verdict and step time are printed": all(
            re.search(p, output, re.M) for p in (r"^strategy .*data 2 x tensor 2", r"^memory .*fits", r"measured.*predicted")),
        "all of out/ is there": all(os.path.getsize(os.path.join(SOURCE, "out", f)) > 0
                                    if os.path.exists(os.path.join(SOURCE, "out", f)) else False
                                    for f in ("gpt2-tiny.hkt", "metrics.jsonl", "trace.json",
                                              "weights/model.safetensors", "weights/config.json")),
    }
    bad = [what for what, good in checks.items() if not good]
    if bad:
        show("quickstart: not so: " + "; ".join(bad), output)
    return Result(len(checks) - len(bad), len(bad))


def bytes_equal(builds):
    """The same inputs give the same bytes from the compiler as every build made it."""
    examples = os.path.join(SOURCE, "examples")
    cases = [
        ("gpt2-tiny, data=2,tensor=2", ["job-gpt2-tiny.toml", "--model", "gpt2-tiny", "--cluster", "clusters/laptop.toml",
                                        "--strategy", "data=2,tensor=2"]),
        ("gpt2-tiny, pipeline=2,data=2, f64", ["job-gpt2-tiny.toml", "--model", "gpt2-tiny", "--cluster",
                                               "clusters/laptop.toml", "--strategy", "pipeline=2,data=2", "--micro-batch",
                                               "2", "--dtype", "f64"]),
        ("llama-tiny, tensor=2,pipeline=2", ["job-gpt2-tiny.toml", "--model", "llama-tiny", "--cluster",
                                             "clusters/laptop.toml", "--strategy", "tensor=2,pipeline=2",
                                             "--micro-batch", "4"]),
        ("llama-3.1-405b, tensor=8,pipeline=16", ["job-llama-3.1-405b.toml", "--cluster", "cpu-2048x8:16", "--strategy",
                                                  "strategy-405b.toml"]),
    ]
    passed = failed = 0
    for title, arguments in cases:
        arguments = [os.path.join(examples, a) if os.path.exists(os.path.join(examples, a)) else a for a in arguments]
        plans, said = [], ""
        for build in builds:
            with tempfile.TemporaryDirectory() as scratch:
                out = os.path.join(scratch, "plan.hkt")
                code, output = run([os.path.join(build, "bin", "hocket"), "plan", *arguments, "-o", out])
                said += f"{build}: exit code {code}\n{output}"
                try:
                    with open(out, "rb") as f:
                        plans.append(f.read())
                except OSError:
                    plans.append(None)
        if None not in plans and all(p == plans[0] for p in plans):
            passed += 1
        else:
            failed += 1
            show(f"plan bytes of {title} differ between {' and '.join(builds)}", said)
    return Result(passed, failed)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--fuzz-seconds", type=int, default=20)
    parser.add_argument("--only", action="append")
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    o = parser.parse_args()
    builds = [os.path.abspath(b) for b in o.builds]
    first = builds[0]
    suites = [
        ("lint", "lint", lambda: script(["tools/lint.sh"])),
        ("reference", "reference", lambda: script(["tools/docs.sh", "--check", first])),
    ]
    for b in builds:
        label = os.path.basename(b)
        suites.append(("unit", f"unit {label}", lambda b=b: unit(b)))
        suites.append(("lit", f"lit {label}", lambda b=b: lit(b)))
        if b == first:
            suites.append(("docs", f"docs {label}", lambda b=b: script(["test/docs/commands.py", b])))
            suites.append(("docs", f"keys {label}", lambda b=b: script(["test/docs/keys.py", b])))
        if b == os.path.join(SOURCE, "build", "dev"):
            suites.append(("quickstart", "quickstart", quickstart))
        if o.fuzz_seconds and glob.glob(os.path.join(b, "fuzz", "*_fuzz")):
            suites.append(("fuzz", f"fuzz {label}", lambda b=b: script(
                ["tools/fuzz.sh", "--seconds", str(o.fuzz_seconds), b])))
    if len(builds) > 1:
        suites.append(("bytes", "plan bytes of both builds", lambda: bytes_equal(builds)))

    unknown = set(o.only or []) - {kind for kind, _, _ in suites}
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))} here; there are {', '.join(k for k, _, _ in suites)}")
    table = []
    for kind, title, work in suites:
        if o.only and kind not in o.only:
            continue
        begin = time.monotonic()
        print(f"==== {title}", flush=True)
        result = work()
        if result.passed + result.failed == 0:
            print(f"{title}: no tests ran")
            result = Result(0, 1)
        table.append((title, result, time.monotonic() - begin))

    print("\n" + "\n".join(f"{t:28} {r.passed:6} passed {r.failed:4} failed {s:7.1f} s" for t, r, s in table))
    passed, failed = (sum(r[i] for _, r, _ in table) for i in (0, 1))
    if passed + failed == 0:
        failed = 1
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
