#!/usr/bin/env bash
# tools/lint.sh: checks over all tracked files that need no build.
# Prints what breaks a rule; the last line is "N passed, N failed". Exit: 0, 1 something failed.
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0
# rule NAME OUTPUT: passes when there is nothing to say.
rule() {
  if [ -z "$2" ]; then
    passed=$((passed + 1))
    echo "lint: $1: ok"
  else
    failed=$((failed + 1))
    printf 'lint: %s: FAILED\n%s\n' "$1" "$2"
  fi
}
tracked() { git ls-files -- "$@" | while IFS= read -r f; do [ ! -f "$f" ] || echo "$f"; done; }
sources=('*.cpp' '*.h' '*.c' '*.td' '*.fbs' '*.cmake' '*CMakeLists.txt' '*.py' '*.sh')
text=("${sources[@]}" '*.md' '*.toml' '.ci/run')

[ -n "$(git ls-files)" ] || {
  echo "lint: no files are tracked here"
  echo "0 passed, 1 failed"
  exit 1
}

rule "formatted (tools/format.sh repairs it)" "$(tools/format.sh --check 2>&1 | grep -E 'error:|: not found' | sed 's/:[0-9]*:[0-9]*: error.*//' | sort | uniq -c)"

# A file above 600 lines has one subject and stands in tools/long-files.txt with the reason.
rule "at most 600 lines" "$(tracked "${sources[@]}" | grep -vxF -f <(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' tools/long-files.txt) |
  xargs -r wc -l | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')"
rule "no stale exception in tools/long-files.txt" "$(sed -n 's/^\([^# ][^ ]*\) .*/\1/p' tools/long-files.txt |
  while IFS= read -r f; do [ -f "$f" ] && [ "$(wc -l <"$f")" -gt 600 ] || echo "$f"; done)"

# Paths of the machine that something was written on.
rule "no machine paths" "$(tracked "${text[@]}" '*.mlir' '*.test' '*.json' | grep -vx tools/lint.sh |
  xargs -r grep -nE '(^|[^A-Za-z0-9_.$}])/(work|home|root|Users|var/tmp)/' /dev/null)"
# Where packages come from is apt's and pip's configuration.
rule "no package hosts" "$(tracked "${text[@]}" | grep -vx tools/lint.sh |
  xargs -r grep -nE 'https?://(deb|apt|pypi|files|registry|mirrors?|download)\.' /dev/null)"

rule "no blanks at the end of a line, no tabs" "$(tracked "${text[@]}" | xargs -r grep -nP '[ \t]+$|\t' /dev/null | head -50)"
rule "a newline at the end of a file" "$(tracked "${text[@]}" | while IFS= read -r f; do
  [ ! -s "$f" ] || [ -z "$(tail -c 1 "$f")" ] || echo "$f"
done)"

rule "shell scripts parse" "$(tracked '*.sh' '.ci/run' | while IFS= read -r f; do bash -n "$f" 2>&1; done)"
rule "Python parses" "$(tracked '*.py' | xargs -r python3 -c '
import ast, sys
for path in sys.argv[1:]:
    try:
        ast.parse(open(path, encoding="utf-8").read(), path)
    except SyntaxError as e:
        print(e)' 2>&1)"

# A new error comes with the test that makes it fire.
rule "every diagnostic has a test" "$(out=$(python3 tools/untested-errors.py 2>&1) || echo "$out")"

# Relative links of the pages.
rule "links lead somewhere" "$(tracked '*.md' | while IFS= read -r f; do
  grep -oP '\]\(\K[^)#\s]+' "$f" | grep -vE '^[a-z]+:' | while IFS= read -r link; do
    [ -e "$(dirname "$f")/$link" ] || echo "$f: $link"
  done
done)"

rule "every page is in its folder's README" "$(tracked 'docs/*.md' 'docs/decisions/*.md' 'dialects/*/RATIONALE.md' | grep -v '^docs/reference/\|README.md$' |
  while IFS= read -r f; do
    case $f in docs/*) index=$(dirname "$f")/README.md link=$(basename "$f") ;; *) index=docs/README.md link=../$f ;; esac
    grep -qF "($link)" "$index" || echo "$f is not in $index"
  done)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
