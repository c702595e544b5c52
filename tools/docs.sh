#!/usr/bin/env bash
# tools/docs.sh [--check] [BUILD]: makes docs/reference/ from the TableGen files through BUILD's
# mlir-doc target (default build/dev), and from the --help of its programs. With --check it changes nothing and
# ends with "N passed, N failed", one a page. Exit: 0, 1 a page is out of date, 2 usage or no build.
set -euo pipefail
cd "$(dirname "$0")/.."

check=0
if [ "${1-}" = --check ]; then
  check=1
  shift
fi
build=${1:-build/dev}
[ -f "$build/build.ninja" ] || {
  echo "tools/docs.sh: no build in $build" >&2
  echo "hint: cmake --preset dev" >&2
  exit 2
}
ninja -C "$build" mlir-doc hocket hocket-run >&2 </dev/null

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
# Pages are named by what they describe: dialects/place.md, passes/shard.md. The generator marks
# [TOC] for one site builder and leaves blanks at the ends of lines.
while IFS= read -r page; do
  folder=$(basename "$(dirname "$page")")
  name=$(basename "$page" .md)
  name=${name%Dialect}
  name=${name%Passes}
  mkdir -p "$fresh/$folder"
  sed -e '/^\[TOC\]$/d' -e 's/[[:space:]]*$//' "$page" | cat -s >"$fresh/$folder/$(tr '[:upper:]' '[:lower:]' <<<"${name:0:1}")${name:1}.md"
done < <(find "$build/docs" -name '*.md' | sort)
{
  printf '# Options\n\nGenerated from `--help` by `tools/docs.sh`; do not edit. What they mean together: [cli.md](../cli.md).\n'
  for verb in "" plan run verify devices version; do
    printf '\n## hocket%s\n\n```text\n' "${verb:+ $verb}"
    # shellcheck disable=SC2086 # no verb is no argument
    help=$("$build/bin/hocket" $verb --help)
    printf '%s\n```\n' "$help" | sed -e 's/[[:space:]]*$//'
  done
} >"$fresh/cli.md"
{
  printf '# Reference\n\nGenerated from the TableGen files and `--help` by `tools/docs.sh`; do not edit.\n\n- [options](cli.md)\n'
  for folder in dialects passes; do
    printf '\n## %s\n\n' "${folder^}"
    for page in "$fresh/$folder"/*.md; do
      printf -- '- [%s](%s)\n' "$(basename "$page" .md)" "$folder/$(basename "$page")"
    done
  done
} >"$fresh/README.md"

if [ $check = 0 ]; then
  rm -rf docs/reference
  cp -r "$fresh" docs/reference
  chmod -R u=rwX,go=rX docs/reference
  exit 0
fi
passed=0 failed=0
for page in $({ cd "$fresh" && find . -name '*.md'; cd "$OLDPWD/docs/reference" && find . -name '*.md'; } | sort -u); do
  if diff -u "docs/reference/$page" "$fresh/$page"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
[ "$failed" -eq 0 ] || echo "hint: tools/docs.sh $build"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
