#!/usr/bin/env python3
"""Diagnostics that no test makes fire: tools/untested-errors.py [--all]

Reads the diagnostics of the dialects, the passes and the plan's verifier, and prints each one
of which no test under test/ mentions the words:  FILE:LINE: "WORDS".
Last line: "N diagnostics, N without a test".  Exit: 0, 1 some are without a test or ALLOWED is stale.

A diagnostic is one C++ statement that calls one of EMITTERS or has a literal of three words. Its words are
the string literals in it, cut into windows of three words; those that the fewest other diagnostics share
tell it apart. It counts as tested if for one of these the tests of its folder have at least as many lines
as the folder has diagnostics: four ops that say "has no stream" need four lines.
This proves that a message is expected somewhere, not that its test is right: a text that
two diagnostics share can be counted for the wrong one.

--all prints every diagnostic with the window that tests it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Where diagnostics need a test.  The other sources count only as users of the same words.
AREAS = (
    "dialects",
    "compiler/import",
    "compiler/differentiate",
    "compiler/search",
    "compiler/shard",
    "compiler/place",
    "compiler/partition",
    "compiler/schedule",
    "compiler/allocate",
    "compiler/kernels",
    "compiler/emit",
    "runtime/verify",
)

EMITTERS = re.compile(
    r"\b(emitError|emitOpError|emitWarning|mlirError|plainFinding|classFinding|instrFinding|finding|"
    r"fail|refuse|error|Error|problem|why)\s*\("
)

# Not diagnostics: programs that print tables, and what no input can cause.
PROGRAMS = ("compiler/kernels/bench.cpp",)
NEVER = re.compile(r"\b(assert|llvm_unreachable|DefaultUnreachable|report_fatal_error)\s*\(")

# (file, words of the statement): why no input can make it fire, or why a test would cost too much.
ALLOWED = {
    ("compiler/allocate/allocate.cpp", "affine expressions"): "needs 65,537 distinct offsets: as many parameters or stages",
    ("compiler/kernels/compile.cpp", "internal:"): "LLVM refuses what it was given: no input is known to",
    ("compiler/kernels/compile.cpp", "ld.lld"): "a broken installation, or no memory",
    ("compiler/schedule/order.cpp", "forward tables wait"): "implied by the full tables, which are simulated before: "
    "within a micro-batch they order the forwards, and these tables go by micro-batch",
}

# Where the tests of a source's folder are, besides the mirror of it under test/ and test/unit/.
ELSEWHERE = {
    "compiler/differentiate": ("unit/model",),
    "compiler/emit": ("compiler/allocate",),
}

TOKEN = re.compile(
    r'R"\((?P<raw>.*?)\)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\])\'|//[^\n]*|/\*.*?\*/|(?P<end>[;{}])', re.S
)
RUN = re.compile(r"\s*(//\s*)?RUN:")
WINDOW = 3
HOLE = "…"


def unescape(text):
    return re.sub(r"\\(.)", lambda m: {"n": " ", "t": " "}.get(m.group(1), m.group(1)), text)


def statements(source):
    """(line of the first literal, code, literals) of each statement that has literals."""
    code, literals, line, last = [], [], 0, 0
    for m in TOKEN.finditer(source):
        between = source[last : m.start()]
        # Adjacent literals are one.
        glue = literals and not between.strip() and code and code[-1] == '""'
        code.append(between)
        last = m.end()
        text = m.group("raw") if m.group("raw") is not None else m.group("text")
        if text is not None and re.search(r"(==|!=|starts_with\(|getAs<\w+>\(|get\(|Case\()\s*$", between):
            code.append('""')  # compared, not said
        elif text is not None and len(text) == 1 and text.isalnum():
            code.append('""')  # a task's name
        elif text is not None:
            if glue:
                code.pop()
                literals[-1] += unescape(text)
            else:
                line = line or source.count("\n", 0, m.start()) + 1
                literals.append(unescape(text))
                code.append('""')
        elif m.group("end"):
            if literals:
                yield line, "".join(code), literals
            code, literals, line = [], [], 0


def windows(literals):
    """Runs of three words of the message; HOLE stands where a value is put in."""
    tokens = [t for text in literals for t in (*text.split(), HOLE)][:-1]
    words = [i for i, t in enumerate(tokens) if t != HOLE]
    size = min(WINDOW, len(words))
    found = []
    for first, last in zip(words, words[size - 1 :]):
        window = " ".join(tokens[first : last + 1])
        if sum(c.isalpha() for c in window) >= 5:
            found.append(window)
    return sorted(found, key=lambda w: HOLE in w)


def mirrors(folder):
    return (folder, "unit/" + folder.split("/")[-1], *ELSEWHERE.get(folder, ()))


def main():
    diagnostics = []  # file, line, literals, windows, in an area
    users = {}  # (folder, or "" for all, window) -> number of diagnostics that have it
    for path in sorted(p for top in ("dialects", "compiler", "runtime") for p in (ROOT / top).rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".cpp", ".h") or name in PROGRAMS:
            continue
        for line, code, literals in statements(path.read_text(encoding="utf-8")):
            said = EMITTERS.search(code) or any(len(t.split()) >= WINDOW for t in literals)
            if said and not NEVER.search(code):
                found = windows(literals)
                if found:
                    diagnostics.append((name, line, literals, found))
                for key in {(f, w) for w in found for f in ("", path.parent.relative_to(ROOT).as_posix())}:
                    users[key] = users.get(key, 0) + 1

    tests = {}  # folder below test/ -> text
    for path in sorted((ROOT / "test").rglob("*")):
        if path.suffix in (".mlir", ".test", ".cpp", ".h", ".py") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if path.suffix in (".cpp", ".h"):
                text = re.sub(r'"\s*\n\s*"', "", text).replace('\\"', '"')
            folder = path.parent.relative_to(ROOT / "test").as_posix()
            tests.setdefault(folder, []).extend(
                " ".join(l.split()) for l in text.split("\n") if not RUN.match(l)
            )
    counted = {}

    def mentions(window, folder):
        """Lines that have the window of the tests of a source's folder."""
        key = (window, folder)
        if key not in counted:
            text = "\n".join(line for f in mirrors(folder) for line in tests.get(f, []))
            if HOLE in window:
                parts = (re.escape(p.strip()) for p in window.split(HOLE))
                counted[key] = len(re.findall(".{0,60}?".join(parts), text))
            else:
                counted[key] = text.count(window)
        return counted[key]

    def tested(window, folder):
        return mentions(window, folder) >= users[folder, window]

    total = untested = 0
    used = set()
    for name, line, literals, found in diagnostics:
        if not name.startswith(tuple(a + "/" for a in AREAS)):
            continue
        total += 1
        rarest = min(users["", w] for w in found)
        by = next((w for w in found if users["", w] == rarest and tested(w, name.rpartition("/")[0])), None)
        text = f" {HOLE} ".join(t.strip() for t in literals if t.strip())
        if "--all" in sys.argv:
            print(f'{name}:{line}: "{text}" tested by "{by}"')
        if by:
            continue
        reason = next((k for k in ALLOWED if k[0] == name and k[1] in text), None)
        if reason:
            used.add(reason)
            continue
        untested += 1
        print(f'{name}:{line}: "{text}"')
    stale = [k for k in ALLOWED if k not in used]
    for name, text in stale:
        print(f'tools/untested-errors.py: ALLOWED has "{text}" of {name}, which is tested or gone')
    print(f"{total} diagnostics, {untested} without a test")
    return 1 if untested or stale else 0


sys.exit(main())
